"""Isolations as rows and bars: brokers, below them producer groups and hosts that unfold to clients; the worst."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from jobs.answers.causes import cause_words, classes_of
from jobs.answers.gantt import Bar, interval_words, markup, merged, named
from jobs.answers.producers import group_name, host_of, producer_name
from jobs.answers.published import Published
from jobs.answers.sums import summed
from jobs.intervals.of_lists import grouped
from jobs.tables import ISOLATION_INTERVALS
from jobs.text.terminal import counted, duration

MOST_BROKERS, MOST_PRODUCERS, MOST_BARS, MOST_TOGETHER = 12, 300, 3000, 1500

_GROUP = ("broker_name", "producer_group", "client_version")
_HOST = (*_GROUP, "host")
_PRODUCER = (*_HOST, "client_id")
_LEVELS = (_GROUP[:1], _GROUP, _HOST, _PRODUCER)
_FAR_MS = 2**42
_SUMS = ("isolated_ms", "would_ms", "isolations")
_COLUMNS = (
    "broker_name",
    "client_id",
    "producer_group",
    "client_version",
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
)
Pair = Mapping[str, Any]
"""A broker and a producer, with its sums."""
Key = tuple[str, ...]
"""A broker; with a group and its client version; with a host of it; with a producer there."""


@dataclass(frozen=True)
class Row:
    """A row of the timeline: a broker's heading; below it a group of one client version, a host of it, or one producer.

    Attributes:
        broker_name: the broker.
        client_id: the producer; None for the other rows.
        producer_group: None for the heading.
        client_version: empty where it is not known; None for the heading.
        isolated_ms: how long in the time asked about, summed over the row's isolations with the switch on.
        would_ms: the same with the switch off.
        isolations: how many.
        host: of the producer, its client id where that names none; None for the heading and a group.
        producers: how many producers the row stands for.
        parent: place of the row that unfolds to this one; None for the heading.
    """

    broker_name: str
    client_id: str | None
    producer_group: str | None
    client_version: str | None
    isolated_ms: int
    would_ms: int
    isolations: int
    host: str | None = None
    producers: int = 1
    parent: int | None = None


@dataclass(frozen=True)
class Timeline:
    """Rows from the top, their bars, and what is not drawn.

    Attributes:
        rows: headings, groups, hosts and producers; each before those that it unfolds to.
        bars: isolations of producers; of groups and hosts the time in which any of their producers isolated the broker.
        not_drawn: a sentence for each thing left out.
    """

    rows: tuple[Row, ...]
    bars: tuple[Bar, ...]
    not_drawn: tuple[str, ...]

    def rows_of(self, broker_name: str) -> tuple[int, int] | None:
        """First and last row of a broker; None if it is not drawn."""
        found = [place for place, row in enumerate(self.rows) if row.broker_name == broker_name]
        return (found[0], found[-1]) if found else None


def timeline(published: Published) -> Timeline:
    """The worst brokers' worst producers, in turn of each group, and the rows that unfold to them."""
    isolations = published.rows(ISOLATION_INTERVALS, _COLUMNS)
    long_ones = _described(isolations.filter(pc.field("end_ms") > pc.field("start_ms")), published)
    pairs = _pairs(long_ones)
    chosen = _chosen(pairs)
    rows = dict(_rows(pairs, {_key(pair, _PRODUCER) for pair in chosen}))
    place = {key: number for number, key in enumerate(rows)}
    wanted = pa.Table.from_pylist(chosen).select(_PRODUCER) if chosen else None
    own = long_ones.join(wanted, list(_PRODUCER), join_type="left semi").to_pylist() if wanted else []
    bars = merged((_bar(place[_key(row, _PRODUCER)], row) for row in own), MOST_BARS)
    of_keys = ((_key(row, keys), row) for keys in (_GROUP, _HOST) for row in _together(long_ones, keys))
    times = [_bar(place[key], row) for key, row in of_keys if key in place]
    together = merged(times, MOST_TOGETHER)
    left_out = [*_not_drawn(pairs, chosen, isolations.num_rows - long_ones.num_rows, len(own), len(bars))]
    if len(together) < len(times):
        left_out.append(f"{len(times):,} times of groups and hosts are drawn as {len(together):,} bars")
    return Timeline(tuple(rows.values()), (*together, *bars), tuple(left_out))


