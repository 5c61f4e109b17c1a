"""Which queues a client drops as an administrator resets its offsets, by what it writes of them afterwards."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jobs.allocation.logs.events import Event
from jobs.allocation.logs.resets import with_drops
from tests.given.log_events import added, owned_at_midnight, removed, started, stopped

RESET, SUSPENDED, RESUMED = (Event(each, at_ms, "G", topic) for each, at_ms, topic in (
    ("RESET", 1_000, "T"), ("SUSPENDED", 1_004, None), ("RESUMED", 11_010, None)
))  # fmt: skip


def other(event: str, at_ms: int, queue: int = 0) -> Event:
    return replace(added(at_ms, queue), event=event)


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        pytest.param([added(11_000)], [0], id="taken again"),
        pytest.param([other("PULL_ENDED", 1_050)], [0], id="pulls no more, and never takes it again"),
        pytest.param([other("LOCK_FAILED", 11_000), added(61_000)], [0], id="cannot lock it"),
        pytest.param([other("OFFSET_UNKNOWN", 11_000)], [0], id="cannot read its offset"),
        pytest.param([added(11_000), added(11_001, 1)], [0, 1], id="both"),
        pytest.param([], [], id="no line shows that it was dropped"),
        pytest.param([removed(5_000), added(11_000)], [], id="given up by a rebalance"),
        pytest.param([added(11_000, 2)], [], id="new"),
        pytest.param([added(11_000, group="H"), added(11_000, topic="U")], [], id="another group's, another topic's"),
        pytest.param([replace(added(11_000), popped=True)], [], id="popped"),
        pytest.param([added(121_005)], [], id="too late"),
    ],
)
def test_what_a_reset_drops(after: list[Event], expected: list[int]) -> None:
    lines = with_drops([added(10), added(11, 1), RESET, SUSPENDED, *after, RESUMED], [])
    drops = [each for each in lines if each.event == "DROPPED"]
    assert [each.queue.queue_id for each in drops] == expected
    assert all((each.at_ms, each.consumer_group, each.topic) == (1_004, "G", "T") for each in drops)
    assert [each for each in lines if each.event != "DROPPED"] == [
        added(10),
        added(11, 1),
        RESET,
        SUSPENDED,
        *after,
        RESUMED,
    ]


def test_what_was_owned_at_midnight_is_dropped_too() -> None:
    lines = with_drops([RESET, SUSPENDED, added(11_000)], [owned_at_midnight("x")])
    assert [each.event for each in lines] == ["RESET", "SUSPENDED", "DROPPED", "ADDED"]


def test_what_had_been_given_up_is_not() -> None:
    assert len(with_drops([added(10), removed(20), RESET, SUSPENDED, other("PULL_ENDED", 1_050)], [])) == 5


def test_without_a_line_on_the_suspension_it_is_the_resets() -> None:
    lines = with_drops([added(10), RESET, replace(SUSPENDED, consumer_group="H"), added(11_000)], [])
    assert [(each.event, each.at_ms) for each in lines][1:3] == [("RESET", 1_000), ("DROPPED", 1_000)]


def test_suspended_without_a_reset_nothing_is_dropped() -> None:
    lines = [started(1), added(10), SUSPENDED, RESUMED, added(11_000), stopped(20_000)]
    assert with_drops(lines, []) == lines
