"""Why an isolation ended when it did: what changed its fault item, and what each attempt at its broker earned."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import pyarrow.compute as pc

from jobs.answers.published import Published
from jobs.answers.words import NOTHING, clock_time, safe_cell
from jobs.errors import InputMissingError
from jobs.kinds import Evidence
from jobs.tables import FAULT_ITEM_CHANGES, FAULT_ITEM_UPDATES, ISOLATION_INTERVALS, SENDS, Table
from jobs.text.nearest import did_you_mean
from jobs.text.terminal import counted, duration, grid, safe
from udfs.ladder import Ladder, plain_isolation_ms
from udfs.plain_outcome import ANSWERS, REMOTING, SENT
from udfs.policy import Policy

Row = Mapping[str, Any]

AROUND_MS = 1_000
"""Changes so long before and after the isolation are shown too."""
_NEAR_MS = 50
"""Attempts and updates without a change only so long."""
_MOST_NAMED = 5
_PRODUCER = ("client_id", "producer_group")
_MAX = "MAX"
_COULD_NOT = "could not move the end"
_NO_RUNG = (None, None)
_NOT_KNOWN = Ladder((), ())
_SETS_END = {"OPENED", "EXTENDED"}
_SAYS = {
    Evidence.LOGGED: "a line of the log says what opened it",
    Evidence.RECORDED: "the client recorded its own updates",
}


@dataclass(frozen=True)
class Line:
    """A write to the fault item, or an attempt that wrote nothing.

    Attributes:
        at_ms: when the item changed, or the attempt ended; epoch ms.
        seq: of the send or recorded update; None = not logged.
        thread: None = not logged.
        what: mode and outcome of an attempt, op of a recorded update, or how else the write is known.
        latency_ms: of the attempt, or passed to the update; None = it has none.
        looked_up_ms: latency that it looked up in the ladder, of a failure the profile's constant; None = it writes
            nothing, or the ladder does not give what it earned.
        rung_ms: the ladder's floor that this reached; None = none.
        earned_ms: isolation by the ladder; None = it writes nothing, or not known.
        change: what it did to an isolation, as published; None = nothing.
        until_ms: the end that it set; None = it set none.
        effect: the same in words, or why it moved nothing.
    """

    at_ms: int
    seq: int | None
    thread: str | None
    what: str
    latency_ms: int | None
    looked_up_ms: int | None
    rung_ms: int | None
    earned_ms: int | None
    change: str | None
    until_ms: int | None
    effect: str


@dataclass(frozen=True)
class Isolation:
    """An isolation explained.

    Attributes:
        row: of `isolation_intervals`.
        policy: rules that it was replayed under; an empty ladder is not known.
        lines: in order of time, with changes shortly before and after it.
        why: a sentence on why it ended when it did.
        rests_on: its evidence and band in words.
    """

    row: Row
    policy: Policy
    lines: tuple[Line, ...]
    why: str
    rests_on: str


def covering(rows: Sequence[Row], producer: str, broker: str, at_ms: int) -> Row:
    """The isolation that holds at an instant: by its best estimate, else by its band; the latest of several.

    Args:
        rows: of `isolation_intervals`, all of the broker.
        producer: a client id, else a producer group, else part of a client id, of one producer alone.
        broker: for errors.
        at_ms: epoch ms.

    Raises:
        InputMissingError: no producer or several match, or none of its isolations holds then.
    """
    own = [row for row in rows if (row["client_id"], row["producer_group"]) == _one(rows, producer, broker)]
    own.sort(key=lambda row: row["start_ms"])
    begun = [row for row in own if row["start_ms"] <= at_ms]
    for end in ("end_ms", "end_latest_ms"):
        if held := [row for row in begun if at_ms < row[end] or at_ms == row["start_ms"]]:
            return held[-1]
    near = [f"the last before it is from {_span(row)}" for row in begun[-1:]]
    near += [f"the next is from {_span(row)}" for row in own[len(begun) :][:1]]
    raise InputMissingError(
        f"'{safe(own[0]['client_id'])}' did not isolate '{safe(broker)}' at {clock_time(at_ms, with_day=True)};"
        f" {' and '.join(near)}"
    )


def _one(rows: Sequence[Row], producer: str, broker: str) -> tuple[str, str]:
    """Client id and group of the only producer that the text names."""
    there = sorted({(row["client_id"], row["producer_group"]) for row in rows})
    matching = (
        [names for names in there if names[0] == producer]
        or [names for names in there if names[1] == producer]
        or [names for names in there if producer in names[0]]
    )
    if len(matching) == 1:
        return matching[0]
    shown = ", ".join(
        f"'{safe(client)}' of group '{safe(group)}'" for client, group in (matching or there)[:_MOST_NAMED]
    )
    if matching:
        raise InputMissingError(
            f"'{safe(producer)}' names {len(matching)} producers that isolated '{safe(broker)}', such as {shown};"
            " give the client id of one"
        )
    text = safe(producer)
    near = did_you_mean(text, [name for names in there for name in names])
    raise InputMissingError(
        f"no producer '{text}' isolated '{safe(broker)}' on the day asked about{near}; {shown or 'nobody'} did"
    )


def _span(row: Row) -> str:
    return f"{clock_time(row['start_ms'])} to {safe_cell('end_ms', row['end_ms'])}"


def explained(
    row: Row, changes: Sequence[Row], attempts: Sequence[Row], updates: Sequence[Row], policy: Policy
) -> Isolation:
    """The isolation with every line about its fault item, and the reason of its end.

    Args:
        row: of `isolation_intervals`.
        changes: of `fault_item_changes`, of the item.
        attempts: of `sends`, of the process at the broker.
        updates: of `fault_item_updates`, of the item; where there are any, they and not the attempts say what was
            written.
        policy: rules of the item; an empty ladder is not known.
    """
    recorded = {_key(update): update for update in updates}
    sent = {_key(attempt): attempt for attempt in attempts}
    lines = [_changed(change, _source(change, recorded, sent), policy) for change in changes]
    by_record = {_key(change) for change in changes if change["evidence"] == Evidence.RECORDED}
    by_line = {(_key(change), change["changed_at_ms"]) for change in changes if change["evidence"] != Evidence.RECORDED}
    lines += [_update(update, policy) for update in updates if _key(update) not in by_record]
    lines += [
        _attempt(attempt, row, policy, is_recorded=bool(updates))
        for attempt in attempts
        if (_key(attempt), attempt["ended_at_ms"]) not in by_line
    ]
    lines.sort(key=lambda line: (line.at_ms, line.seq is None, line.seq))
    placed = tuple(_with_effects(lines, row, policy))
    return Isolation(row, policy, placed, _why(row, placed, recorded, policy), _rests_on(row))


def _key(row: Row) -> tuple[int, ...]:
    """What joins a change to its line: `seq`, else time and latency."""
    if row["seq"] is not None:
        return (row["seq"],)
    at_ms = next(row[name] for name in ("changed_at_ms", "called_at_ms", "ended_at_ms") if name in row)
    return at_ms, row["latency_ms"] if "latency_ms" in row else row["current_latency_ms"]


def _source(change: Row, recorded: Mapping[Any, Row], sent: Mapping[Any, Row]) -> Row | None:
    return (recorded if change["evidence"] == Evidence.RECORDED else sent).get(_key(change))


def _changed(change: Row, source: Row | None, policy: Policy) -> Line:
    """A published change, with the line that it comes from where that is of the broker."""
    is_failure = change["cause"] not in {"LATENCY", "DETECTOR"}
    looked_up = policy.failure_latency_ms if is_failure else change["current_latency_ms"]
    if source is None:
        what = f"{change['cause']}, {change['evidence']}"
    elif "op" in source:
        what = f"recorded {source['op']}, {change['cause']}"
    else:
        of_submit = change["changed_at_ms"] == source["submitted_at_ms"] != source["ended_at_ms"]
        what = f"{'submit call of ' if of_submit else ''}{source['mode']} {source['outcome']}"
    earned = change["not_available_ms"]
    return Line(
        change["changed_at_ms"],
        change["seq"],
        None if source is None else source["thread"],
        what,
        change["current_latency_ms"],
        *_rung(looked_up, earned, policy),
        earned,
        change["change"],
        change["available_at_ms"] if change["change"] in _SETS_END else None,
        "until its reachable flag is true" if policy.reachable_gates and change["reachable"] is False else "",
    )


def _update(update: Row, policy: Policy) -> Line:
    """A recorded update without a published change."""
    latency, earned = update["current_latency_ms"], update["not_available_ms"]
    effect = {
        "PICKED": "the fallback chose this broker; that changes nothing",
        "REACHABLE": "the detector set the flag, not the end",
        "REMOVE": "removed an item that isolated nothing",
        "DROPPED": "removed an item that isolated nothing",
    }.get(update["op"], "")
    asked = _rung(latency or 0, earned, policy)
    if asked == _NO_RUNG:
        asked = _rung(policy.failure_latency_ms, earned, policy)
    what = f"recorded {update['op']}"
    return Line(
        update["called_at_ms"], update["seq"], update["thread"], what, latency, *asked, earned, None, None, effect
    )


def _attempt(attempt: Row, row: Row, policy: Policy, *, is_recorded: bool) -> Line:
    """An attempt without a published change."""
    looked_up, effect = _looked_up(attempt, row, policy)
    known = looked_up is not None and bool(policy.ladder.floors_ms)
    earned = plain_isolation_ms(looked_up or 0, policy.ladder) if known else None
    if is_recorded:
        effect = "wrote what is recorded"
    elif looked_up is not None and not known:
        effect = "the producer's ladder is in no settings given here"
    elif known and earned is None:
        effect = "the ladder has no isolation for its floor: the client fails and writes nothing"
    elif earned and row["evidence"] == Evidence.CALL:
        effect = "a whole call: one that took its time-out does not say which broker it waited for, and writes nothing"
    return Line(
        attempt["ended_at_ms"],
        attempt["seq"],
        attempt["thread"],
        f"{attempt['mode']} {attempt['outcome']}",
        attempt["latency_ms"],
        *(_rung(looked_up or 0, earned, policy) if known else _NO_RUNG),
        earned,
        None,
        None,
        effect,
    )


def _looked_up(attempt: Row, row: Row, policy: Policy) -> tuple[int | None, str]:
    """The latency that an attempt looks up in the ladder; None and the reason when it writes nothing.

    `DefaultMQProducerImpl.sendDefaultImpl` (4.9.4:577-625, 5.3.3:791-849), `MQClientAPIImpl.sendMessageAsync`.
    """
    outcome, is_async = attempt["outcome"], attempt["mode"] == "ASYNC"
    if is_async and outcome == "MQClientException" and attempt["cause"]:
        outcome = attempt["cause"]
    if attempt["fault_latency_enabled"] not in {None, row["enforced"]}:
        return None, f"its switch was {'off' if row['enforced'] else 'on'}: it is of another fault item"
    if attempt["queue_chosen_by"] == "CALLER" and not is_async:
        return None, "the caller chose the queue: the client writes nothing"
    with_latency = outcome == "InterruptedException" or (
        outcome == "MQClientException" and not (policy.not_exist_isolates or is_async)
    )
    if outcome in {*ANSWERS, SENT} or with_latency:
        return attempt["latency_ms"], ""
    if is_async or outcome in {*REMOTING, "MQBrokerException", "MQClientException"}:
        return policy.failure_latency_ms, ""
    return None, f"the client writes nothing after {outcome}"


def _rung(asked_ms: int, earned_ms: int | None, policy: Policy) -> tuple[int | None, int | None]:
    """The latency looked up and the floor it reached; None twice if the ladder does not give what it earned."""
    if plain_isolation_ms(asked_ms, policy.ladder) != earned_ms:
        return _NO_RUNG
    return asked_ms, next((floor for floor, _ in policy.ladder.rungs if asked_ms >= floor), None)


def _with_effects(lines: Sequence[Line], row: Row, policy: Policy) -> list[Line]:
    """The lines, each with what it did to the end that stood before it."""
    until = row["end_ms"] if row["continued_from_previous_day"] else 0
    placed = []
    for line in lines:
        effect = line.effect or _effect(line, until, policy)
        if line.change:
            until = line.until_ms or 0
        placed.append(replace(line, effect=effect))
    return placed


def _effect(line: Line, until_ms: int, policy: Policy) -> str:
    own_end, earned = line.at_ms + (line.earned_ms or 0), line.earned_ms
    match line.change:
        case "OPENED":
            return f"opened it, until {clock_time(line.until_ms or 0)}"
        case "EXTENDED":
            which = "an earlier" if (line.until_ms or 0) < until_ms else "a later"
            return f"moved the end to {which} one, {clock_time(line.until_ms or 0)}"
        case "CLEARED" | "REMOVED":
            return "ended it" if line.change == "CLEARED" else "removed the fault item, which ended it"
    if policy.write_rule == _MAX and own_end <= max(until_ms, line.at_ms):
        why = f"MAX keeps the later one, and {clock_time(own_end)} is not later"
        return f"{_COULD_NOT}: {why if earned else 'under MAX a write that earns nothing does not count'}"
    if not earned and until_ms <= line.at_ms:
        return "nothing to end: the broker was available"
    return "set the same end" if own_end == until_ms else "no published change is of it"


def _why(row: Row, lines: Sequence[Line], recorded: Mapping[Any, Row], policy: Policy) -> str:
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
            update = recorded.get((ended[0].seq,), {})
            return f"{_named(ended[0])} ended it: {_REMOVED.get(update.get('op', ''), 'its item was removed')}"
    return _ENDED.get(row["ended_by"], f"{row['ended_by']}, by a write that no line of the published day shows")


_RULES = {"LAST_WRITE": "each write sets the end", _MAX: "the latest end stays"}
_REMOVED = {
    "REMOVE": "the fallback picked this broker, found no queue to write to in the topic's route, and removed its item",
    "DROPPED": "the client's detector dropped the item of a broker that no longer has an address",
}
_ENDED = {
    "RESTARTED": "a new process of the producer began, which knows nothing of it",
    "DAY_END": "it still stands at 24:00 UTC; a row of the next day continues it",
    "REACHABLE": "its reachable flag became true again, which under this profile counts whatever the window says",
}


def _expired(row: Row, within: Sequence[Line]) -> str:
    """Its time ran out: which write set the end, what that earned, and which later ones could not move it."""
    if row["start_ms"] == row["end_ms"]:
        return "only another order of writes within a millisecond isolates the broker: the band holds that"
    setting = [place for place, line in enumerate(within) if line.until_ms == row["end_ms"]]
    if not setting:
        return "its time was over; the write that set its end is of the day before"
    setter, later = within[setting[-1]], within[setting[-1] + 1 :]
    futile = sum(line.effect.startswith(_COULD_NOT) and line.at_ms < row["end_ms"] for line in later)
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
    band = "no order of the lines gives another end"
    if first < last:
        band = f"the lines allow an end from {clock_time(first)} to {clock_time(last)}"
    start = "; the day before is not published and could change it" if row["after_unknown_start"] else ""
    return f"{row['evidence']}: {says}; {band}{start}"


def isolation_at(
    published: Published, producer: str, broker: str, at_ms: int, policies: Mapping[str, Policy]
) -> Isolation:
    """The isolation of the broker by the producer at an instant, explained from the published tables.

    Args:
        published: the days.
        producer: as `covering` takes it.
        broker: its name.
        at_ms: epoch ms.
        policies: rules by name; without those of a producer's own ladder, the ladder is not known.

    Raises:
        InputMissingError: as `covering`.
        LakeError: a table cannot be read.
    """
    of_broker = pc.field("broker_name") == pc.scalar(broker)
    rows = published.rows(ISOLATION_INTERVALS, ISOLATION_INTERVALS.schema.fieldNames(), of_broker).to_pylist()
    row = covering(rows, producer, broker, at_ms)
    item = of_broker
    for name in _PRODUCER:
        item &= pc.field(name) == pc.scalar(row[name])
    process = pc.coalesce(pc.field("process_id"), pc.field("client_id")) == pc.scalar(row["process"])
    of_item = (pc.field("process") == pc.scalar(row["process"])) & (pc.field("enforced") == pc.scalar(row["enforced"]))

    def around(table: Table, name: str, also: pc.Expression, margin_ms: int = _NEAR_MS) -> list[Row]:
        within = (pc.field(name) >= row["start_ms"] - margin_ms) & (pc.field(name) <= row["end_ms"] + margin_ms)
        rows: list[Row] = published.rows(
            table, table.schema.fieldNames(), item & also & within, [row["event_date"]]
        ).to_pylist()
        return rows

    changes = sorted(
        around(FAULT_ITEM_CHANGES, "changed_at_ms", of_item, AROUND_MS), key=lambda change: change["position"]
    )
    updates = around(FAULT_ITEM_UPDATES, "called_at_ms", process) if row["enforced"] else []
    attempts = around(SENDS, "ended_at_ms", process)
    policy = policies.get(row["policy"]) or replace(policies[row["profile"]], ladder=_NOT_KNOWN)
    return explained(row, changes, attempts, updates, policy)


def isolation_text(isolation: Isolation, most: int) -> str:
    """For a terminal; of more than `most` lines the first and last ones, 0 for all."""
    row, lines, policy = isolation.row, isolation.lines, isolation.policy
    client = f"{safe(row['client_id'])}, group {safe(row['producer_group']) or NOTHING}"
    rules = f"client {safe(row['client_version'] or NOTHING)}, {safe(row['policy'])}, {policy.write_rule}"
    rungs = ", ".join(f"{floor:,} -> {length or 0:,}" for floor, length in reversed(policy.ladder.rungs))
    ladder = f"ms {rungs}; a failure counts as {policy.failure_latency_ms:,} ms" if rungs else "ladder not known"
    switch = "" if row["enforced"] else "; its switch was off, so this is what it would have done"
    left_out = max(0, len(lines) - most) if most else 0
    shown = [*lines[: most - most // 2], *lines[len(lines) - most // 2 :]] if left_out else lines
    names = ("thread", "what", "latency_ms", "rung_ms", "earned_ms", "effect")
    cells = [
        [
            clock_time(line.at_ms),
            NOTHING if line.seq is None else f"{line.seq}",
            *(safe_cell(name, getattr(line, name)) for name in names),
        ]
        for line in shown
    ]
    span = f"{clock_time(row['start_ms'], with_day=True)} to {safe_cell('end_ms', row['end_ms'])} UTC"
    parts = [
        f"isolation of {safe(row['broker_name'])} by {client}, {span}, {duration(row['end_ms'] - row['start_ms'])}",
        f"  why it ended: {isolation.why}",
        f"  rules: {rules}: {_RULES[policy.write_rule]}; {ladder}{switch}",
        f"  evidence: {isolation.rests_on}",
        grid(["at", "seq", "thread", "what", "latency ms", "rung ms", "earns ms", "effect"], cells),
    ]
    if left_out:
        parts.append(f"  {left_out:,} lines between them are not shown; give --limit 0 for all")
    return "\n".join(parts)


def isolation_json(isolation: Isolation) -> str:
    """As one JSON object, with every line."""
    return json.dumps(asdict(isolation), indent=1, default=lambda value: value.isoformat())
