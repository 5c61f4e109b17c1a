"""Why a queue may have an owner other than its strategy assigns: causes seen in the data, and when each acts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

from jobs.allocation.group.changes import ROUTE_POLL_MS, SETS_OFFSET_MS, SILENCE_MS, STOP_MS
from jobs.allocation.group.client_kind import NO_STRATEGY
from jobs.allocation.group.flapping import REBALANCE_MS, Flap
from jobs.allocation.group.inputs import Input
from jobs.allocation.group.known import (
    Answered,
    AnswerGap,
    GroupFacts,
    MemberList,
    Refusal,
    Route,
    Silence,
    Subscribed,
    Topic,
    twins,
)
from jobs.allocation.group.ownership import EXPIRES_MS, Sight, clients_with_log
from jobs.intervals.of_lists import covered_parts, grouped, in_time, joined
from jobs.kinds import GroupCause, Source
from jobs.tables.day import Day

_SCAN_MS = 10_000  # a broker scans for silent clients every 10 s, and a collector asks brokers one after another
_TO_SHARE_MS = ROUTE_POLL_MS + REBALANCE_MS
_REFUSED = {
    "LOCK_FAILED": (GroupCause.LOCK_NOT_GRANTED, -REBALANCE_MS, REBALANCE_MS),
    "OFFSET_UNKNOWN": (GroupCause.OFFSET_UNKNOWN, -REBALANCE_MS, REBALANCE_MS),
    "DROPPED": (GroupCause.OFFSET_RESET, 0, SETS_OFFSET_MS + REBALANCE_MS),
}
"""Event → cause, and when it starts and stops to act, relative to the log line."""


@dataclass(frozen=True, slots=True)
class Cause:
    """A cause and its subject; a null subject means the whole group."""

    cause: str
    acts_from_ms: int
    acts_until_ms: int
    topic: str | None = None
    broker_name: str | None = None
    queue_id: int | None = None
    client_id: str | None = None


_AnAnswer = TypeVar("_AnAnswer", MemberList, Route)


def causes(
    facts: GroupFacts, inputs: Sequence[Input], sights: Sequence[Sight], flaps: Iterable[Flap], day: Day, stale_ms: int
) -> list[Cause]:
    """All causes that act on the group, widened by the usual gap between answers where clients have no log.

    Args:
        facts: facts of the group.
        inputs: inputs of its strategies.
        sights: when the clients' queues are known.
        flaps: members that drop off and return.
        day: the day.
        stale_ms: maximum age of an answer.
    """
    slack_ms = min(_slack_ms(facts.answer_gaps, sights), stale_ms)
    plain = (
        *duplicate_ids(
            [member_list for member_list in facts.member_lists if member_list.end_ms > member_list.start_ms]
        ),
        *_not_subscribed(facts.subscribed, facts.topics, stale_ms),
        *(Cause(GroupCause.FLAPPING, start_ms, end_ms) for _, start_ms, end_ms in flaps),
        *differing_views(inputs),
        *_stopped_not_expired(sights),
        *_silent_clients(facts.silences),
        *_refusals(facts.refusals),
        *_reset_offsets(facts.answered),
        *_stale_routes(facts.topics, day),
        *rebalance_not_run(facts.member_lists, day),
        *(Cause(GroupCause.MIXED_LANGUAGES, period.first_ms, period.last_ms + stale_ms) for period in facts.languages),
    )
    return [
        Cause(
            cause.cause,
            cause.acts_from_ms - slack_ms,
            cause.acts_until_ms + slack_ms,
            cause.topic,
            cause.broker_name,
            cause.queue_id,
            cause.client_id,
        )
        for cause in plain
    ]


def _slack_ms(gaps: Iterable[AnswerGap], sights: Iterable[Sight]) -> int:
    with_log = clients_with_log(sights)
    return max((gap.gap_ms for gap in gaps if gap.gap_ms is not None and gap.client_id not in with_log), default=0)


def duplicate_ids(member_lists: Sequence[MemberList]) -> Iterator[Cause]:
    """One client id on two connections: both own the same share and nobody owns the other (first index of the id).

    Counts if several brokers list the id twice, or the only broker that has the group does: one broker alone also
    lists a client twice that reconnected before its old connection was dropped. Affects the queues of all brokers.

    Args:
        member_lists: intervals that have a length.
    """
    is_only_broker = len({member_list.broker_name for member_list in member_lists if member_list.client_ids}) == 1
    spans = (
        (start_ms, end_ms)
        for start_ms, end_ms, covering in covered_parts(
            member_list for member_list in member_lists if twins(member_list.client_ids)
        )
        if is_only_broker or len({interval.broker_name for interval in covering}) > 1
    )
    for start_ms, end_ms in joined(spans):
        yield Cause(GroupCause.DUPLICATE_CLIENT_ID, start_ms, end_ms + REBALANCE_MS)


def differing_views(inputs: Iterable[Input]) -> Iterator[Cause]:
    """Brokers report different members, and each client asks a random one, unless it takes every queue.

    It asks a broker of the topic: MQClientInstance.findBrokerAddrByTopic (5.3.3).
    """
    for topic, of_topic in grouped(inputs, lambda interval: interval.topic).items():
        for start_ms, end_ms in of_several_views(of_topic):
            yield Cause(GroupCause.VIEWS_DIFFER, start_ms, end_ms + REBALANCE_MS, topic=topic)


def of_several_views(inputs: Iterable[Input]) -> list[tuple[int, int]]:
    """When brokers report different members for longer than a change takes to spread, if clients ask for members."""
    spans = joined(
        (interval.start_ms, interval.end_ms)
        for interval in inputs
        if interval.views > 1 and interval.strategy != "BROADCASTING" and interval.undetermined not in NO_STRATEGY
    )
    return [(start_ms, end_ms) for start_ms, end_ms in spans if end_ms - start_ms > _SCAN_MS]


def _not_subscribed(subscribed: Iterable[Subscribed], topics: Sequence[Topic], stale_ms: int) -> Iterator[Cause]:
    """A member gets a share of a topic that it does not subscribe to, and ignores it; running info shows its topics.

    Acts no earlier than the client's last answer with the topic, and no later than the client needs after its next
    answer with the topic to get its share: 30 s to poll the route and 20 s to rebalance.
    """
    for client_id, answers in grouped(subscribed, lambda answer: answer.client_id).items():
        for topic in topics:
            names = {topic.topic, None}
            naming = [answer for answer in answers if not names.isdisjoint(answer.topics)]
            for answer in (answer for answer in answers if names.isdisjoint(answer.topics)):
                before = (other.end_ms for other in naming if other.end_ms <= answer.start_ms)
                after = (other.start_ms + _TO_SHARE_MS for other in naming if other.start_ms >= answer.end_ms)
                yield Cause(
                    GroupCause.NOT_SUBSCRIBED,
                    max([answer.start_ms - stale_ms, *before]),
                    min([answer.end_ms + stale_ms, *after]),
                    topic=topic.topic,
                    client_id=client_id,
                )


def rebalance_not_run(member_lists: Iterable[MemberList], day: Day) -> Iterator[Cause]:
    """Clients rebalance within 20 s of a change of members; captures show when it happened.

    A change that any broker reports affects the queues of all brokers.
    """
    for of_broker in grouped(member_lists, lambda member_list: member_list.broker_name).values():
        for from_ms, changed_ms in _changes(of_broker, lambda member_list: member_list.client_ids, day):
            yield Cause(GroupCause.REBALANCE_NOT_RUN, from_ms, changed_ms + REBALANCE_MS)


def _stale_routes(topics: Iterable[Topic], day: Day) -> Iterator[Cause]:
    """Clients poll the route every 30 s, so they see a change late, and then rebalance within 20 s."""
    for topic in topics:
        for from_ms, changed_ms in _changes(topic.routes, lambda route: route.brokers, day):
            yield Cause(GroupCause.STALE_ROUTE, from_ms, changed_ms + _TO_SHARE_MS, topic=topic.topic)


def _changes(answers: Iterable[_AnAnswer], shown: Callable[[_AnAnswer], object], day: Day) -> Iterator[tuple[int, int]]:
    """Per change between intervals of equal answers: the last capture of the old state, and the change.

    The first capture counts as a change, since the state before it is unknown, unless it already held at 00:00. If
    there is a gap between the two intervals, the gap itself is left out.
    """
    ordered = in_time(answers)
    if ordered and ordered[0].start_ms > day.start_ms:
        yield ordered[0].start_ms, ordered[0].start_ms
    for before, after in pairwise(ordered):
        if shown(before) != shown(after):
            yield from joined([(before.last_answer_ms, before.end_ms), (after.start_ms, after.start_ms)])


def _stopped_not_expired(sights: Iterable[Sight]) -> Iterator[Cause]:
    """A stopped client keeps its share until the broker drops it or it returns; then all rebalance."""
    for lives in grouped(
        (sight for sight in sights if sight.source == Source.CLIENT_LOG), lambda sight: sight.client_id
    ).values():
        for life in (life for life in lives if life.ended):
            back = (max(life.end_ms, other.start_ms) for other in lives if other.end_ms > life.end_ms)
            yield Cause(
                GroupCause.STOPPED_NOT_EXPIRED,
                life.end_ms - STOP_MS,
                min([life.end_ms + EXPIRES_MS, *back]) + REBALANCE_MS,
                client_id=life.client_id,
            )


def _silent_clients(silences: Iterable[Silence]) -> Iterator[Cause]:
    """A paused or frozen process keeps its queues in memory while the broker drops the client."""
    for silence in silences:
        if silence.silent_until_ms - silence.silent_from_ms > SILENCE_MS:
            until_ms = silence.silent_until_ms + REBALANCE_MS
            yield Cause(GroupCause.CLIENT_SILENT, silence.silent_from_ms, until_ms, client_id=silence.client_id)


def _reset_offsets(answered: Iterable[Answered]) -> Iterator[Cause]:
    """A dropped queue that the client still holds for 10 s while it changes the offset.

    An administrator resets it (`MQClientInstance.resetOffset`, 4.0.0 to 5.3.3), or the broker has no such offset.
    """
    for answer in answered:
        for queue in (queue for queue in answer.queues if queue.dropped):
            yield Cause(
                GroupCause.OFFSET_RESET,
                answer.start_ms,
                answer.end_ms,
                queue.topic,
                queue.broker_name,
                queue.queue_id,
                answer.client_id,
            )


def _refusals(refusals: Iterable[Refusal]) -> Iterator[Cause]:
    """A queue that a client could not lock, or whose offset the broker did not return; retried on every rebalance.

    A queue that the client dropped to set its offset comes back with its next rebalance.
    """
    for refusal in refusals:
        cause, before_ms, after_ms = _REFUSED[refusal.event]
        yield Cause(
            cause,
            refusal.at_ms + before_ms,
            refusal.at_ms + after_ms,
            topic=refusal.topic,
            broker_name=refusal.broker_name,
            queue_id=refusal.queue_id,
        )
