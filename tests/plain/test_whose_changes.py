"""Whose lines they are, where several clients rebalance at once: by results alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.allocation.logs.events import Event
from jobs.allocation.logs.whose_changes import whose_changes
from udfs.strategy import Queue

A0: Queue = ("a", 0)
QUEUES: list[Queue] = [("a", 0), ("a", 1), ("b", 0)]


def added(queue: Queue = A0) -> Event:
    return Event("ADDED", queues=(queue,))


def removed(queue: Queue = A0) -> Event:
    return Event("REMOVED", queues=(queue,))


def shows(client: str, *queues: Queue, at_ms: int = 0) -> Event:
    return Event("ALLOCATED", at_ms, queues=queues, client_id=client)


def turn(event: str, client: str) -> Event:
    return Event(event, client_id=client)


DROPPED = Event("DROPPED", queues=(A0,))


@pytest.mark.parametrize(
    ("lines", "before", "expected"),
    [
        pytest.param([added(), shows("x", A0), removed(), shows("x")], {}, "xxxx", id="one client"),
        pytest.param([added(), shows("x")], {}, "-x", id="taken by one whose result lacks it"),
        pytest.param([added(), shows("y", A0)], {"y": [A0]}, "-y", id="by one who has it already"),
        pytest.param([removed(), shows("x", A0)], {}, "-x", id="given up by one that nobody knows"),
        pytest.param([removed(), added(), shows("y", A0), shows("x")], {"x": [A0]}, "xyyx", id="handed over"),
        pytest.param([added(), removed(), shows("y", A0), shows("x")], {"x": [A0]}, "yxyx", id="taken first"),
        pytest.param(
            [added(), added(), added(), shows("x", A0), shows("y", A0), shows("z", A0)], {}, "xyzxyz", id="all at once"
        ),
        pytest.param(
            [removed(), shows("x", A0), removed(), shows("z"), shows("y")],
            {"x": [A0], "y": [A0], "z": [A0]},
            "zxyzy",
            id="of three holders",
        ),
        pytest.param([DROPPED, added(), shows("x", A0)], {"x": [A0]}, "xxx", id="dropped and taken again"),
        pytest.param(
            [DROPPED, added(), shows("y", A0)], {"x": [A0], "y": [A0]}, "yyy", id="dropped by one of two, who shows it"
        ),
        pytest.param(
            [added(), DROPPED, added(), shows("y", A0), shows("z", A0)],
            {"y": [A0]},
            "zyyyz",
            id="dropped and taken again after another had taken it",
        ),
        pytest.param(
            [added(), DROPPED, added(), shows("y", A0), shows("z", A0)],
            {"x": [A0], "y": [A0]},
            "zyyyz",
            id="dropped by one of two and taken again after a third had taken it",
        ),
        pytest.param(
            [DROPPED, shows("y", A0), added(), shows("y", A0)],
            {"x": [A0], "y": [A0]},
            "-y-y",
            id="dropped before the last result of who shows it still",
        ),
        pytest.param(
            [added(), DROPPED, shows("y", A0), shows("z", A0)],
            {"x": [A0], "y": [A0]},
            "z-yz",
            id="dropped by another than who shows it: nothing was taken since",
        ),
        pytest.param([shows("x", A0), removed()], {}, "x-", id="shown, but the lock was not granted"),
        pytest.param([turn("STOPPED", "x"), removed()], {"x": [A0], "y": [A0]}, "xy", id="one of two has stopped"),
        pytest.param([added(), turn("STOPPED", "x"), added(), shows("x", A0)], {}, "-xxx", id="taken before its end"),
        pytest.param([added(), turn("BEGUN", "x"), added(), shows("x", A0)], {}, "-xxx", id="taken before its start"),
        pytest.param([added(), shows("x", A0, at_ms=300_000)], {}, "xx", id="taken five minutes before the result"),
        pytest.param([added(), shows("x", A0, at_ms=300_001)], {}, "-x", id="and a millisecond more"),
        pytest.param([turn("BEGUN", "x"), removed()], {"x": [A0], "y": [A0]}, "xy", id="one of two begins again"),
        pytest.param(
            [DROPPED, added(), shows("x", A0)],
            {"y": [A0], "z": [A0]},
            "-xx",
            id="dropped by one of two, and taken by a third",
        ),
        pytest.param(
            [DROPPED, shows("x", A0), added(), shows("y", A0)],
            {"x": [A0], "y": [A0]},
            "yxyy",
            id="dropped by the other of two",
        ),
        pytest.param([], {"x": [A0]}, "", id="nothing"),
    ],
)
def test_whose_line_it_is(lines: list[Event], before: dict[str, list[Queue]], expected: str) -> None:
    assert whose_changes(lines, before) == [None if each == "-" else each for each in expected]


@st.composite
def rebalances(draw: st.DrawFn) -> tuple[list[Event], dict[str, set[Queue]]]:
    """Lines of clients that rebalance at once, each one after the other for itself; and what each holds at the end."""
    waiting: dict[str, list[Event]] = {client: [] for client in "xyz"}
    ends: dict[str, set[Queue]] = {}
    for client, said in waiting.items():
        holds: set[Queue] = set()
        for result in draw(st.lists(st.sets(st.sampled_from(QUEUES)), max_size=4)):
            if result != holds:
                said += [removed(queue) for queue in sorted(holds - result)]
                said += [added(queue) for queue in sorted(result - holds)]
                said.append(shows(client, *sorted(result)))
                holds = result
        ends[client] = holds
    mixed = []
    while any(waiting.values()):
        mixed.append(waiting[draw(st.sampled_from(sorted(client for client in waiting if waiting[client])))].pop(0))
    return mixed, ends


@given(rebalances())
def test_each_ends_with_its_last_result(story: tuple[list[Event], dict[str, set[Queue]]]) -> None:
    lines, expected = story
    held: dict[str, set[Queue]] = {client: set() for client in expected}
    for line, client in zip(lines, whose_changes(lines, {}), strict=True):
        assert client is not None
        if line.event == "ADDED":
            held[client].add(line.queues[0])
        elif line.event == "REMOVED":
            held[client].discard(line.queues[0])
    assert held == expected
