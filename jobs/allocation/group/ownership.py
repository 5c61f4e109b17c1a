"""Who owned which queue, by clients' answers and by their logs, side by side; and when that is known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from jobs.allocation.group.known import Answered, Lifetime, LoggedHolding, MemberList
from jobs.intervals.of_lists import grouped, touching
from jobs.kinds import Source

EXPIRES_MS = 130_000  # a broker drops a silent client after 120 s, at its next scan (measured 112 to 127 s)


@dataclass(frozen=True, slots=True)
class Holding:
    """One interval in which one source shows one queue owned by one client; columns of `queue_ownership`."""

    start_ms: int
    end_ms: int
    topic: str
    broker_name: str
    queue_id: int
    client_id: str
    source: str
    process: str | None
    popped: bool
    last_answer_ms: int | None


@dataclass(frozen=True, slots=True)
class Sight:
    """When it is known what a client owns; `ended`: the client was gone after it, not only what shows it."""

    client_id: str
    source: str
    start_ms: int
    end_ms: int
    ended: bool


def holdings(answered: Iterable[Answered], logged: Iterable[LoggedHolding]) -> list[Holding]:
    """By answers and by logs."""
    by_log = (
        Holding(
            start_ms=each.start_ms,
            end_ms=each.end_ms,
            topic=each.topic,
            broker_name=each.broker_name,
            queue_id=each.queue_id,
            client_id=each.client_id,
            source=Source.CLIENT_LOG,
            process=each.process,
            popped=each.popped,
            last_answer_ms=None,
        )
        for each in logged
    )
    return [each for each in (*_by_answers(answered), *by_log) if each.end_ms > each.start_ms]


def _by_answers(answered: Iterable[Answered]) -> list[Holding]:
    of_queues = grouped(
        ((queue, answer) for answer in answered for queue in dict.fromkeys(answer.queues) if not queue.dropped),
        lambda each: (each[0], each[1].client_id),
    )
    return [
        Holding(
            start_ms=run[0].start_ms,
            end_ms=run[-1].end_ms,
            topic=queue.topic,
            broker_name=queue.broker_name,
            queue_id=queue.queue_id,
            client_id=client_id,
            source=Source.RUNNING_INFO,
            process=None,
            popped=queue.popped,
            last_answer_ms=max(each.last_answer_ms for each in run),
        )
        for (queue, client_id), rows in of_queues.items()
        for run in touching((answer for _, answer in rows), lambda _: None)
    ]


def sights(
    answered: Iterable[Answered], lifetimes: Sequence[Lifetime], member_lists: Sequence[MemberList]
) -> list[Sight]:
    """By answers and by logs; a life of which no line shows the start is in nobody's sight.

    A log that stops ends what is known of its client. The client itself ended when its log says so, or when no broker
    lists it any more by the time that a broker takes to drop one that is gone.
    """
    by_log = [
        Sight(
            each.client_id,
            Source.CLIENT_LOG,
            each.lived_from_ms,
            each.lived_until_ms,
            each.ended or _is_dropped(each, lifetimes, member_lists),
        )
        for each in lifetimes
        if each.lived_from_ms is not None and each.lived_until_ms > each.lived_from_ms
    ]
    return [
        *by_log,
        *(Sight(each.client_id, Source.RUNNING_INFO, each.start_ms, each.end_ms, ended=False) for each in answered),
    ]


def _is_dropped(life: Lifetime, lifetimes: Iterable[Lifetime], member_lists: Iterable[MemberList]) -> bool:
    """Whether brokers' lists show that the client was gone soon after its log's last line, and not yet back."""
    starts_ms = (each.lived_from_ms for each in lifetimes if each.client_id == life.client_id)
    back_ms = min((each for each in starts_ms if each is not None and each >= life.lived_until_ms), default=None)
    later = [
        each
        for each in member_lists
        if each.end_ms > life.lived_until_ms and (back_ms is None or each.start_ms < back_ms)
    ]
    naming = [each for each in later if life.client_id in each.client_ids]
    gone_ms = max((each.end_ms for each in naming), default=life.lived_until_ms)
    listed_ms = max((each.last_answer_ms for each in naming), default=life.lived_until_ms)
    is_known = any(each.start_ms <= gone_ms < each.end_ms for each in later)
    return is_known and listed_ms <= life.lived_until_ms + EXPIRES_MS


def clients_with_log(known_times: Iterable[Sight]) -> set[str]:
    """Answers come seldom, so of a client with a log only that counts."""
    return {each.client_id for each in known_times if each.source == Source.CLIENT_LOG}