def isolation_hover(bar: Bar) -> str:
    """Hover text of a bar of the timeline, in Plotly's markup."""
    row = bar.source
    did = "isolated it" if row["enforced"] else "would have isolated it with its switch on"
    head, when = f"<b>{named(row['broker_name'])}</b>", interval_words(bar.start_ms, bar.end_ms)
    if "client_id" not in row:
        who = f"{counted(row['producers'], 'producer')} of {group_name(row['producer_group'])}"
        where = f" on {row['host']}" if "host" in row else ""
        version = row["client_version"] or "version unknown"
        many = f"{counted(row['isolations'], 'isolation')}: {row['kind']}"
        if bar.rows > 1:
            who = f"producers of {group_name(row['producer_group'])}"
            many = f"{bar.rows:,} times, drawn as one"
        return f"{head}<br>{markup(f'{who}{where} (client {version}) {did}')}<br>{when}<br>{markup(many)}"
    head += f"<br>{markup(producer_name(row))} {did}"
    cause = named(cause_words(row["cause"]) or "?")
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


def _described(isolations: pa.Table, published: Published) -> pa.Table:
    """With `host`, `kind` (the class of the cause), `isolated_ms` and `would_ms`; an unknown version is empty."""
    length, on = published.lengths_ms(isolations), isolations["enforced"]
    of_cause = summed(isolations.append_column("ms", length), "cause", ["ms"]).to_pylist()
    class_of = classes_of({row["cause"]: row["ms"] for row in of_cause})
    hosts = [host_of(client_id) or client_id for client_id in isolations["client_id"].to_pylist()]
    version = pc.fill_null(isolations["client_version"], "")
    return (
        isolations.set_column(isolations.schema.get_field_index("client_version"), "client_version", version)
        .append_column("host", pa.array(hosts, pa.string()))
        .append_column("kind", pa.array(map(class_of.get, isolations["cause"].to_pylist()), pa.string()))
        .append_column("isolated_ms", pc.if_else(on, length, 0))
        .append_column("would_ms", pc.if_else(on, 0, length))
    )


def _pairs(isolations: pa.Table) -> list[Pair]:
    """One row per broker and producer, with its sums; the worst first."""
    pairs: list[Pair] = summed(isolations, _PRODUCER, _SUMS[:2], "isolations").to_pylist()
    return sorted(pairs, key=lambda pair: (-pair["isolated_ms"], -pair["would_ms"], _key(pair, _PRODUCER)))


def _key(row: Mapping[str, Any], names: Sequence[str]) -> Key:
    return tuple(row[name] for name in names)


def _worst_first(pairs: Sequence[Pair], names: Sequence[str]) -> dict[Key, list[Pair]]:
    """The pairs by a key, the worst sums first."""
    found = grouped(pairs, lambda pair: _key(pair, names))
    return dict(sorted(found.items(), key=lambda item: (*(-total for total in _sums(item[1])[:2]), item[0])))


def _sums(pairs: Sequence[Pair]) -> tuple[int, int, int]:
    isolated_ms, would_ms, isolations = (sum(pair[name] for pair in pairs) for name in _SUMS)
    return isolated_ms, would_ms, isolations


def _chosen(pairs: Sequence[Pair]) -> list[Pair]:
    """The worst brokers' producers, the next of each broker in turn, and of each of its groups, up to the limit."""
    brokers = list(_worst_first(pairs, _LEVELS[0]).values())[:MOST_BROKERS]
    return _in_turn([_in_turn(list(_worst_first(broker, _GROUP).values())) for broker in brokers])[:MOST_PRODUCERS]


def _in_turn(lists: Sequence[Sequence[Pair]]) -> list[Pair]:
    return [pair for turn in zip_longest(*lists) for pair in turn if pair is not None]


