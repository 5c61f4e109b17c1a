"""What one process's log shows where several groups, or several clients of one group, have the same queue."""

from __future__ import annotations

from dataclasses import replace

from tests.given.log_events import (
    added,
    client_made,
    holdings,
    of_kind,
    owned_at_midnight,
    removed,
    result,
    started,
    walked,
)


def test_a_queue_that_two_groups_consume_is_owned_once_in_each() -> None:
    lines = [started(1), client_made(1, "x"), started(2, "H"), added(3), added(4, group="H")]
    owned = of_kind(walked(lines, idle=[9]), "HOLDING")
    assert [(row["consumer_group"], row["client_id"], row["start_ms"], row["end_ms"]) for row in owned] == [
        ("G", "x", 3, 9), ("H", "x", 4, 9)
    ]  # fmt: skip


def test_a_client_that_took_nothing_since_its_last_result_has_dropped_nothing() -> None:
    """What was taken before that is a third client's; y is the one that dropped the queue, and took it again."""
    lines = [
        *[added(1), result(2, "x", 0), result(3, "y", 0)],
        *[replace(removed(4), event="DROPPED"), result(5, "x", 0)],
        *[added(6), result(7, "y", 0), result(8, "z", 0)],
    ]
    day = walked(lines, opening=[owned_at_midnight("x"), owned_at_midnight("y")], idle=[9])
    assert holdings(day) == [("x", 0, 0, 9), ("y", 0, 0, 4), ("y", 0, 6, 9), ("z", 0, 1, 9)]


def test_a_queue_taken_is_of_no_client_that_wrote_a_result_without_it_since() -> None:
    """x is allotted it later, and does not get it yet: y took it, and is slower to write its result."""
    lines = [added(1), result(2, "x", 1), result(3, "x", 0, 1), result(4, "y", 0)]
    assert holdings(walked(lines, opening=[owned_at_midnight("x", 1)], idle=[9])) == [("x", 1, 0, 9), ("y", 0, 1, 9)]
