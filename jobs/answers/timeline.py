"""Isolations as rows and bars: brokers × producers, the worst of both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from jobs.answers.causes import cause_words, classes_of
from jobs.answers.gantt import Bar, interval_words, markup, merged, named
from jobs.answers.producers import producer_name
from jobs.answers.published import Published
from jobs.tables import ISOLATION_INTERVALS
from jobs.text.terminal import counted, duration

MOST_BROKERS, MOST_ROWS, MOST_BARS = 12, 150, 3000

_HEADING = None, None, None
_PAIR = ["broker_name", "client_id", "producer_group"]
_COLUMNS = [
    *_PAIR,
    "process",
    "client_version",
    "profile",
    "start_ms",
    "end_ms",
    "end_earliest_ms",
    "end_latest_ms",
    "cause",
    "evidence",
    "opener_latency_ms",
    "extensions",
    "ended_by",
    "enforced",
]


@dataclass(frozen=True)
class Row:
    """A row of the timeline: a broker's heading, or one producer below it.

    Attributes:
        broker_name: the broker.
        client_id: the producer; None for the heading.
        producer_group: its group; one client id may have several, each with its own fault items. None for the heading.
        client_version: the highest, as text; None for the heading, and where it is not known.
        isolated_ms: how long in the time asked about, summed over the row's isolations with the switch on.
        would_ms: the same with the switch off.
        isolations: how many.
    """

    broker_name: str
    client_id: str | None
    producer_group: str | None
    client_version: str | None
    isolated_ms: int
    would_ms: int
    isolations: int


@dataclass(frozen=True)
class Timeline:
    """Rows from the top, their bars, and what is not drawn.

    Attributes:
        rows: headings and producers.
        bars: isolations; headings have none.
        intervals: number of rows of `isolation_intervals` that the bars show.
        not_drawn: a sentence for each thing left out.
    """

    rows: tuple[Row, ...]
    bars: tuple[Bar, ...]
    intervals: int
    not_drawn: tuple[str, ...]

    def rows_of(self, broker_name: str) -> tuple[int, int] | None:
        """First and last row of a broker; None if it is not drawn."""
        found = [place for place, row in enumerate(self.rows) if row.broker_name == broker_name]
        return (found[0], found[-1]) if found else None


def timeline(published: Published) -> Timeline:
    """The worst brokers' worst producers, within `MOST_ROWS` rows and about `MOST_BARS` bars."""
    isolations = published.rows(ISOLATION_INTERVALS, _COLUMNS)
    long_ones = isolations.filter(pc.field("end_ms") > pc.field("start_ms"))
    length = published.lengths_ms(long_ones)
    pairs = _pairs(long_ones, length)
    chosen = _chosen(pairs)
    rows = _rows(chosen, pairs)
    place = {(row.broker_name, row.client_id, row.producer_group): number for number, row in enumerate(rows)}
    drawn = long_ones.join(pa.Table.from_pylist(chosen).select(_PAIR), _PAIR, join_type="left semi") if chosen else None
    intervals = drawn.to_pylist() if drawn is not None else []
    of_cause = long_ones.append_column("ms", length).group_by("cause").aggregate([("ms", "sum")]).to_pylist()
    class_of = classes_of({row["cause"]: row["ms_sum"] for row in of_cause})
    bars = merged(
        (
            Bar(
                place[interval["broker_name"], interval["client_id"], interval["producer_group"]],
                class_of[interval["cause"]],
                not interval["enforced"],
                interval["start_ms"],
                interval["end_ms"],
                interval,
            )
            for interval in intervals
        ),
        MOST_BARS,
    )
    left_out = _not_drawn(pairs, chosen, isolations.num_rows - long_ones.num_rows, len(intervals), len(bars))
    return Timeline(tuple(rows), tuple(bars), len(intervals), tuple(left_out))


