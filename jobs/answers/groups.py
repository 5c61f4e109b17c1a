"""Consumer groups: what moved, what went wrong, and who owned which queue over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import pyarrow.compute as pc

from jobs.answers.gantt import Bar, interval_words, merged, named
from jobs.answers.moved_queues import Move, moved_queues
from jobs.answers.published import Published
from jobs.answers.troubled_groups import (
    QUEUE,
    FindingKind,
    Group,
    finding_kinds,
    gravest_events,
    read_groups,
    troubled_groups,
)
from jobs.answers.words import clock_time
from jobs.intervals.of_lists import grouped
from jobs.tables import QUEUE_ALLOCATION, QUEUE_OWNERSHIP, Table
from jobs.text.terminal import counted

MOST_GROUPS, MOST_DRAWN, MOST_QUEUES, MOST_BARS, MOST_FINDINGS, MOST_CHANGES = 50, 6, 60, 600, 200, 200
MOST_BELOW = 60
_MOST_IN_HOVER = 5
FEWEST_QUEUES = 12
NOBODY, SEVERAL = "nobody", "several in turn"

Queue = tuple[str, str, int]

_BAR = ["consumer_group", *QUEUE, "start_ms", "end_ms", "client_id"]


@dataclass(frozen=True)
class Ownership:
    """Owners of the queues of one group.

    Attributes:
        consumer_group: the group.
        known_from: in words, what the bars rest on.
        queues: topic, broker and queue id of each row, from the top.
        bars: who owned it; `kind` is the client id, `NOBODY`, or `SEVERAL` where it changed too fast to draw.
        rebalances: rows of `rebalances` of the group, those that moved most first, each with its `moves`: the first
            queues, if the tables tell them.
        not_drawn: a sentence for each thing left out.
    """

    consumer_group: str
    known_from: str
    queues: tuple[Queue, ...]
    bars: tuple[Bar, ...]
    rebalances: tuple[dict[str, Any], ...]
    not_drawn: tuple[str, ...]


@dataclass(frozen=True)
class Groups:
    """All groups, the most troubled first, their events, and the owners of the first ones, most moves first."""

    groups: tuple[Group, ...]
    events: tuple[Mapping[str, Any], ...]
    findings: tuple[FindingKind, ...]
    ownership: tuple[Ownership, ...]
    not_drawn: tuple[str, ...]


def consumer_groups(published: Published) -> Groups:
    """Read the groups; empty where the second flow published nothing."""
    rows = read_groups(published)
    groups = troubled_groups(rows, published.window)
    kinds, events = finding_kinds(rows.findings), gravest_events(rows.events)
    drawn = [_ownership(published, group.consumer_group, rows.rebalances) for group in groups[:MOST_DRAWN]]
    beyond = (
        sentence.format(counted(len(found) - most, noun))
        for found, most, noun, sentence in (
            (groups, MOST_DRAWN, "group", "who owned the queues of {} with less trouble"),
            (groups, MOST_GROUPS, "group", f"{{}} beyond the {MOST_GROUPS} with most trouble"),
            (events, MOST_CHANGES, "event", f"{{}} of groups beyond the {MOST_CHANGES} gravest"),
            (kinds, MOST_FINDINGS, "kind", "{} of findings about groups, the shortest ones"),
        )
        if len(found) > most
    )
    return Groups(
        tuple(groups[:MOST_GROUPS]),
        tuple(events[:MOST_CHANGES]),
        tuple(kinds[:MOST_FINDINGS]),
        tuple(
            sorted(
                (ownership for ownership in drawn if ownership.bars),
                key=lambda ownership: -sum(change["moved"] for change in ownership.rebalances),
            )
        ),
        (*(sentence for ownership in drawn for sentence in ownership.not_drawn), *beyond),
    )


def owner_hover(bar: Bar) -> str:
    """Hover text of a bar of a group's queues, in Plotly's markup."""
    interval = bar.source
    queue = f"{named(interval['topic'])} {named(interval['broker_name'])}:{interval['queue_id']}"
    head = f"<b>{queue}</b><br>{named(bar.kind)}"
    many = f"<br>{bar.rows:,} intervals, drawn as one" if bar.rows > 1 else ""
    return f"{head}<br>{interval_words(bar.start_ms, bar.end_ms)}{many}"


def rebalance_hover(change: Mapping[str, Any]) -> str:
    """Hover text of a rebalance, in Plotly's markup."""
    joined, left = (", ".join(map(named, change[name][:5])) or "–" for name in ("joined", "left"))
    at = clock_time(change["changed_at_ms"], with_day=True)
    lines = [_move_words(move) for move in change["moves"][:_MOST_IN_HOVER]]
    if lines and change["moved"] > len(lines):
        lines.append(f"<br>and {change['moved'] - len(lines):,} more")
    return (
        f"<b>{named(change['topic'])}</b> {at} UTC<br>{named(change['trigger'])}<br>"
        f"joined {joined}<br>left {left}<br>"
        f"moved {counted(change['moved'], 'queue')} of {change['queues']:,}, {change['fewest_moves']:,} needed"
        + "".join(lines)
    )


