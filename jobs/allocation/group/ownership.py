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
            start_ms=holding.start_ms,
            end_ms=holding.end_ms,
            topic=holding.topic,
            broker_name=holding.broker_name,
            queue_id=holding.queue_id,
            client_id=holding.client_id,
            source=Source.CLIENT_LOG,
            process=holding.process,
            popped=holding.popped,
            last_answer_ms=None,
        )
        for holding in logged
    )
    return [holding for holding in (*_by_answers(answered), *by_log) if holding.end_ms > holding.start_ms]


def _by_answers(answered: Iterable[Answered]) -> list[Holding]:
    of_queues = grouped(
        ((queue, answer) for answer in answered for queue in dict.fromkeys(answer.queues) if not queue.dropped),
        lambda pair: (pair[0], pair[1].client_id),
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
            last_answer_ms=max(answer.last_answer_ms for answer in run),
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
            life.client_id,
            Source.CLIENT_LOG,
            life.lived_from_ms,
            life.lived_until_ms,
            life.ended or _is_dropped(life, lifetimes, member_lists),
        )
        for life in lifetimes
        if life.lived_from_ms is not None and life.lived_until_ms > life.lived_from_ms
    ]
    return [
        *by_log,
        *(
            Sight(answer.client_id, Source.RUNNING_INFO, answer.start_ms, answer.end_ms, ended=False)
            for answer in answered
        ),
    ]


def _is_dropped(life: Lifetime, lifetimes: Iterable[Lifetime], member_lists: Iterable[MemberList]) -> bool:
    """Whether brokers' lists show that the client was gone soon after its log's last line, and not yet back."""
    starts_ms = (other.lived_from_ms for other in lifetimes if other.client_id == life.client_id)
    back_ms = min(
        (start_ms for start_ms in starts_ms if start_ms is not None and start_ms >= life.lived_until_ms), default=None
    )
    later = [
        member_list
        for member_list in member_lists
        if member_list.end_ms > life.lived_until_ms and (back_ms is None or member_list.start_ms < back_ms)
    ]
    naming = [member_list for member_list in later if life.client_id in member_list.client_ids]
    gone_ms = max((member_list.end_ms for member_list in naming), default=life.lived_until_ms)
    listed_ms = max((member_list.last_answer_ms for member_list in naming), default=life.lived_until_ms)
    is_known = any(member_list.start_ms <= gone_ms < member_list.end_ms for member_list in later)
    return is_known and listed_ms <= life.lived_until_ms + EXPIRES_MS


def clients_with_log(known_times: Iterable[Sight]) -> set[str]:
    """Answers come seldom, so of a client with a log only that counts."""
    return {sight.client_id for sight in known_times if sight.source == Source.CLIENT_LOG}
