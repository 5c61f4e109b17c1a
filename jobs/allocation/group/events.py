"""Changes of a consumer group as events, with what its queues went through meanwhile."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from typing import Any

from jobs.allocation.group.changes import HEARTBEAT_MS, SETTLES_MS, Change
from jobs.allocation.group.finding import Finding
from jobs.allocation.group.flapping import REBALANCE_MS
from jobs.allocation.group.rebalances import Rebalance
from jobs.intervals.of_lists import grouped, in_time, joined
from jobs.kinds import GroupCause, GroupEventKind, GroupKind
from jobs.tables.day import Day
from udfs.strategy import RETRY_TOPIC

PASSING: Mapping[str, str] = {
    GroupCause.REBALANCE_NOT_RUN: "time between rebalances",
    GroupCause.STALE_ROUTE: "clients had not polled the route",
    GroupCause.VIEWS_DIFFER: "brokers listed different members",
    GroupCause.STOPPED_NOT_EXPIRED: "brokers had not dropped a client that was gone",
    GroupCause.CLIENT_SILENT: "a process stood still",
    GroupCause.LOCK_NOT_GRANTED: "locks were not granted",
    GroupCause.OFFSET_UNKNOWN: "brokers did not return offsets",
    GroupCause.OFFSET_RESET: "offsets were set",
}
"""Causes that a change brings and that end by themselves, in few words."""
_KINDS = (GroupKind.UNASSIGNED, GroupKind.DOUBLY_OWNED, GroupKind.AGAINST_STRATEGY)
_OF_GROUP = {
    GroupKind.VIEWS_DIFFER: tuple(GroupEventKind),
    GroupKind.MEMBERS_UNKNOWN: (GroupEventKind.BROKERS_UNREACHABLE,),
    GroupKind.TOPIC_WITHOUT_ROUTE: (GroupEventKind.BROKERS_UNREACHABLE,),
    GroupKind.GROUP_WITHOUT_CONSUMERS: tuple(GroupEventKind),
}
"""Findings about a group that are part of these changes."""


@dataclass(frozen=True, slots=True)
class GroupEvent:
    """One change of a group; columns of `group_events`."""

    event_id: str
    kind: str
    start_ms: int
    happened_ms: int | None
    noticed_from_ms: int | None
    noticed_until_ms: int | None
    settled_ms: int | None
    client_ids: tuple[str, ...]
    broker_names: tuple[str, ...]
    topics: tuple[str, ...]
    moved: int
    unowned_queues: int | None
    unowned_ms: int | None
    doubly_owned_queues: int | None
    doubly_owned_ms: int | None
    misplaced_queues: int | None
    misplaced_ms: int | None
    causes: tuple[str, ...]
    troubles: tuple[Finding, ...]
    sentence: str = ""

    @property
    def queues(self) -> tuple[dict[str, Any], ...]:
        """Times in which a queue had not the owner that the strategies say, as the column has them, and more."""
        return tuple(asdict(trouble) for trouble in self.troubles)


def joined_changes(changes: Sequence[Change]) -> list[Change]:
    """Changes that are one event, by time.

    Changes of one kind within the time between two rebalances are one: a deployment that starts ten consumers. Silent
    brokers take in the routes that lose and regain their queues, and members that drop out only until these brokers
    have their heartbeats again.
    """
    silent = _runs(change for change in changes if change.kind == GroupEventKind.BROKERS_UNREACHABLE)
    others = [change for change in changes if change.kind != GroupEventKind.BROKERS_UNREACHABLE]
    for place, broker in enumerate(silent):
        absorbed = list(_absorbed(broker, others))
        others = [change for change in others if change not in absorbed]
        topics = {topic for change in absorbed for topic in change.topics}
        until_ms = max(change.acts_until_ms for change in (broker, *absorbed))
        silent[place] = replace(broker, topics=tuple(sorted(topics)), acts_until_ms=until_ms)
    runs = chain.from_iterable(map(_runs, grouped(others, lambda change: change.kind).values()))
    return sorted([*silent, *runs], key=lambda change: (change.start_ms, change.kind))


def _absorbed(silent: Change, others: Sequence[Change]) -> Iterator[Change]:
    """Changes that follow from silent brokers."""
    meanwhile = [
        change for change in others if silent.acts_from_ms - HEARTBEAT_MS <= change.start_ms <= silent.acts_until_ms
    ]
    for change in meanwhile:
        if change.kind == GroupEventKind.ROUTE_CHANGED and {*change.broker_names} <= {*silent.broker_names}:
            yield change
        elif change.kind == GroupEventKind.LEFT and {*change.dropped_by} <= {*silent.broker_names}:
            back = [
                other
                for other in others
                if change.start_ms < other.start_ms <= silent.acts_until_ms + HEARTBEAT_MS
                and other.kind == GroupEventKind.JOINED
                and other.happened_ms is None
                and other.client_ids == change.client_ids
            ]
            yield from (change, back[0]) if back else ()


def _runs(changes: Iterable[Change]) -> list[Change]:
    """Changes of one kind: those less than the time between two rebalances after the one before, together."""
    runs: list[Change] = []
    for change in changes:
        if runs and change.start_ms - (runs[-1].noticed_until_ms or runs[-1].start_ms) <= REBALANCE_MS:
            runs[-1] = _together(runs[-1], change)
        else:
            runs.append(change)
    return runs


def _together(one: Change, other: Change) -> Change:
    def names(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(sorted({*first, *second}))

    return Change(
        one.kind,
        happened_ms=min((at for at in (one.happened_ms, other.happened_ms) if at is not None), default=None),
        noticed_from_ms=min(
            (at for at in (one.noticed_from_ms, other.noticed_from_ms) if at is not None), default=None
        ),
        noticed_until_ms=max(
            (at for at in (one.noticed_until_ms, other.noticed_until_ms) if at is not None), default=None
        ),
        acts_from_ms=min(one.acts_from_ms, other.acts_from_ms),
        acts_until_ms=max(one.acts_until_ms, other.acts_until_ms),
        client_ids=names(one.client_ids, other.client_ids),
        broker_names=names(one.broker_names, other.broker_names),
        topics=names(one.topics, other.topics),
    )


def with_events(
    changes: Sequence[Change],
    findings: Iterable[Finding],
    rebalances: Iterable[Rebalance],
    *,
    owners_known: Sequence[tuple[int, int]],
    consumer_group: str,
    day: Day,
) -> tuple[list[GroupEvent], list[Finding]]:
    """Events, and the findings that are more than what every rebalance shows, with their `event_id`.

    Args:
        changes: as `joined_changes` returns them.
        findings: all findings of the group.
        rebalances: of the group.
        owners_known: when answers or logs show owners of queues.
        consumer_group: name of the group.
        day: the day.
    """
    ids = {place: f"{consumer_group} {change.start_ms} {change.kind}" for place, change in enumerate(changes)}
    left: list[Finding] = []
    troubles: dict[int, list[Finding]] = {}
    for run in _of_one_trouble(findings):
        is_reset = any(finding.cause == GroupCause.OFFSET_RESET for finding in run)  # somebody did it, however short
        is_short = run[-1].end_ms - run[0].start_ms < SETTLES_MS and not is_reset
        places = (_place(finding, changes, is_short=is_short) for finding in run)
        place = next((place for place in places if place is not None), None)
        for finding in run:
            if place is None or not _is_told(finding, changes[place]):
                left.append(finding)
                continue
            if finding.basis == "OBSERVED":
                troubles.setdefault(place, []).append(finding)
            left += [] if is_short else [replace(finding, event_id=ids[place])]
    moved = grouped(rebalances, lambda rebalance: _latest(changes, rebalance.changed_at_ms, (), rebalance.topic))
    events = [
        _event(
            ids[place],
            change,
            troubles.get(place, []),
            sum(rebalance.moved for rebalance in moved.get(place, ()) if not rebalance.topic.startswith(RETRY_TOPIC)),
            day,
            is_observed=any(
                from_ms <= change.acts_until_ms and until_ms >= change.acts_from_ms
                for from_ms, until_ms in owners_known
            ),
        )
        for place, change in enumerate(changes)
    ]
    return events, left


def _of_one_trouble(findings: Iterable[Finding]) -> Iterator[list[Finding]]:
    """Findings of one kind about one queue, else equal but for their cause, that touch or overlap."""
    alike = grouped(
        findings,
        lambda finding: (
            (finding.kind, finding.topic, finding.broker_name, finding.queue_id)
            if finding.basis == "OBSERVED"
            else replace(finding, start_ms=0, end_ms=0, cause="")
        ),
    )
    for rows in alike.values():
        for start_ms, end_ms in joined((finding.start_ms, finding.end_ms) for finding in rows):
            yield [finding for finding in in_time(rows) if start_ms <= finding.start_ms < end_ms]


def _is_told(finding: Finding, change: Change) -> bool:
    """Whether a part of a trouble comes from the change: not what began before it, or lasts for another reason."""
    if finding.basis != "OBSERVED":
        return True
    return finding.start_ms >= change.acts_from_ms and finding.cause in {*PASSING, GroupCause.UNEXPLAINED}


def _place(finding: Finding, changes: Sequence[Change], *, is_short: bool) -> int | None:
    """The event that a finding belongs to; None = what it says does not pass by itself, or nothing had changed."""
    is_passing = finding.cause in PASSING or (is_short and finding.cause == GroupCause.UNEXPLAINED)
    if finding.basis == "OBSERVED" and is_passing:
        return _latest(changes, finding.start_ms, finding.client_ids, finding.topic)
    is_of_group = finding.kind in _OF_GROUP and finding.cause != GroupCause.BROKERS_REFUSE
    place = _latest(changes, finding.start_ms, (), finding.topic) if is_of_group else None
    return place if place is not None and changes[place].kind in _OF_GROUP[GroupKind(finding.kind)] else None


def _latest(changes: Sequence[Change], at_ms: int, client_ids: Sequence[str], topic: str | None) -> int | None:
    """The change whose clients they are, else the last one under way."""
    under_way = [
        (bool({*client_ids} & {*change.client_ids}), change.start_ms, place)
        for place, change in enumerate(changes)
        if change.acts_at(at_ms)
        and (topic is None or not change.topics or topic in change.topics or change.broker_names)
    ]
    return max(under_way)[2] if under_way else None


def _event(
    event_id: str, change: Change, troubles: Sequence[Finding], moved: int, day: Day, *, is_observed: bool
) -> GroupEvent:
    of_queues = tuple(
        dict.fromkeys(
            replace(trouble, client_ids=())  # one row for a queue that several clients lack
            for trouble in sorted(troubles, key=lambda trouble: (trouble.start_ms, trouble.end_ms, str(trouble)))
        )
    )
    settled_ms = max(change.start_ms, change.noticed_until_ms or 0, *(trouble.end_ms for trouble in of_queues))
    counts = {kind: _counted(of_queues, kind) if is_observed else (None, None) for kind in _KINDS}
    return GroupEvent(
        event_id=event_id,
        kind=change.kind,
        start_ms=change.start_ms,
        happened_ms=change.happened_ms,
        noticed_from_ms=change.noticed_from_ms,
        noticed_until_ms=change.noticed_until_ms,
        settled_ms=settled_ms if is_observed and settled_ms < day.end_ms else None,
        client_ids=change.client_ids,
        broker_names=change.broker_names,
        topics=change.topics,
        moved=moved,
        unowned_queues=counts[GroupKind.UNASSIGNED][0],
        unowned_ms=counts[GroupKind.UNASSIGNED][1],
        doubly_owned_queues=counts[GroupKind.DOUBLY_OWNED][0],
        doubly_owned_ms=counts[GroupKind.DOUBLY_OWNED][1],
        misplaced_queues=counts[GroupKind.AGAINST_STRATEGY][0],
        misplaced_ms=counts[GroupKind.AGAINST_STRATEGY][1],
        causes=tuple(dict.fromkeys(trouble.cause for trouble in of_queues)),
        troubles=of_queues,
    )


def _counted(troubles: Iterable[Finding], kind: GroupKind) -> tuple[int, int]:
    """Queues with such a trouble, and the most time of one of them; retry topics left out."""
    of_queues = grouped(
        (trouble for trouble in troubles if trouble.kind == kind and not str(trouble.topic).startswith(RETRY_TOPIC)),
        lambda trouble: (trouble.topic, trouble.broker_name, trouble.queue_id),
    )
    sums = [
        sum(end_ms - start_ms for start_ms, end_ms in joined((row.start_ms, row.end_ms) for row in rows))
        for rows in of_queues.values()
    ]
    return len(sums), max(sums, default=0)
