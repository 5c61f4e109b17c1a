"""The life of a fault item line by line: its published changes, recorded updates and attempts, and what each did."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from jobs.answers.words import clock_time
from jobs.kinds import Evidence
from udfs.ladder import plain_isolation_ms
from udfs.plain_outcome import ANSWERS, REMOTING, SENT
from udfs.policy import Policy

Row = Mapping[str, Any]

CHANGE = (
    *("seq", "changed_at_ms", "position", "change", "cause", "evidence", "current_latency_ms", "not_available_ms"),
    *("available_at_ms", "reachable"),
)
UPDATE = ("seq", "current_latency_ms", "not_available_ms", "called_at_ms", "op", "thread")
ATTEMPT = (
    *("seq", "ended_at_ms", "submitted_at_ms", "latency_ms", "thread", "mode", "outcome", "cause"),
    *("queue_chosen_by", "fault_latency_enabled"),
)
"""Columns of each table that `lines_of` reads."""
AROUND_MS = 1_000
"""Changes so long before and after an isolation are shown too; lines that changed nothing only `_NEAR_MS`."""
_NEAR_MS = 50
MAX = "MAX"
COULD_NOT = "could not move the end"
_UNSAID = "no published change is of it: two threads wrote at once, or settings say that the caller chose the queue"


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
        places: rows of logs that may be it, `file:row`; empty without logs.
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
    places: tuple[str, ...] = ()


def lines_of(
    row: Row, changes: Sequence[Row], attempts: Sequence[Row], updates: Sequence[Row], policy: Policy
) -> tuple[Line, ...]:
    """Every line about a fault item, in order of time.

    Args:
        row: of `isolation_intervals`, an isolation of the item.
        changes: of `fault_item_changes`, of the item, in order; those far from the isolation are left out.
        attempts: of `sends`, of the process at the broker.
        updates: of `fault_item_updates`, of the item; where there are any, they and not the attempts say what was
            written.
        policy: rules of the item; an empty ladder is not known.
    """
    recorded = {_key(update): update for update in updates}
    sent = {_key(attempt): attempt for attempt in attempts}
    by_record = {_key(change) for change in changes if change["evidence"] == Evidence.RECORDED}
    by_line = {(_key(change), change["changed_at_ms"]) for change in changes if change["evidence"] != Evidence.RECORDED}
    lines = [
        *(
            _changed(change, (recorded if change["evidence"] == Evidence.RECORDED else sent).get(_key(change)), policy)
            for change in changes
        ),
        *(_update(update, policy) for update in updates if _key(update) not in by_record),
        *(
            _attempt(attempt, row, policy, is_recorded=bool(updates))
            for attempt in attempts
            if (_key(attempt), attempt["ended_at_ms"]) not in by_line
        ),
    ]
    near, around = (range(row["start_ms"] - ms, row["end_ms"] + ms + 1) for ms in (_NEAR_MS, AROUND_MS))
    shown = [line for line in lines if line.at_ms in (around if line.change else near)]
    return tuple(_with_effects(sorted(shown, key=lambda line: (line.at_ms, line.seq is None, line.seq)), row, policy))


def _key(row: Row) -> tuple[int, ...]:
    """What joins a change to its line: `seq`, else time and latency."""
    if row["seq"] is not None:
        return (row["seq"],)
    at_ms = next(row[name] for name in ("changed_at_ms", "called_at_ms", "ended_at_ms") if name in row)
    return at_ms, row["latency_ms"] if "latency_ms" in row else row["current_latency_ms"]


def _changed(change: Row, source: Row | None, policy: Policy) -> Line:
    """A published change, with the line that it comes from where that is of the broker."""
    by_latency = change["cause"] in {"LATENCY", "DETECTOR"}
    looked_up = change["current_latency_ms"] if by_latency else policy.failure_latency_ms
    if source is None:
        what = f"{change['cause']}, {change['evidence']}"
    elif "op" in source:
        what = f"recorded {source['op']}, {change['cause']}"
    else:
        of_submit = change["changed_at_ms"] == source["submitted_at_ms"] != source["ended_at_ms"]
        part = "failed try inside " if change["cause"] == "HIDDEN_RETRY" else "submit call of " if of_submit else ""
        what = f"{part}{source['mode']} {source['outcome']}"
    return Line(
        change["changed_at_ms"],
        change["seq"],
        None if source is None else source["thread"],
        what,
        change["current_latency_ms"],
        *_rung(change["not_available_ms"], policy, looked_up),
        change["not_available_ms"],
        change["change"],
        change["available_at_ms"] if change["change"] in {"OPENED", "EXTENDED"} else None,
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
    return Line(
        update["called_at_ms"],
        update["seq"],
        update["thread"],
        f"recorded {update['op']}",
        latency,
        *_rung(earned, policy, latency or 0, policy.failure_latency_ms),
        earned,
        None,
        None,
        effect,
    )


def _attempt(attempt: Row, row: Row, policy: Policy, *, is_recorded: bool) -> Line:
    """An attempt without a published change."""
    looked_up, effect = _looked_up(attempt, row, policy)
    known = looked_up is not None and bool(policy.ladder.floors_ms)
    earned = plain_isolation_ms(looked_up or 0, policy.ladder) if known else None
    if is_recorded:
        effect = "wrote what is recorded"
    elif looked_up is not None and not known:
        effect = "the producer's ladder is not known"
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
        *_rung(earned, policy, *([looked_up or 0] if known else [])),
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


def _rung(earned_ms: int | None, policy: Policy, *asked_ms: int) -> tuple[int | None, int | None]:
    """The first latency for which the ladder gives what was earned, and the floor that it reached; None = none."""
    asked = next((ms for ms in asked_ms if plain_isolation_ms(ms, policy.ladder) == earned_ms), None)
    return asked, next((floor for floor, _ in policy.ladder.rungs if asked is not None and asked >= floor), None)


def _with_effects(lines: Sequence[Line], row: Row, policy: Policy) -> Iterator[Line]:
    """The lines, each with what it did to the end that stood before it."""
    until = row["end_ms"] if row["continued_from_previous_day"] else 0
    for line in lines:
        yield replace(line, effect=line.effect or _effect(line, until, policy))
        if line.change:
            until = line.until_ms or 0


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
    if policy.write_rule == MAX and own_end <= max(until_ms, line.at_ms):
        why = f"MAX keeps the later one, and {clock_time(own_end)} is not later"
        return f"{COULD_NOT}: {why if earned else 'under MAX a write that earns nothing does not count'}"
    if not earned and until_ms <= line.at_ms:
        return "nothing to end: the broker was available"
    return "set the same end" if own_end == until_ms else _UNSAID
