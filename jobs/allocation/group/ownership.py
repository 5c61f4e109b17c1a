"""Who owned which queue, by running info and by logs separately, and when that is known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from jobs.allocation.group.known import Answered, Holding, Lifetime, MemberList
from jobs.intervals.of_lists import grouped, touching
from jobs.kinds import Source

EXPIRES_MS = 130_000  # a broker drops a silent client after 120 s, at its next scan (measured 112 to 127 s)
_PAUSE_MS = 10_000  # a log that ends this soon before a broker last lists the client ended with it


@dataclass(frozen=True, slots=True)
class Sight:
    """An interval in which a client's queues are known; `ended`: the client ended, not just its answers or log."""

    client_id: str
    source: str
    start_ms: int
    end_ms: int
    ended: bool


def holdings(answered: Iterable[Answered], logged: Iterable[Holding]) -> list[Holding]:
    """Ownership by answers and by logs."""
    return [holding for holding in (*_by_answers(answered), *logged) if holding.end_ms > holding.start_ms]


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
            popped=queue.popped,
            source=Source.RUNNING_INFO,
            last_answer_ms=max(answer.last_answer_ms for answer in run),
        )
        for (queue, client_id), rows in of_queues.items()
        for run in touching((answer for _, answer in rows), lambda _: None)
    ]


def sights(
    answered: Iterable[Answered], lifetimes: Sequence[Lifetime], member_lists: Sequence[MemberList]
) -> list[Sight]:
    """When clients' queues are known, by answers and by logs; a life whose start no line shows is skipped.

    Knowledge ends with the log. The client itself ended if its log says so, or if brokers stop listing it within the
    time that they take to drop a client: where they stop within a pause of the log, it may have lived until then.
    """
    lives = [
        (life, life.lived_from_ms)
        for life in lifetimes
        if life.lived_from_ms is not None and life.lived_until_ms > life.lived_from_ms
    ]
    by_log = [
        Sight(life.client_id, Source.CLIENT_LOG, from_ms, life.lived_until_ms, life.ended) for life, from_ms in lives
    ]
    ends = [
        Sight(life.client_id, Source.CLIENT_LOG, ended_ms, ended_ms, ended=True)
        for life, _ in lives
        if not life.ended and (ended_ms := _dropped_ms(life, lifetimes, member_lists)) is not None
    ]
    return [
        *by_log,
        *ends,
        *(
            Sight(answer.client_id, Source.RUNNING_INFO, answer.start_ms, answer.end_ms, ended=False)
            for answer in answered
        ),
    ]


def _dropped_ms(life: Lifetime, lifetimes: Iterable[Lifetime], member_lists: Iterable[MemberList]) -> int | None:
    """When the client ended, if brokers stopped listing it soon after its last log line, before any return."""
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
    if not is_known or listed_ms > life.lived_until_ms + EXPIRES_MS:
        return None
    return gone_ms if gone_ms <= life.lived_until_ms + _PAUSE_MS else life.lived_until_ms


def clients_with_log(known_times: Iterable[Sight]) -> set[str]:
    """Clients with a log; their logs win over answers, which are rare."""
    return {sight.client_id for sight in known_times if sight.source == Source.CLIENT_LOG}