def isolation_hover(bar: Bar) -> str:
    """Hover text of a bar of the timeline, in Plotly's markup."""
    row = bar.source
    did = "isolated it" if row["enforced"] else "would have isolated it with its switch on"
    head = f"<b>{named(row['broker_name'])}</b><br>{markup(producer_name(row))} {did}"
    when, cause = interval_words(bar.start_ms, bar.end_ms), named(cause_words(row["cause"]) or "?")
    if bar.rows > 1:
        return f"{head}<br>{when}<br>{bar.rows:,} isolations, drawn as one; first cause: {cause}"
    lines = [
        head,
        when,
        f"cause: {cause}, {row['opener_latency_ms']:,} ms; ended: {named(row['ended_by'])}",
        f"evidence {named(row['evidence'])}",
    ]
    if row["extensions"]:
        lines.append(f"extended {counted(row['extensions'], 'time')}")
    if row["end_earliest_ms"] != row["end_latest_ms"]:
        lines.append(f"the end lies in {interval_words(row['end_earliest_ms'], row['end_latest_ms'])}")
    return "<br>".join(lines)


def _pairs(isolations: pa.Table, length: pa.ChunkedArray) -> list[dict[str, Any]]:
    """One row per broker and producer, with both sums of the isolations' lengths; the worst first."""
    on = isolations["enforced"]
    sums = (
        isolations.select([*_PAIR, "client_version"])
        .append_column("isolated_ms", pc.if_else(on, length, 0))
        .append_column("would_ms", pc.if_else(on, 0, length))
        .group_by(_PAIR)
        .aggregate([("isolated_ms", "sum"), ("would_ms", "sum"), ([], "count_all"), ("client_version", "max")])
    )
    found: list[dict[str, Any]] = sums.to_pylist()
    worse = ("isolated_ms_sum", "would_ms_sum")
    return sorted(found, key=lambda pair: (*(-pair[name] for name in worse), *(pair[name] for name in _PAIR)))


def _chosen(pairs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The worst producers of the worst brokers: the next one of each broker in turn until the rows are used up."""
    brokers: dict[str, list[dict[str, Any]]] = {}
    for pair in pairs:
        brokers.setdefault(pair["broker_name"], []).append(pair)
    worst = sorted(brokers, key=lambda name: _summed(brokers[name]))[:MOST_BROKERS]
    turns = [(turn, place) for place, name in enumerate(worst) for turn in range(len(brokers[name]))]
    taken = sorted(turns)[: MOST_ROWS - len(worst)]
    return [brokers[worst[place]][turn] for turn, place in sorted(taken, key=lambda slot: (slot[1], slot[0]))]


def _summed(pairs: list[dict[str, Any]]) -> tuple[int, int, str]:
    on, off = (sum(pair[name] for pair in pairs) for name in ("isolated_ms_sum", "would_ms_sum"))
    return -on, -off, pairs[0]["broker_name"]


def _rows(chosen: list[dict[str, Any]], pairs: list[dict[str, Any]]) -> list[Row]:
    rows: list[Row] = []
    for pair in chosen:
        broker = pair["broker_name"]
        if not rows or rows[-1].broker_name != broker:
            rows.append(_row(broker, _HEADING, [other for other in pairs if other["broker_name"] == broker]))
        rows.append(_row(broker, (pair["client_id"], pair["producer_group"], pair["client_version_max"]), [pair]))
    return rows


def _row(broker: str, producer: tuple[str | None, str | None, str | None], pairs: list[dict[str, Any]]) -> Row:
    sums = [sum(pair[name] for pair in pairs) for name in ("isolated_ms_sum", "would_ms_sum", "count_all")]
    return Row(broker, *producer, *sums)


def _not_drawn(
    pairs: list[dict[str, Any]], chosen: list[dict[str, Any]], empty: int, drawn: int, bars: int
) -> list[str]:
    found = []
    left = pairs if not chosen else [pair for pair in pairs if not any(pair is other for other in chosen)]
    if left:
        brokers = {pair["broker_name"] for pair in pairs} - {pair["broker_name"] for pair in chosen}
        found.append(
            f"{counted(len(left), 'row')} of a broker and a producer, with"
            f" {counted(sum(pair['count_all'] for pair in left), 'isolation')} of"
            f" {duration(sum(pair['isolated_ms_sum'] for pair in left))} in all, beyond the {len(chosen)} worst"
            + (f"; {counted(len(brokers), 'broker')} not drawn at all" if brokers else "")
        )
    if bars < drawn:
        found.append(f"{drawn:,} isolations are drawn as {bars:,} bars: those that nearly touch are one")
    if empty:
        found.append(f"{counted(empty, 'isolation')} of no length, where only the band of the end says isolated")
    return found
