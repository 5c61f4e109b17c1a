"""Who should own a queue and who held it at an instant: the lists, the strategy's computation, and why they differ."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow.compute as pc

from jobs.answers.published import Published
from jobs.answers.words import clock_time, safe_cell
from jobs.errors import InputMissingError
from jobs.intervals.of_lists import grouped
from jobs.kinds import Source
from jobs.tables import (
    ALLOCATION_FINDINGS,
    GROUP_EVENTS,
    GROUP_MEMBERS,
    QUEUE_ALLOCATION,
    QUEUE_OWNERSHIP,
    REBALANCES,
    Table,
)
from jobs.text.terminal import counted, one_line, safe
from udfs.shares import shares
from udfs.strategies import sorted_clients, sorted_queues
from udfs.strategy import Queue, Strategy
from udfs.strategy_rules import first_indexes

Row = Mapping[str, Any]

ANY_QUEUE = -1
"""Queue id of a row about every queue of the broker (POP)."""
MIXED = "MIXED"
"""Strategy of members that have different ones."""


@dataclass(frozen=True)
class View:
    """What the strategy makes of one list of members.

    Attributes:
        broker_name: whose list it is; None = the brokers agree.
        strategy: its name, MIXED where members differ.
        strategy_source: how it is known.
        is_carried: the strategy fails, so the owner keeps the queue.
        members: client ids in the strategy's order, one per connection; empty = no broker lists them then.
        queues: of the topic, in the strategy's order.
        expected: owners as published; empty = nobody.
        computed: owners by a strategy of this name, without settings of its own, from these two lists.
    """

    broker_name: str | None
    strategy: str
    strategy_source: str
    is_carried: bool
    members: tuple[str, ...]
    queues: tuple[Queue, ...]
    expected: tuple[str, ...]
    computed: tuple[str, ...]


@dataclass(frozen=True)
class QueueOwners:
    """A queue explained.

    Attributes:
        consumer_group: the group.
        topic: the topic.
        queue: broker name and queue id.
        at_ms: the instant, epoch ms.
        verdict: whether who should own it is who held it, and why not.
        members: rows of `group_members` then, by broker.
        views: who should own it, by each list of members.
        held: rows of `queue_ownership` then.
        logged: client ids with a log, which counts instead of their answers.
        findings: rows of `allocation_findings` then about this queue, its topic or the group, and what events of the
            group say of it.
        rebalances: rows of `rebalances`: the last one until then, and the next.
    """

    consumer_group: str
    topic: str
    queue: Queue
    at_ms: int
    verdict: str
    members: tuple[Row, ...]
    views: tuple[View, ...]
    held: tuple[Row, ...]
    logged: tuple[str, ...]
    findings: tuple[Row, ...]
    rebalances: tuple[Row, ...]


def _verdict(views: Sequence[View], held_by: Sequence[Row], logged: Sequence[str], findings: Sequence[Row]) -> str:
    """Whether who should own it is who held it, and the published cause where not."""
    expected = _names(sorted({owner for view in views for owner in view.expected}))
    held = _names(sorted({row["client_id"] for row in held_by if not _is_overruled(row, logged)}))
    if held == "nobody":
        return f"{expected} should own it; no answer and no log shows who held it"
    if not views:
        return f"{held} held it; who should is not computed"
    if expected == held:
        return f"{held} should own it, and held it"
    causes = sorted({row["cause"] for row in findings if row["basis"] == "OBSERVED" and row["queue_id"] is not None})
    why = ", ".join(causes) or "no finding: they differ for less than a finding needs"
    return f"{expected} should own it, {held} held it: {why}"


def _is_overruled(row: Row, logged: Sequence[str]) -> bool:
    """Answers of a client whose log is read: those are rare, and its log is exact."""
    return row["source"] == Source.RUNNING_INFO and row["client_id"] in logged


def queue_owners(
    group: str,
    topic: str,
    queue: Queue,
    at_ms: int,
    rows: Mapping[str, Sequence[Row]],
    rebalances: Sequence[Row],
    logged: Iterable[str] = (),
) -> QueueOwners:
    """The queue explained.

    Args:
        group: the consumer group.
        topic: the topic.
        queue: broker name and queue id.
        at_ms: epoch ms.
        rows: name of a table to its rows of the group that hold then; those of `queue_allocation` and
            `queue_ownership` of the topic.
        rebalances: of the group and topic, in any order.
        logged: client ids of the group with a log.

    Raises:
        InputMissingError: nothing is known of the queue then.
    """
    members = sorted(rows[GROUP_MEMBERS.name], key=lambda row: str(row["broker_name"]))
    of_views = grouped(rows[QUEUE_ALLOCATION.name], lambda row: row["view_broker_name"])
    views = [
        _view(name, of_view, members, topic, queue)
        for name, of_view in sorted(of_views.items(), key=lambda of_view: str(of_view[0]))
        if any(_is_of(row, queue) for row in of_view)
    ]
    held = [row for row in rows[QUEUE_OWNERSHIP.name] if _is_of(row, queue)]
    if not views and not held:
        there = ", ".join(f"{safe(broker)}:{number}" for broker, number in _queues(rows[QUEUE_ALLOCATION.name])[:12])
        raise InputMissingError(
            f"nothing is known of queue '{safe(queue[0])}:{queue[1]}' of '{safe(topic)}' for group '{safe(group)}' at"
            f" {clock_time(at_ms, with_day=True)}; known then: {there or 'no queue of this topic and group'}"
        )
    by_log = tuple(sorted(set(logged)))
    about = [
        row
        for row in rows[ALLOCATION_FINDINGS.name]
        if row["topic"] in {None, topic} and (row["queue_id"] is None or _is_of(row, queue))
    ]
    changes = sorted(rebalances, key=lambda row: row["changed_at_ms"])
    until = [row for row in changes if row["changed_at_ms"] <= at_ms]
    return QueueOwners(
        group,
        topic,
        queue,
        at_ms,
        _verdict(views, held, by_log, about),
        tuple(members),
        tuple(views),
        tuple(sorted(held, key=lambda row: (row["source"], row["start_ms"]))),
        by_log,
        tuple(sorted(about, key=lambda row: (row["queue_id"] is None, row["start_ms"]))),
        (*until[-1:], *changes[len(until) :][:1]),
    )


def _is_of(row: Row, queue: Queue) -> bool:
    return row["broker_name"] == queue[0] and row["queue_id"] in {queue[1], ANY_QUEUE}


def _queues(rows: Iterable[Row]) -> list[Queue]:
    return sorted_queues(list({(row["broker_name"], row["queue_id"]) for row in rows if row["in_route"]}))


def _view(broker_name: str | None, rows: Sequence[Row], member_lists: Sequence[Row], topic: str, queue: Queue) -> View:
    """What one list of members gives; at least one of its rows is of the queue."""
    own = [row for row in rows if _is_of(row, queue)]
    lists = [row["client_ids"] for row in member_lists if broker_name in {None, row["broker_name"]}]
    members = sorted_clients(next((client_ids for client_ids in lists if client_ids), []))
    queues, strategy = _queues(rows), own[0]["strategy"]
    given = [] if strategy == MIXED else shares(Strategy(strategy), topic, queues, members)
    return View(
        broker_name,
        strategy,
        own[0]["strategy_source"],
        own[0]["is_carried"],
        tuple(members),
        tuple(queues),
        tuple(sorted(row["client_id"] for row in own if row["client_id"] is not None)),
        tuple(sorted(share.client_id for share in given if queue in share.queues)),
    )


def queue_at(published: Published, group: str, topic: str, queue: Queue, at_ms: int) -> QueueOwners:
    """The queue explained from the published tables.

    Args:
        published: the days.
        group: the consumer group.
        topic: the topic.
        queue: broker name and queue id.
        at_ms: epoch ms.

    Raises:
        InputMissingError: nothing is known of the queue then.
        LakeError: a table cannot be read.
    """
    of_group, of_topic = pc.field("consumer_group") == pc.scalar(group), pc.field("topic") == pc.scalar(topic)
    then = (pc.field("start_ms") <= at_ms) & (pc.field("end_ms") > at_ms)

    def read(table: Table, where: pc.Expression) -> list[Row]:
        return list(published.rows(table, table.schema.fieldNames(), where).to_pylist())

    rows = {
        GROUP_MEMBERS.name: read(GROUP_MEMBERS, of_group & then),
        QUEUE_ALLOCATION.name: read(QUEUE_ALLOCATION, of_group & of_topic & then),
        QUEUE_OWNERSHIP.name: read(QUEUE_OWNERSHIP, of_group & of_topic & then),
        ALLOCATION_FINDINGS.name: read(ALLOCATION_FINDINGS, (of_group | pc.field("consumer_group").is_null()) & then),
    }
    told = {row["event_id"] for row in rows[ALLOCATION_FINDINGS.name] if row["queue_id"] is not None}
    rows[ALLOCATION_FINDINGS.name] += [
        {**trouble, "basis": "OBSERVED", "sentence": f"part of the event {event['sentence']}"}
        for event in read(GROUP_EVENTS, of_group)
        for trouble in event["queues"]
        if event["event_id"] not in told and trouble["start_ms"] <= at_ms < trouble["end_ms"]
    ]
    by_log = of_group & (pc.field("source") == pc.scalar(Source.CLIENT_LOG))
    logged = published.rows(QUEUE_OWNERSHIP, ["client_id"], by_log)["client_id"].to_pylist()
    return queue_owners(group, topic, queue, at_ms, rows, read(REBALANCES, of_group & of_topic), logged)


def queue_text(owners: QueueOwners) -> str:
    """For a terminal."""
    broker, number = owners.queue
    whose = f"{safe(owners.topic)}, group {safe(owners.consumer_group)}"
    lines = [
        f"queue {safe(broker)}:{number} of {whose}, {clock_time(owners.at_ms, with_day=True)} UTC",
        f"  {owners.verdict}",
        "members, as each broker listed them:",
        *(f"  {safe(row['broker_name'])}: {_names(row['client_ids'])}, {_during(row)}" for row in owners.members),
        *(line for view in owners.views for line in _view_text(view, owners.queue)),
        "held by:",
        *([f"  {_held_text(row, owners.logged)}" for row in owners.held] or ["  nobody that an answer or a log shows"]),
        "findings then:",
        *([f"  {row['kind']}, {row['cause']}: {one_line(row['sentence'])}" for row in owners.findings] or ["  none"]),
        "rebalances, the last one and the next:",
        *([f"  {_rebalance_text(row)}" for row in owners.rebalances] or ["  none on this day"]),
    ]
    return "\n".join(lines)


def _view_text(view: View, queue: Queue) -> list[str]:
    whose = "which agree" if view.broker_name is None else f"by the list of {safe(view.broker_name)}"
    members = ", ".join(f"{place} {safe(name)}" for place, name in enumerate(view.members))
    lines = [
        f"{safe(view.strategy)} ({view.strategy_source}), members {whose}:",
        f"  members in its order: {members or 'none'}",
    ]
    if queue in view.queues:
        lines.append(f"  queues in its order: {len(view.queues)}, this one is number {view.queues.index(queue)} from 0")
    if view.is_carried:
        return [*lines, f"  the strategy fails on these lists, so {_names(view.expected)} keeps the queue"]
    if view.computed == view.expected and view.strategy != MIXED:
        loads = f"{counted(len(view.queues), 'queue')} for {counted(len(view.members), 'member')}"
        places = first_indexes(view.members)
        owners = ", ".join(f"number {places[owner]}, {safe(owner)}" for owner in view.expected)
        return [*lines, f"  {loads}: it gives this one to {owners or 'nobody'}"]
    return [*lines, f"  {_names(view.expected)} by the run, which has more of the strategy than these lists"]


def _held_text(row: Row, logged: Sequence[str]) -> str:
    held = f"{safe(row['client_id'])}, {_during(row)}"
    if row["source"] == Source.CLIENT_LOG:
        return f"{held}: the lines of {one_line(row['process'])}"
    instead = "; its log counts instead" if _is_overruled(row, logged) else ""
    return f"{held}: its own answers, the last at {clock_time(row['last_answer_ms'])}{instead}"


def _rebalance_text(row: Row) -> str:
    return (
        f"{clock_time(row['changed_at_ms'])} {row['trigger']}: joined {_names(row['joined'])};"
        f" left {_names(row['left'])}; moved {row['moved']} of {counted(row['queues'], 'queue')}"
    )


def _during(row: Row) -> str:
    return f"{clock_time(row['start_ms'])} to {safe_cell('end_ms', row['end_ms'])}"


def _names(names: Iterable[str]) -> str:
    return ", ".join(map(safe, names)) or "nobody"