def _move_words(move: Move) -> str:
    had, gets = (", ".join(named(client_id, 40) for client_id in owners) for owners in (move.before, move.after))
    return f"<br>{named(move.queue[0], 40)}:{move.queue[1]} {had} → {gets or NOBODY}"


def _ownership(published: Published, group: str, rebalances: Sequence[dict[str, Any]]) -> Ownership:
    table, known_from, intervals = _intervals(published, group)
    of_queue = grouped(intervals, lambda interval: (interval["topic"], interval["broker_name"], interval["queue_id"]))
    order = sorted(of_queue, key=lambda queue: (queue[0].startswith("%"), -len(of_queue[queue]), queue))
    # As many of the first queues as the limit of bars allows; a few in any case.
    few = sum(bars <= MOST_BARS for bars in accumulate(len(of_queue[queue]) for queue in order))
    rows = sorted(
        order[: min(max(few, FEWEST_QUEUES), MOST_QUEUES)], key=lambda queue: (queue[0].startswith("%"), queue)
    )
    drawn = [
        Bar(
            place,
            NOBODY if interval["client_id"] is None else interval["client_id"],
            interval["client_id"] is None,
            interval["start_ms"],
            interval["end_ms"],
            interval,
        )
        for place, queue in enumerate(rows)
        for interval in of_queue[queue]
    ]
    bars = merged(drawn, MOST_BARS, SEVERAL)
    left_out = []
    if len(order) > len(rows):
        left_out.append(f"{counted(len(order) - len(rows), 'queue')} of group {group} whose owner changed least")
    if len(bars) < len(drawn):
        left_out.append(
            f"{len(drawn):,} intervals of {table.name} of group {group} are drawn as {counted(len(bars), 'bar')}"
        )
    own = sorted(
        (change for change in rebalances if change["consumer_group"] == group),
        key=lambda change: (-change["moved"], change["changed_at_ms"], change["topic"]),
    )
    if len(own) > MOST_CHANGES:
        left_out.append(
            f"{counted(len(own) - MOST_CHANGES, 'rebalance')} of group {group} beyond the {MOST_CHANGES} that moved"
            " most"
        )
    moves = moved_queues(published, group, own[:MOST_CHANGES])
    told = tuple({**change, "moves": of_change} for change, of_change in zip(own, moves, strict=False))
    return Ownership(group, known_from, tuple(rows), tuple(bars), told, tuple(left_out))


def _intervals(published: Published, group: str) -> tuple[Table, str, list[dict[str, Any]]]:
    """The best source for a group: its clients' logs, else their answers, else the strategy."""
    of_group = pc.field("consumer_group") == pc.scalar(group)
    for source, words in (("CLIENT_LOG", "by the clients' logs"), ("RUNNING_INFO", "by the clients' answers")):
        owned = published.rows(QUEUE_OWNERSHIP, _BAR, of_group & (pc.field("source") == pc.scalar(source))).to_pylist()
        if owned:
            return QUEUE_OWNERSHIP, f"who held them, {words}", owned
    return (
        QUEUE_ALLOCATION,
        "who should own them, by the strategy",
        published.rows(QUEUE_ALLOCATION, _BAR, of_group).to_pylist(),
    )
