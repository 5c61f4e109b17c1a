"""What an event of the page opens to: its outage and avoidance as bars, its cost, sends that it lost, and a reason."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from jobs.answers.events import Event
from jobs.answers.explain_isolation import Ladders, Released, isolation_head, isolation_lines, isolations_explained
from jobs.answers.night import cost_sums, gravest_first
from jobs.answers.producers import producer_name
from jobs.answers.published import Published
from jobs.answers.words import clock_time
from jobs.kinds import FindingKind
from jobs.tables import ISOLATION_INTERVALS, SEND_CALLS
from jobs.text.redaction import redacted

MOST_LOST, MOST_LINES, MOST_EXPLAINED = 20, 12, 10
_BARS = {
    "outage": ("bad_from_ms", "last_bad_ms"),
    "unanswered": ("last_bad_ms", "bad_until_ms"),
    "avoidance": ("avoided_from_ms", "avoided_until_ms"),
}
_COST = ("attempts", "failed", "retried", "slow")
_LOST = (
    *("start_ms", "total_ms", "client_id", "producer_group", "client_version", "topic", "broker_names", "outcome"),
    "row_hash",
)
_IN_TIME = [(name, "ascending") for name in ("start_ms", "client_id", "producer_group", "row_hash")]
_LONGEST = [
    *(("until_ms", "descending"), ("counted_until_ms", "ascending")),
    *((name, "ascending") for name in ("start_ms", "client_id", "producer_group", "broker_name", "process")),
]


@dataclass(frozen=True)
class Stretch:
    """A bar on an event's axis of time.

    Attributes:
        left: where it starts, per cent of the axis.
        width: how long it is, per cent of the axis.
    """

    start_ms: int
    end_ms: int
    left: float
    width: float


@dataclass(frozen=True)
class Details:
    """What an event opens to.

    Attributes:
        bars: `outage`, from the first bad attempt to the last; `unanswered`, from there to the next answer, if one is
            known; `avoidance`, if there was any.
        costs: rows as of `cost_sums`, by `producer_group`, the gravest first.
        lost: sends that failed for their callers, rows of `send_calls` with `producer`, its name; the first ones.
        lost_sends: number of all of them.
        explained: what `explain isolation` says of the isolation that was part of its avoidance for longest, head and
            table; None = there is none, its rules are not known, or graver events are explained.
        command: prints them all; None = there is no such isolation.
    """

    bars: Mapping[str, Stretch]
    costs: tuple[Mapping[str, Any], ...]
    lost: tuple[Mapping[str, Any], ...]
    lost_sends: int
    explained: tuple[tuple[str, ...], tuple[str, ...]] | None
    command: str | None


def event_details(
    published: Published, events: Sequence[Event], released: Released, ladders: Ladders
) -> dict[str, Details]:
    """Event id to what the event opens to; each table is read once for all events.

    Sends and isolations are those of the producer group and of the window, where there is one.

    Args:
        published: the days.
        events: the gravest first; the first `MOST_EXPLAINED` are explained.
        released: rules of each profile, by its name; isolations of others are not explained.
        ladders: as `isolations_explained` takes them.

    Raises:
        LakeError: a table cannot be read.
    """
    if not events:
        return {}
    ids = [event.row["event_id"] for event in events]
    calls = published.rows(SEND_CALLS, ["event_id", *_COST, *_LOST], pc.field("event_id").isin(ids))
    costs = sorted(cost_sums(calls, ["event_id", "producer_group"]).to_pylist(), key=gravest_first)
    failed = calls.filter(pc.field("failed")).sort_by(_IN_TIME)
    isolations = _longest(published, events)
    known = [name for name in ids[:MOST_EXPLAINED] if name in isolations and isolations[name]["profile"] in released]
    rows, whole_days = [isolations[name] for name in known], replace(published, window=None)
    explained = isolations_explained(whole_days, rows, released, ladders) if rows else []
    texts = {
        name: (tuple(isolation_head(each)), tuple(isolation_lines(each, MOST_LINES)))
        for name, each in zip(known, explained, strict=True)
    }
    found = {}
    for event, name in zip(events, ids, strict=True):
        lost = failed.filter(pc.field("event_id") == pc.scalar(name))
        found[name] = Details(
            _bars(event.row),
            tuple(cost for cost in costs if cost["event_id"] == name),
            tuple({**row, "producer": producer_name(row)} for row in lost.slice(0, MOST_LOST).to_pylist()),
            lost.num_rows,
            texts.get(name),
            _command(published, isolations[name]) if name in isolations else None,
        )
    return found


def _bars(row: Mapping[str, Any]) -> dict[str, Stretch]:
    """Name to bar, of those whose ends are known; together they span the axis."""
    known = {
        name: (row[first], row[last])
        for name, (first, last) in _BARS.items()
        if row[first] is not None and row[last] is not None
    }
    start, end = min(first for first, _ in known.values()), max(last for _, last in known.values())
    per_cent = 100 / max(end - start, 1)
    return {
        name: Stretch(first, last, (first - start) * per_cent, (last - first) * per_cent)
        for name, (first, last) in known.items()
    }


def _longest(published: Published, events: Sequence[Event]) -> dict[str, Mapping[str, Any]]:
    """Event id to the isolation that was part of its avoidance for longest."""
    avoided = [event for event in events if event.row["avoided_until_ms"] is not None]
    if not avoided:
        return {}
    meanwhile = reduce(or_, (_meanwhile(event.row) for event in avoided))
    isolations = published.rows(ISOLATION_INTERVALS, ISOLATION_INTERVALS.schema.fieldNames(), meanwhile)
    return {event.row["event_id"]: row for event in avoided for row in _longest_of(event, isolations)}


def _longest_of(event: Event, isolations: pa.Table) -> list[dict[str, Any]]:
    """One row at most: of a group that avoided the broker too long, if any did."""
    own = isolations.filter(_meanwhile(event.row))
    groups = [each["producer_group"] for each in event.findings if each["kind"] == FindingKind.AVOIDED_TOO_LONG]
    too_long = own.filter(pc.field("producer_group").isin(pa.array(groups, pa.string())))
    chosen = too_long if too_long.num_rows else own
    until = pc.min_element_wise(chosen["counted_until_ms"], pa.scalar(event.row["avoided_until_ms"]))
    return list(chosen.append_column("until_ms", until).sort_by(_LONGEST)[:1].to_pylist())


def _meanwhile(row: Mapping[str, Any]) -> pc.Expression:
    """Isolations of the event's brokers, switch on, that overlap its avoidance."""
    is_real = pc.field("enforced") & (pc.field("counted_until_ms") > pc.field("start_ms"))
    overlap = (pc.field("start_ms") < row["avoided_until_ms"]) & (pc.field("counted_until_ms") > row["avoided_from_ms"])
    return is_real & overlap & pc.field("broker_name").isin(row["brokers"])


def _command(published: Published, row: Mapping[str, Any]) -> str:
    """What to type for a whole explanation."""
    options = {
        "lake": redacted(published.root),
        "cluster": published.cluster,
        "producer": row["client_id"],
        "group": row["producer_group"],
        "broker": row["broker_name"],
        "at": clock_time(row["start_ms"], with_day=True).replace(" ", "T"),
    }
    given = [word for name, value in options.items() for word in (f"--{name}", value)]
    return shlex.join(["faultline", "explain", "isolation", *given])
