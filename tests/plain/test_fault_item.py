"""The fault item in plain Python, write by write: ends and bands in ms, worked out by hand from the client's code.

`tests/spark/test_walk.py` holds it against the windowed replay on drawn writes; these say what each rule is.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from jobs.fault_latency.inference.fault_item import FaultItem, Write, WriteRules, replayed
from tests.given import writes
from udfs.fault_window import FAR_MS

LAST, MAX, GATED = "LAST", "MAX", "GATED"
RULES = WriteRules(keeps_latest=frozenset({MAX, GATED}), gated=frozenset({GATED}), unordered_within_ms=1)
FIELDS = [field.name for field in dataclasses.fields(Write)]


def of(policy: str, *given: writes.Write) -> list[Write]:
    """The writes of one broker under one policy."""
    own: dict[str, Any] = {"broker_name": "b", "policy": policy}
    return [Write(**{**{name: each.get(name) for name in FIELDS}, **own}) for each in given]


write, carried, remove = writes.write, writes.carried, writes.remove


@pytest.mark.parametrize(
    ("policy", "given", "ends"),
    [
        (LAST, [write(1_000, 500), write(1_200), write(1_300, 100)], [1_500, 1_200, 1_400]),
        (LAST, [write(1_000, 500), remove(1_100), write(1_200)], [1_500, 0, 1_200]),
        (LAST, [carried(700), write(300)], [700, 300]),
        (LAST, [write(1_000, 500, reachable=False)], [1_500]),
        (MAX, [write(900), write(1_000, 500), write(1_200), write(1_300, 1), write(1_400, 900)],
         [0, 1_500, 1_500, 1_500, 2_300]),
        (MAX, [write(0, 1)], [1]),
        (MAX, [write(1_000, 500), remove(1_100), write(1_200, 100), write(1_250, 20)], [1_500, 0, 1_300, 1_300]),
        (MAX, [carried(700), write(300, 100), write(650, 100)], [700, 700, 750]),
        (MAX, [write(1_000, 500, reachable=False), write(1_200)], [1_500, 1_500]),
        (GATED, [write(1_000, 500)], [1_500]),
        (GATED, [write(1_000, 500, reachable=None)], [1_500]),
        (GATED, [write(1_000, 500, reachable=False), write(2_000, reachable=None), write(9_000)],
         [FAR_MS, FAR_MS, 1_500]),
        (GATED, [write(1_000, 500, reachable=False), remove(1_100), write(1_200, 100, reachable=None)],
         [FAR_MS, 0, 1_300]),
    ],
)  # fmt: skip
def test_ends(policy: str, given: list[writes.Write], ends: list[int]) -> None:
    states = replayed(of(policy, *given), RULES)
    assert [state.until_ms for state in states] == ends
    assert [state.position for state in states] == list(range(1, len(given) + 1))
    assert [state.next_at_ms for state in states] == [*(each["at_ms"] for each in given[1:]), None]


@pytest.mark.parametrize(
    ("policy", "given", "band"),
    [
        (LAST, [write(1_000), write(1_001, 500)], (1_000, 1_501)),
        (LAST, [write(1_000), write(1_002, 500)], (1_502, 1_502)),
        (LAST, [write(1_000, 900), write(1_001), write(1_002, 500)], (1_001, 1_900)),
        (LAST, [write(990, 900), write(1_001), write(1_002, 500)], (1_001, 1_502)),
        (MAX, [write(1_000, 500), write(1_001)], (1_500, 1_500)),
        (MAX, [write(1_000, 500), write(1_001, reachable=False)], (1_500, 1_500)),
        (GATED, [write(1_000, 500), write(1_001, 300, reachable=False)], (1_500, FAR_MS)),
        (GATED, [write(1_000, 500, reachable=False), write(1_001, 300)], (1_500, FAR_MS)),
        (GATED, [write(1_000, 500, reachable=False), write(1_002, 300, reachable=False)], (FAR_MS, FAR_MS)),
        (GATED, [write(1_000, 500), write(1_001, 300)], (1_500, 1_500)),
        (LAST, [carried(700, carried_earliest_ms=600, carried_latest_ms=800)], (600, 800)),
        (LAST, [carried(700), write(1)], (1, 1)),  # of the day before, so two milliseconds apart
        (LAST, [carried(700), write(0)], (0, 700)),
        (LAST, [carried(700), write(0), write(1)], (0, 700)),
        (LAST, [write(0, 700), write(1)], (1, 700)),
        (GATED, [carried(700, reachable=False), write(1)], (700, 700)),
    ],
)
def test_the_band_of_the_last_write(policy: str, given: list[writes.Write], band: tuple[int, int]) -> None:
    last = replayed(of(policy, *given), RULES)[-1]
    assert (last.earliest_ms, last.latest_ms) == band


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ({"at_ms": 1_000, "seq": None}, {"at_ms": 1_001, "seq": 1}),
        ({"seq": 1}, {"seq": 2}),
        ({"seq": 7}, {"seq": None}),
        ({"seq": None, "started_at_ms": None}, {"seq": None, "started_at_ms": 0}),
        ({"seq": None, "started_at_ms": 1}, {"seq": None, "started_at_ms": 2}),
        ({"invoke_id": 1, "row_hash": 9}, {"invoke_id": 2, "row_hash": 8}),
        ({"attempt": 1, "row_hash": 9}, {"attempt": 2, "row_hash": 8}),
        ({"row_hash": -1, "step": 9}, {"row_hash": 0, "step": 8}),
        ({"step": 1}, {"step": 2}),
    ],
)
def test_the_order(earlier: dict[str, int | None], later: dict[str, int | None]) -> None:
    """What differs first decides: the time, `seq` (without one comes last), the rest (without one comes first)."""
    base = {"at_ms": 1_000, "seq": 5, "row_hash": 3, "invoke_id": 0, "started_at_ms": 0, "attempt": 0, "step": 4}
    first, second = ({**base, **each} for each in (earlier, later))
    pair = of(LAST, write(**second, not_available_ms=2), write(**first, not_available_ms=1))  # type: ignore[arg-type]
    assert [state.last_write.not_available_ms for state in replayed(pair, RULES)] == [1, 2]


def test_an_item_before_a_moment_and_within_some() -> None:
    item = FaultItem(of(LAST, write(1_000, 500), write(1_002), write(1_005)), RULES)
    assert item.before(1_000) is None
    assert [state.at_ms for at_ms in (1_001, 1_002, 1_003, 9_999) if (state := item.before(at_ms))] == [
        1_000, 1_000, 1_002, 1_005,
    ]  # fmt: skip
    assert [state.at_ms for state in item.written_within(1_002, 1_005)] == [1_002, 1_005]
    assert [state.at_ms for state in item.written_within(1_001, 1_004)] == [1_002]
    assert [state.next_or_far_ms for state in item.states] == [1_002, 1_005, FAR_MS]
