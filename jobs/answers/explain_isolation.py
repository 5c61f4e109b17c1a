"""Why an isolation ended when it did: what changed its fault item, and what each attempt at its broker earned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import and_, or_

import pyarrow.compute as pc

from jobs.answers.fault_item_lines import AROUND_MS, ATTEMPT, CHANGE, COULD_NOT, MAX, UPDATE, Line, Row, lines_of
from jobs.answers.gantt import interval_words
from jobs.answers.producers import producer_name
from jobs.answers.published import Published
from jobs.answers.words import NOTHING, clock_time, safe_cell
from jobs.errors import InputMissingError
from jobs.kinds import Evidence, FindingKind
from jobs.tables import FAULT_ITEM_CHANGES, FAULT_ITEM_UPDATES, ISOLATION_INTERVALS, PRODUCER_DAYS, SENDS, Table
from jobs.text.nearest import did_you_mean
from jobs.text.terminal import counted, grid, safe
from udfs.ladder import Ladder, plain_isolation_ms
from udfs.policy import Policy

Released = Mapping[str, Policy]
"""Rules of each profile, by its name."""
Ladders = Mapping[str, tuple[tuple[int, ...], tuple[int, ...]]]
"""Floors and isolations of producers with a ladder of their own, by client id or group."""

_MOST_NAMED = 5
_PRODUCER = ("event_date", "client_id", "producer_group")
_ITEM = ("broker_name", "process", "enforced")
_NOT_KNOWN: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
_OTHER_LADDER = "the ladder of these settings is not the one that the day was published with"
_NO_SENDS = "the day's sends are not in the lake any more"
_SAYS = {
    Evidence.LOGGED: "a line of the log says what opened it",
    Evidence.RECORDED: "the client recorded its own updates",
}


@dataclass(frozen=True)
class Isolation:
    """An isolation explained.

    Attributes:
        row: of `isolation_intervals`.
        policy: rules that it was replayed under; an empty ladder is not known.
        lines: in order of time, with changes shortly before and after it.
        why: a sentence on why it ended when it did.
        rests_on: its evidence and band in words.
        limits: sentences on what is left out, and why.
    """

    row: Row
    policy: Policy
    lines: tuple[Line, ...]
    why: str
    rests_on: str
    limits: tuple[str, ...]


def covering(rows: Sequence[Row], producer: str, group: str | None, broker: str, at_ms: int) -> Row:
    """The isolation that holds at an instant: by its best estimate, else by its band; the latest of several.

    Args:
        rows: of `isolation_intervals`, all of the broker.
        producer: a client id, else a producer group, else part of a client id, of one producer alone.
        group: its producer group; None = any.
        broker: for errors.
        at_ms: epoch ms.

    Raises:
        InputMissingError: no producer or several match, or none of its isolations holds then.
    """
    names = _one(rows, producer, group, broker)
    own = sorted(
        (row for row in rows if (row["client_id"], row["producer_group"]) == names), key=lambda row: row["start_ms"]
    )
    begun = [row for row in own if row["start_ms"] <= at_ms]
    for end in ("end_ms", "end_latest_ms"):
        if held := [row for row in begun if at_ms < row[end] or at_ms == row["start_ms"]]:
            return held[-1]
    near = [
        *(f"the last before it is {interval_words(row['start_ms'], row['end_ms'])}" for row in begun[-1:]),
        *(f"the next is {interval_words(row['start_ms'], row['end_ms'])}" for row in own[len(begun) :][:1]),
    ]
    raise InputMissingError(
        f"{producer_name(own[0])} did not isolate '{safe(broker)}' at {clock_time(at_ms, with_day=True)};"
        f" {' and '.join(near)}"
    )


def _one(rows: Sequence[Row], producer: str, group: str | None, broker: str) -> tuple[str, str]:
    """Client id and group of the only producer that the text names, within the group."""
    there = sorted({(row["client_id"], row["producer_group"]) for row in rows})
    own = [names for names in there if group in {None, names[1]}]
    matching = (
        [names for names in own if names[0] == producer]
        or [names for names in own if names[1] == producer]
        or [names for names in own if producer in names[0]]
    )
    of_group = "" if group is None else f" of group '{safe(group)}'"
    if len(matching) == 1:
        return matching[0]
    named = {(row["client_id"], row["producer_group"]): producer_name(row) for row in rows}
    shown = ", ".join(named[names] for names in (matching or there)[:_MOST_NAMED])
    if matching:
        raise InputMissingError(
            f"'{safe(producer)}' names {len(matching)} producers{of_group} that isolated '{safe(broker)}', such as"
            f" {shown}; give the client id of one, and with --group its group where several share that id"
        )
    near = did_you_mean(safe(producer), [name for names in there for name in names])
    raise InputMissingError(
        f"no producer '{safe(producer)}'{of_group} isolated '{safe(broker)}' on the day asked about{near};"
        f" {shown or 'nobody'} did"
    )


def explained(
    row: Row,
    changes: Sequence[Row],
    attempts: Sequence[Row],
    updates: Sequence[Row],
    policy: Policy,
    limits: tuple[str, ...] = (),
) -> Isolation:
    """The isolation with every line about its fault item, and the reason of its end.

    Args:
        row: of `isolation_intervals`.
        changes: of `fault_item_changes`, of the item, of the whole day.
        attempts: of `sends`, of the process at the broker.
        updates: of `fault_item_updates`, of the item; where there are any, they and not the attempts say what was
            written.
        policy: rules of the item; an empty ladder is not known. A ladder that does not give what the day's changes
            earned is not known either.
        limits: as in the answer.
    """
    if policy.ladder.floors_ms and not all(_gives(policy, change) for change in changes):
        policy, limits = replace(policy, ladder=Ladder(*_NOT_KNOWN)), (*limits, _OTHER_LADDER)
    lines = lines_of(row, changes, attempts, updates, policy)
    return Isolation(row, policy, lines, _why(row, lines, policy), _rests_on(row), limits)


def _gives(policy: Policy, change: Row) -> bool:
    """Whether the ladder gives what the change earned; what the client recorded or removed is not by this ladder."""
    looked_up = change["current_latency_ms"], policy.failure_latency_ms
    by_ladder = change["evidence"] != Evidence.RECORDED and change["change"] != "REMOVED"
    return not by_ladder or change["not_available_ms"] in {plain_isolation_ms(ms, policy.ladder) for ms in looked_up}


def _why(row: Row, lines: Sequence[Line], policy: Policy) -> str:
    """A sentence on what ended the isolation."""
    within = [line for line in lines if row["start_ms"] <= line.at_ms <= row["end_ms"]]
    ended = [line for line in within if line.change in {"CLEARED", "REMOVED"} and line.at_ms == row["end_ms"]]
    match row["ended_by"]:
        case "EXPIRED":
            return _expired(row, within)
        case "CLEARED" if ended:
            took = f"its {ended[0].latency_ms or 0:,} ms earn {_length(ended[0].earned_ms or 0)}"
            return f"{_named(ended[0])} ended it: {took}, and under {policy.write_rule} {_RULES[policy.write_rule]}"
        case "REMOVED" if ended:
            return f"{_named(ended[0])} ended it: {_DROPPED if 'DROPPED' in ended[0].what else _REMOVED}"
    return _ENDED.get(row["ended_by"], f"{row['ended_by']}, by a write that no line of the published day shows")


_RULES = {"LAST_WRITE": "each write sets the end", MAX: "the latest end stays"}
_REMOVED = "the fallback picked this broker, found no queue to write to in the topic's route, and removed its item"
_DROPPED = "the client's detector dropped the item of a broker that no longer has an address"
_ENDED = {
    FindingKind.RESTARTED: "a new process of the producer began, which knows nothing of it",
    "DAY_END": "it still stands at 24:00 UTC; a row of the next day continues it",
    "REACHABLE": "its reachable flag became true again, which under this profile counts whatever the window says",
}


def _expired(row: Row, within: Sequence[Line]) -> str:
    """Its time ran out: which write set the end, what that earned, and which later ones could not move it."""
    if row["start_ms"] == row["end_ms"]:
        return "only another order of writes within a millisecond isolates the broker: the band holds that"
    setting = [place for place, line in enumerate(within) if line.until_ms == row["end_ms"]]
    if not setting:
        where = "of the day before" if row["continued_from_previous_day"] else "in no published change"
        return f"its time was over; the write that set its end is {where}"
    setter, later = within[setting[-1]], within[setting[-1] + 1 :]
    futile = sum(line.effect.startswith(COULD_NOT) and line.at_ms < row["end_ms"] for line in later)
    tried = f", {counted(futile, 'later write')} could not" if futile else ""
    earned = _length(setter.earned_ms or 0)
    why = f"the client's own ladder gave it {earned}"
    if setter.looked_up_ms is not None:
        failure = "a failure, which counts as " if setter.looked_up_ms != setter.latency_ms else ""
        why = f"{safe(row['policy'])} gives {earned} for {failure}{setter.looked_up_ms:,} ms"
    return f"its time was over: no later attempt moved the end that {_named(setter)} set{tried}; {why}"


def _named(line: Line) -> str:
    seq = "without seq" if line.seq is None else f"seq {line.seq}"
    thread = f", thread {safe(line.thread)}" if line.thread else ""
    return f"{safe(line.what)} ({clock_time(line.at_ms)}, {seq}{thread})"


def _length(ms: int) -> str:
    return f"{ms // 1000:,} s" if ms % 1000 == 0 else f"{ms:,} ms"


def _rests_on(row: Row) -> str:
    says = _SAYS.get(row["evidence"], "what opened it follows from one line by the client's code (docs/exactness.md)")
    first, last = row["end_earliest_ms"], row["end_latest_ms"]
    open_to = f"the lines allow an end from {clock_time(first)} to {clock_time(last)}"
    band = open_to if first < last else "no order of the lines gives another end"
    start = "; the day before is not published and could change it" if row["after_unknown_start"] else ""
    return f"{row['evidence']}: {says}; {band}{start}"


def isolation_at(
    published: Published,
    producer: str,
    group: str | None,
    broker: str,
    at_ms: int,
    released: Released,
    ladders: Ladders,
) -> Isolation:
    """The isolation of the broker by the producer at an instant, explained from the published tables.

    Args:
        published: the days.
        producer: as `covering` takes it.
        group: as `covering` takes it.
        broker: its name.
        at_ms: epoch ms.
        released: rules of each profile, by its name.
        ladders: floors and isolations of producers with a ladder of their own, by client id or group.

    Raises:
        InputMissingError: as `covering`.
        LakeError: a table cannot be read.
    """
    of_broker = pc.field("broker_name") == pc.scalar(broker)
    rows = published.rows(ISOLATION_INTERVALS, ISOLATION_INTERVALS.schema.fieldNames(), of_broker).to_pylist()
    return isolations_explained(published, [covering(rows, producer, group, broker, at_ms)], released, ladders)[0]


def isolations_explained(
    published: Published, rows: Sequence[Row], released: Released, ladders: Ladders
) -> list[Isolation]:
    """The isolations explained from the published tables; each table is read once for all of them.

    Args:
        published: the days.
        rows: of `isolation_intervals`, each of a profile in `released`.
        released: as `isolation_at` takes them.
        ladders: as `isolation_at` takes them.

    Raises:
        LakeError: a table cannot be read.
    """
    changes = _each(published, FAULT_ITEM_CHANGES, CHANGE, [_is_of(row, *_ITEM) for row in rows])
    updates = _each(published, FAULT_ITEM_UPDATES, UPDATE, [_around(row, "called_at_ms") for row in rows])
    attempts = _each(published, SENDS, ATTEMPT, [_around(row, "ended_at_ms") for row in rows])
    return [
        explained(
            row,
            sorted(changed, key=lambda change: change["position"]),
            tried,
            recorded if row["enforced"] else [],
            _policy_of(row, released, ladders),
            () if tried or not _sends_are_gone(published, row) else (_NO_SENDS,),
        )
        for row, changed, recorded, tried in zip(rows, changes, updates, attempts, strict=True)
    ]


def _each(
    published: Published, table: Table, columns: Sequence[str], conditions: Sequence[pc.Expression]
) -> list[list[Row]]:
    """The rows of the table that meet each of the conditions, in one read."""
    wanted = [name for name in (*_PRODUCER, *_ITEM, "process_id") if name in table.schema.fieldNames()]
    found = published.rows(table, list(dict.fromkeys([*columns, *wanted])), reduce(or_, conditions))
    return [found.filter(condition).select(columns).to_pylist() for condition in conditions]


def _is_of(row: Row, *names: str) -> pc.Expression:
    """Rows of the isolation's day and producer, equal to its row in these columns."""
    return reduce(and_, (pc.field(name) == pc.scalar(row[name]) for name in (*_PRODUCER, *names)))