def _rows(
    pairs: Sequence[Pair], chosen: set[Key], level: int = 0, parent: int | None = None, above: int = 0
) -> Iterator[tuple[Key, Row]]:
    """Rows with their keys: what holds a chosen producer; a lone one stands in its group's or host's place.

    Args:
        pairs: those below the parent.
        chosen: keys of the producers to draw.
        level: which of `_LEVELS`.
        parent: place of the parent.
        above: number of rows so far.
    """
    for key, same in _worst_first(pairs, _LEVELS[level]).items():
        lone = level > 0 and len(same) == 1
        named_by = dict(zip(_PRODUCER, _key(same[0], _PRODUCER) if lone else key, strict=False))
        group, version, host, client = (named_by.get(name) for name in _PRODUCER[1:])
        if any(_key(pair, _PRODUCER) in chosen for pair in same):
            row = Row(key[0], client, group, version, *_sums(same), host, len(same), parent)
            yield _key(same[0], _PRODUCER) if lone else key, row
            below = [] if lone or level == len(_LEVELS) - 1 else list(_rows(same, chosen, level + 1, above, above + 1))
            yield from below
            above += 1 + len(below)


def _bar(place: int, row: Mapping[str, Any]) -> Bar:
    return Bar(place, row["kind"], not row["enforced"], row["start_ms"], row["end_ms"], row)


def _together(isolations: pa.Table, names: Sequence[str]) -> list[dict[str, Any]]:
    """The times in which any producer of a key isolated the broker, by kind and switch: `producers`, `isolations`."""
    keys = [*names, "kind", "enforced"]
    of_key = isolations.group_by(keys).aggregate([]).combine_chunks()
    numbered = of_key.append_column("number", pa.array(range(of_key.num_rows), pa.int64()))
    rows = isolations.select([*keys, "client_id", "start_ms", "end_ms"]).join(numbered, keys)
    rows = rows.sort_by([("number", "ascending"), ("start_ms", "ascending"), ("end_ms", "ascending")])
    far = pc.multiply(rows["number"], _FAR_MS)  # one axis of time for all keys, one after the other
    reach = pc.cumulative_max(pc.add(far, rows["end_ms"]).combine_chunks())
    before = pa.concat_arrays([pa.array([-1], pa.int64()), reach[:-1]]) if rows.num_rows else reach
    begins = pc.greater(pc.add(far, rows["start_ms"]), before)
    found = (
        rows.append_column("time", pc.cumulative_sum(pc.cast(begins, pa.int64())))
        .group_by([*keys, "time"])
        .aggregate([("start_ms", "min"), ("end_ms", "max"), ("client_id", "count_distinct"), ([], "count_all")])
    )
    named_as = {"start_ms_min": "start_ms", "end_ms_max": "end_ms", "client_id_count_distinct": "producers"}
    return list(found.rename_columns(named_as | {"count_all": "isolations"}).to_pylist())


def _not_drawn(pairs: Sequence[Pair], chosen: Sequence[Pair], empty: int, drawn: int, bars: int) -> Iterator[str]:
    there = {_key(pair, _PRODUCER) for pair in chosen}
    left = [pair for pair in pairs if _key(pair, _PRODUCER) not in there]
    if left:
        isolated_ms, _, isolations = _sums(left)
        brokers = {pair["broker_name"] for pair in pairs} - {pair["broker_name"] for pair in chosen}
        yield (
            f"{counted(len(left), 'row')} of a broker and a producer, with"
            f" {counted(isolations, 'isolation')} of {duration(isolated_ms)} in all, beyond the {len(chosen)} worst"
            + (f"; {counted(len(brokers), 'broker')} not drawn at all" if brokers else "")
        )
    if bars < drawn:
        yield f"{drawn:,} isolations are drawn as {bars:,} bars: those that nearly touch are one"
    if empty:
        yield f"{counted(empty, 'isolation')} of no length, where only the band of the end says isolated"
