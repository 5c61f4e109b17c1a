"""Consumer groups in numbers, the most troubled first; their events, and their other findings by kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jobs.answers.published import Published
from jobs.answers.window import Window
from jobs.intervals.of_lists import grouped, joined
from jobs.kinds import GroupKind
from jobs.tables import ALLOCATION_FINDINGS, GROUP_EVENTS, QUEUE_ALLOCATION, REBALANCES
from udfs.strategy import RETRY_TOPIC

QUEUE = ("topic", "broker_name", "queue_id")

_FAULTS = (GroupKind.UNASSIGNED, GroupKind.DOUBLY_OWNED, GroupKind.AGAINST_STRATEGY)


@dataclass(frozen=True)
class Group:
    """One group in numbers.

    Attributes:
        consumer_group: the group.
        events: changes of the group.
        rebalances: how many.
        moved: queues that they moved.
        needed: fewest queues that had to move.
        findings: rows of `allocation_findings`.
        fault_ms: time × queues without an owner, with several, or with another than the strategy says.
    """

    consumer_group: str
    events: int
    rebalances: int
    moved: int
    needed: int
    findings: int
    fault_ms: int


@dataclass(frozen=True)
class FindingKind:
    """Findings of one group, kind and cause together."""

    consumer_group: str | None
    kind: str
    cause: str
    count: int
    first_ms: int
    longest_ms: int
    sentence: str


@dataclass(frozen=True)
class GroupRows:
    """Published rows about consumer groups, by their tables, and names of groups with queues."""

    events: list[dict[str, Any]]
    rebalances: list[dict[str, Any]]
    findings: list[dict[str, Any]]
    names: list[str]


def read_groups(published: Published) -> GroupRows:
    """Read them; empty if the second flow published nothing.

    Raises:
        LakeError: a table cannot be read.
    """
    columns = ["consumer_group", *QUEUE, "kind", "basis", "cause", "start_ms", "end_ms", "event_id", "sentence"]
    owned = published.rows(QUEUE_ALLOCATION, ["consumer_group"]).group_by("consumer_group").aggregate([])
    return GroupRows(
        published.rows(GROUP_EVENTS, GROUP_EVENTS.schema.fieldNames()).to_pylist(),
        published.rows(REBALANCES, REBALANCES.schema.fieldNames()).to_pylist(),
        published.rows(ALLOCATION_FINDINGS, columns).to_pylist(),
        owned["consumer_group"].to_pylist(),
    )


def troubled_groups(rows: GroupRows, within: Window | None = None) -> list[Group]:
    """One per group; most time without the right owner first.

    Args:
        rows: of the published days.
        within: time without the right owner counts as far as it lies in it; None = all of it.
    """
    events, changes, findings = (
        grouped(of_kind, lambda row: row["consumer_group"]) for of_kind in (rows.events, rows.rebalances, rows.findings)
    )
    groups = [
        _group(name, events.get(name, []), changes.get(name, []), findings.get(name, []), within)
        for name in {*rows.names, *events, *changes, *findings}
        if name is not None
    ]
    return sorted(groups, key=lambda group: (-group.fault_ms, -group.moved, -group.findings, group.consumer_group))


def _group(
    name: str,
    events: Sequence[Mapping[str, Any]],
    changes: Sequence[Mapping[str, Any]],
    findings: Sequence[Mapping[str, Any]],
    within: Window | None,
) -> Group:
    faults = [finding for finding in findings if finding["kind"] in _FAULTS]
    return Group(
        name,
        len(events),
        len(changes),
        sum(change["moved"] for change in changes),
        sum(change["fewest_moves"] for change in changes),
        len(findings),
        _fault_ms([*faults, *(queue for event in events for queue in event["queues"])], within),
    )


def gravest_events(events: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Those whose queues lacked their owners longest first, summed over queues; retry topics do not matter."""

    def trouble_ms(event: Mapping[str, Any]) -> int:
        return _fault_ms([queue for queue in event["queues"] if not queue["topic"].startswith(RETRY_TOPIC)], None)

    return sorted(events, key=lambda event: (-trouble_ms(event), event["start_ms"], event["event_id"]))


def finding_kinds(findings: Sequence[Mapping[str, Any]]) -> list[FindingKind]:
    """Those that no event tells, longest first; the sentence is that of the longest finding.

    An event tells of queues; that a group has no consumer for hours, or a topic no route, stands for itself.
    """
    alike = grouped(
        (row for row in findings if row["event_id"] is None or row["basis"] == "EXPECTED"),
        lambda finding: (finding["consumer_group"], finding["kind"], finding["cause"]),
    )
    kinds = [
        FindingKind(
            consumer_group=group,
            kind=kind,
            cause=cause,
            count=len(found),
            first_ms=min(finding["start_ms"] for finding in found),
            longest_ms=max(_length(finding) for finding in found),
            sentence=max(found, key=lambda finding: (_length(finding), finding["sentence"]))["sentence"],
        )
        for (group, kind, cause), found in alike.items()
    ]
    return sorted(kinds, key=lambda kind: (-kind.longest_ms, str(kind)))


def _fault_ms(findings: Sequence[Mapping[str, Any]], within: Window | None) -> int:
    """Time × queues that the findings cover; a queue with several findings at a time counts once."""
    of_queues = grouped(findings, lambda finding: tuple(finding[name] for name in QUEUE)).values()
    spans = (span for rows in of_queues for span in joined((row["start_ms"], row["end_ms"]) for row in rows))
    return sum(end - start if within is None else within.length_ms(start, end) for start, end in spans)


def _length(finding: Mapping[str, Any]) -> int:
    return int(finding["end_ms"] - finding["start_ms"])