def _around(row: Row, time: str) -> pc.Expression:
    """Rows of the isolation's process at its broker, by their time at most `AROUND_MS` before or after it."""
    process = pc.coalesce(pc.field("process_id"), pc.field("client_id")) == pc.scalar(row["process"])
    within = (pc.field(time) >= row["start_ms"] - AROUND_MS) & (pc.field(time) <= row["end_ms"] + AROUND_MS)
    return _is_of(row, "broker_name") & process & within


def _sends_are_gone(published: Published, row: Row) -> bool:
    """Whether its producer sent that day, and no send of it is in the lake."""
    sent = published.rows(PRODUCER_DAYS, ["sends"], _is_of(row) & (pc.field("sends") > 0))
    return sent.num_rows > 0 and not published.rows(SENDS, ["client_id"], _is_of(row)).num_rows


def _policy_of(row: Row, released: Released, ladders: Ladders) -> Policy:
    """The rules that an isolation was replayed under; an empty ladder is not known."""
    policy = released[row["profile"]]
    _, is_own, owner = row["policy"].partition(" with the ladder of ")
    own = Ladder(*ladders.get(owner, _NOT_KNOWN))
    return replace(policy, name=row["policy"], ladder=own) if is_own else policy


def isolation_head(isolation: Isolation) -> list[str]:
    """Which isolation it is, why it ended, its rules and evidence, and what is left out."""
    row, policy = isolation.row, isolation.policy
    rungs = ", ".join(f"{floor:,} -> {length or 0:,}" for floor, length in reversed(policy.ladder.rungs))
    ladder = f"ms {rungs}; a failure counts as {policy.failure_latency_ms:,} ms" if rungs else "ladder not known"
    when = interval_words(row["start_ms"], row["end_ms"])
    switch = "" if row["enforced"] else "; its switch was off, so this is what it would have done"
    return [
        f"isolation of {safe(row['broker_name'])} by {producer_name(row)}, {when}",
        f"  why it ended: {isolation.why}",
        f"  rules: {safe(row['policy'])}, {policy.write_rule}: {_RULES[policy.write_rule]}; {ladder}{switch}",
        f"  evidence: {isolation.rests_on}",
        *(f"  left out: {limit}" for limit in isolation.limits),
    ]


def isolation_lines(isolation: Isolation, most: int) -> list[str]:
    """Its lines as a table; of more than `most` the first and last ones, 0 for all."""
    lines = isolation.lines
    left_out = max(0, len(lines) - most) if most else 0
    shown = [*lines[: most - most // 2], *lines[len(lines) - most // 2 :]] if left_out else lines
    cells = [
        [
            clock_time(line.at_ms),
            NOTHING if line.seq is None else f"{line.seq}",
            *(
                safe_cell(name, getattr(line, name))
                for name in ("thread", "what", "latency_ms", "rung_ms", "earned_ms", "effect")
            ),
        ]
        for line in shown
    ]
    heads = ["at", "seq", "thread", "what", "latency ms", "rung ms", "earns ms", "effect"]
    if any(line.places for line in lines):
        heads.append("row of the log")
        cells = [[*own, " or ".join(map(safe, line.places)) or NOTHING] for own, line in zip(cells, shown, strict=True)]
    table = grid(heads, cells).split("\n")
    more = f"  {left_out:,} lines between them are not shown; give --limit 0 for all"
    return [*table, more] if left_out else table
