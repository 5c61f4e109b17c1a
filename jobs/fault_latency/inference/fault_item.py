"""One fault item over time, in plain Python: `fault_items.replay` for the few writes of a suspicious stretch."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass

from jobs.fault_latency.fault_items.replay import CARRIED, REMOVE
from udfs.fault_window import FAR_MS
from udfs.policy import Policy


@dataclass(frozen=True)
class WriteRules:
    """How a write counts, by the name of its policy.

    Attributes:
        keeps_latest: policies whose latest end stays (5.1.4 and later); under all others the last write wins.
        gated: policies under which a false reachable flag alone makes the broker not available (5.1.4).
        unordered_within_ms: writes to one item this close together may have run in any order.
    """

    keeps_latest: frozenset[str]
    gated: frozenset[str]
    unordered_within_ms: int

    @classmethod
    def of(cls, policies: Iterable[Policy], unordered_within_ms: int) -> WriteRules:
        """Of every policy that a write may name."""
        known = list(policies)
        return cls(
            frozenset(each.name for each in known if each.write_rule == "MAX"),
            frozenset(each.name for each in known if each.reachable_gates),
            unordered_within_ms,
        )


@dataclass(frozen=True)
class Write:
    """One write to a fault item: the columns of `replay.replay`'s input but for the process, and whose place it takes.

    Attributes:
        first_position: of the write of the first pass that it is, or replaces; None = it is added.
    """

    broker_name: str
    at_ms: int
    step: int
    thread: str | None
    current_latency_ms: int | None
    is_failure: bool | None
    reachable: bool | None
    cause: str | None
    evidence: str | None
    middle_topic: str | None
    middle_after: str | None
    seq: int | None
    started_at_ms: int | None
    invoke_id: int | None
    attempt: int | None
    row_hash: int | None
    policy: str
    profile: str | None
    version: str | None
    dies_at_ms: int | None
    op: str
    not_available_ms: int
    carried_until_ms: int | None
    carried_earliest_ms: int | None
    carried_latest_ms: int | None
    carried_extensions: int | None
    first_position: int | None

    @property
    def written_by_ms(self) -> int:
        """By then it was written: what was carried over midnight on the day before, as `udfs.fault_window.tie` says."""
        return self.at_ms - 1 if self.op == CARRIED else self.at_ms


@dataclass(frozen=True)
class State:
    """A fault item after one write, as `replay.replay` returns it.

    Attributes:
        position: order within the fault item, from 1.
        until_ms: not available before this; its band is `earliest_ms` to `latest_ms`.
        next_at_ms: of the item's next write; None = it is the last.
    """

    last_write: Write
    position: int
    until_ms: int
    earliest_ms: int
    latest_ms: int
    next_at_ms: int | None

    @property
    def at_ms(self) -> int:
        """When it was written."""
        return self.last_write.at_ms

    @property
    def next_or_far_ms(self) -> int:
        """Up to when it stands, as far as writes go."""
        return FAR_MS if self.next_at_ms is None else self.next_at_ms


class FaultItem:
    """The fault item of one broker in one process, after each of its writes."""

    def __init__(self, writes: Iterable[Write], rules: WriteRules) -> None:
        self.states = replayed(writes, rules)
        self._times = [state.at_ms for state in self.states]

    def before(self, at_ms: int) -> State | None:
        """As the last write strictly before that moment left it; None = there was none yet."""
        place = bisect_left(self._times, at_ms)
        return self.states[place - 1] if place else None

    def written_within(self, first_ms: int, last_ms: int) -> list[State]:
        """After each write of these milliseconds, both ends included."""
        return self.states[bisect_left(self._times, first_ms) : bisect_left(self._times, last_ms + 1)]


def replayed(writes: Iterable[Write], rules: WriteRules) -> list[State]:
    """The states of one fault item in the order of its writes; the rules and the order are those of `replay.replay`.

    `LatencyFaultToleranceImpl.updateFaultItem` and `remove` (4.9.8:33-49, 5.1.4:100-120); `tests/spark/test_walk.py`
    holds both replays equal.
    """
    in_order = sorted(writes, key=_place)
    states: list[State] = []
    maximum, is_reachable = 0, True
    ends: list[int] = []
    flags: list[bool] = []
    for number, write in enumerate(in_order):
        if number and write.at_ms - in_order[number - 1].written_by_ms > rules.unordered_within_ms:
            ends, flags = [], []
        written_until = 0
        if write.op == REMOVE:
            maximum, is_reachable = 0, True
        else:
            carried, earned = write.carried_until_ms, write.at_ms + write.not_available_ms
            written_until = earned if carried is None else carried
            if write.not_available_ms > 0 or write.op == CARRIED:
                maximum = max(maximum, written_until)
            is_reachable = is_reachable if write.reachable is None else write.reachable
        keeps_latest, gates = write.policy in rules.keeps_latest, write.policy in rules.gated
        available_at = maximum if keeps_latest else written_until
        until = FAR_MS if gates and not is_reachable else available_at
        ends.append(until)
        flags.append(is_reachable)
        earliest, latest = min(ends), max(ends)
        if keeps_latest:  # no order moves a maximum, but the flag's order counts
            earliest = FAR_MS if gates and not any(flags) else available_at
            latest = FAR_MS if gates and not all(flags) else available_at
        states.append(
            State(
                write,
                number + 1,
                until,
                earliest if write.carried_earliest_ms is None else write.carried_earliest_ms,
                latest if write.carried_latest_ms is None else write.carried_latest_ms,
                in_order[number + 1].at_ms if number + 1 < len(in_order) else None,
            )
        )
    return states


def _place(write: Write) -> tuple[tuple[bool, int], ...]:
    """`udfs.order_of_events.order_of_writes`: `seq` with nulls last, the others with nulls first."""
    seq = (True, 0) if write.seq is None else (False, write.seq)
    after_seq = (write.started_at_ms, write.invoke_id, write.attempt, write.row_hash)
    nulls_first = ((False, 0) if value is None else (True, value) for value in after_seq)
    return ((True, write.at_ms), seq, *nulls_first, (True, write.step))
