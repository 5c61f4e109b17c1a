"""State at 00:00, from the day before. A change captured at exactly 00:00:00.000 is a change of that state."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from jobs.allocation.group.inputs import Input, inputs
from jobs.allocation.group.known import MIDNIGHT_LASTS_MS, MemberList, OwnerBefore, Route, Topic
from jobs.allocation.group.shares import Allocated, PreviousShare
from jobs.allocation.group.strategy import GroupStrategy
from jobs.intervals.of_lists import grouped
from jobs.tables.day import Day
from udfs.shares import Share


def inputs_before(
    topics: Iterable[Topic],
    lists: Sequence[MemberList],
    owners: Iterable[OwnerBefore],
    strategy: GroupStrategy | None,
    day: Day,
) -> list[Input]:
    """Inputs with computable owners, as intervals that end at 00:00.

    Args:
        topics: topics of the day, with their routes at 00:00.
        lists: member lists at 00:00, as intervals that end there.
        owners: queue owners at 00:00; topics without owners have no history and are skipped.
        strategy: how the group allocates.
        day: the day that starts at that midnight.
    """
    since_ms, until_ms = day.start_ms - MIDNIGHT_LASTS_MS, day.start_ms
    allocated = {owner.topic for owner in owners}
    topics_before = [
        Topic(topic.topic, since_ms, until_ms, (Route(topic.route_before, since_ms, until_ms, since_ms),), None)
        for topic in topics
        if topic.topic in allocated and topic.route_before is not None
    ]
    return [interval for interval in inputs(topics_before, lists, strategy) if interval.undetermined is None]


def allocated_before(inputs_of_midnight: Iterable[Input], previous: Sequence[PreviousShare]) -> list[Allocated]:
    """The inputs with the shares that the day before published."""
    of_view = grouped(previous, lambda share: (share.topic, share.view_broker_name))
    return [
        Allocated(
            interval,
            tuple(
                Share(share.client_id, "RESULT", None, share.queues)
                for share in of_view.get((interval.topic, interval.view_broker_name), ())
            ),
        )
        for interval in inputs_of_midnight
    ]
