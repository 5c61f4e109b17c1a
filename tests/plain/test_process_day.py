"""What one process's log shows of its consumers: who lived when, under which client, and what it owned."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jobs.allocation.logs.events import Event
from jobs.allocation.logs.lives import numbered
from tests.given.log_events import (
    END_MS,
    added,
    client_made,
    client_stopped,
    holdings,
    lifetimes,
    of_kind,
    owned_at_midnight,
    ready,
    removed,
    result,
    started,
    stopped,
    walked,
)


def killed_and_started_at(at_ms: int) -> list[Event]:
    """It is killed after 50 s; the client of the next process is made at 100 s."""
    of_first = [started(1_000), client_made(1_000, "x"), added(2_000)]
    return [*of_first, started(at_ms), client_made(100_000, "y"), added(100_500)]


def test_a_killed_process_ends_at_its_last_line() -> None:
    day = walked(killed_and_started_at(95_000), idle=[50_000])
    assert lifetimes(day) == [("x", 1_000, 50_000, False), ("y", 95_000, 100_500, False)]
    assert holdings(day) == [("x", 0, 2_000, 50_000)]


def test_a_consumer_that_took_leave_of_its_brokers_stopped() -> None:
    """The process ended before the line of the stop; the consumer lived until the last line."""
    leave = Event("UNREGISTERED", 48_000, "G")
    day = walked([started(1_000), client_made(1_000, "x"), added(2_000), leave], idle=[50_000])
    assert lifetimes(day) == [("x", 1_000, 50_000, True)]
    assert holdings(day) == [("x", 0, 2_000, 50_000)]


def test_two_consumers_of_one_process_that_took_leave_stopped() -> None:
    leave = [Event("UNREGISTERED", 48_000, "G"), Event("UNREGISTERED", 48_100, "G")]
    lines = [
        started(1_000), client_made(1_000, "x"), started(1_500), client_made(1_500, "y", 1),
        result(2_000, "x", 0), added(2_000), result(2_100, "y", 1), added(2_100, 1),
    ]  # fmt: skip
    assert lifetimes(walked([*lines, *leave], idle=[50_000])) == [
        ("x", 1_000, 50_000, True),
        ("y", 1_500, 50_000, True),
    ]
    assert lifetimes(walked(lines, idle=[50_000])) == [("x", 1_000, 50_000, False), ("y", 1_500, 50_000, False)]


def test_a_start_more_than_five_seconds_before_the_first_client_is_of_the_process_before() -> None:
    """Then two run at once in that one, and no result says whose the queue is."""
    day = walked(killed_and_started_at(94_999), idle=[50_000, 110_000])
    assert lifetimes(day) == [("y", None, 110_000, False)]
    assert holdings(day) == [("y", 0, 100_500, 110_000)]


def test_a_process_that_ends_in_the_millisecond_of_the_next_ones_start_has_no_line_of_its_own() -> None:
    lines = [started(1_000), client_made(1_000, "x"), added(1_000), started(1_000), client_made(1_000, "y")]
    day = walked(lines, idle=[500, 3_000])
    assert lifetimes(day) == [("x", 1_000, 0, False), ("y", 1_000, 3_000, False)]
    assert holdings(day) == []


@pytest.mark.parametrize(
    ("last_ms", "expected"),
    [
        (END_MS - 60_001, ("x", 1_000, END_MS - 60_001, False)),
        (END_MS - 60_000, ("x", 1_000, END_MS, False)),
        (END_MS - 1, ("x", 1_000, END_MS, False)),
    ],
)
def test_a_process_that_spoke_in_the_last_minute_goes_on(last_ms: int, expected: tuple[str, int, int, bool]) -> None:
    day = walked([started(1_000), client_made(1_000, "x"), added(2_000)], idle=[last_ms])
    assert lifetimes(day) == [expected]
    assert holdings(day) == [("x", 0, 2_000, expected[2])]


def test_one_that_the_next_process_follows_in_the_last_minute_does_not() -> None:
    near = END_MS - 30_000
    day = walked([started(1_000), client_made(1_000, "x"), client_made(near + 10, "y"), ready(near + 10)], idle=[near])
    assert lifetimes(day) == [("x", 1_000, near, False), ("y", near + 10, END_MS, False)]


def test_what_was_owned_at_midnight_by_a_process_that_wrote_nothing_ends_then() -> None:
    day = walked([], opening=[owned_at_midnight("x")])
    assert (lifetimes(day), holdings(day)) == ([("x", 0, 0, False)], [])


def test_what_was_owned_at_midnight_is_owned_on() -> None:
    opening = [owned_at_midnight("x"), owned_at_midnight("x", 1)]
    day = walked([removed(10_000), added(10_000, 2)], opening=opening, idle=[30_000])
    assert lifetimes(day) == [("x", 0, 30_000, False)]
    assert holdings(day) == [("x", 0, 0, 10_000), ("x", 1, 0, 30_000), ("x", 2, 10_000, 30_000)]


def test_not_by_the_process_that_follows() -> None:
    day = walked([client_made(20_000, "y"), ready(20_000)], opening=[owned_at_midnight("x")], idle=[10_000, 30_000])
    assert lifetimes(day) == [("x", 0, 10_000, False), ("y", 20_000, 30_000, False)]
    assert holdings(day) == [("x", 0, 0, 10_000)]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param([started(1), client_made(2, "x", 1)], [("x", 1)], id="the next client"),
        pytest.param([client_made(1, "x", 1), ready(2)], [("x", 2)], id="a lite one's just before"),
        pytest.param([started(1), started(1, "H"), client_made(2, "x", 1)], [("x", 1)] * 2, id="the only one, shared"),
        pytest.param(
            [started(1), started(1, "H"), client_made(2, "x", 1), client_made(3, "y", 2)],
            [("x", 1)],
            id="of two that start at once the second's",
        ),
        pytest.param(
            [client_made(1, "x", 1), ready(2), ready(2, "H"), client_made(3, "y", 2)], [("x", 2)], id="the first's"
        ),
        pytest.param(
            [started(1), client_made(1, "x", 1), stopped(2), client_made(3, "y", 2)], [("x", 1)], id="not one after it"
        ),
        pytest.param(
            [client_made(1, "x", 1), client_made(1, "y", 2), started(2)], [], id="one before only of a lite one"
        ),
    ],
)
def test_which_client_was_made_for_a_consumer(lines: list[Event], expected: list[tuple[str, int]]) -> None:
    found = [(client, begun_ms) for client, begun_ms, _, _ in lifetimes(walked(lines, idle=[9]))]
    assert found == expected


MADE, CREATED = [started(1), client_made(1, "made", 1)], [client_made(1, "created", 1)]
CARRIED = [owned_at_midnight("carried", 1)]


@pytest.mark.parametrize(
    ("opening", "lines", "expected"),
    [
        pytest.param([], [*MADE, added(2), result(3, "shown", 0)], "shown", id="results before the client made"),
        pytest.param(CARRIED, [*CREATED, added(2), result(3, "carried", 0)], "carried", id="results and 00:00 agree"),
        pytest.param(CARRIED, [*CREATED, added(2)], "carried", id="00:00 before the only client created"),
        pytest.param(CARRIED, [*CREATED, stopped(2), *MADE], "carried", id="and before one made later"),
        pytest.param([], [*MADE, client_made(2, "other", 2), added(2)], "made", id="the client made before others"),
        pytest.param([], [*CREATED, added(2)], "created", id="the only client created"),
    ],
)
def test_names_of_a_client_have_an_order(opening: list[Event], lines: list[Event], expected: str) -> None:
    """Two names that results and 00:00 give are of two clients: see below."""
    assert lifetimes(walked(lines, opening=opening))[0][0] == expected
    by_settings = [replace(each, said_client_id="said") for each in lines]
    assert lifetimes(walked(by_settings, opening=opening))[0][0] == "said"


def test_of_two_clients_created_nobody_is_the_consumers() -> None:
    lines = [client_made(1, "x", 1), client_made(1, "y", 2), added(2)]
    assert lifetimes(walked(lines)) == []


def test_one_that_ran_before_the_first_line_may_stop_without_a_start() -> None:
    lines = [added(1), result(1, "x", 0), stopped(10), started(20), client_made(20, "y", 1), added(21), stopped(30)]
    day = walked(lines, idle=[40])
    assert lifetimes(day) == [("x", None, 10, True), ("y", 20, 30, True)]
    assert holdings(day) == [("x", 0, 1, 10), ("y", 0, 21, 30)]


def test_groups_of_one_process_live_by_themselves() -> None:
    lines = [started(1), client_made(1, "x", 1), started(2, "H"), added(3), added(3, 1, "H"), stopped(5, "H")]
    day = walked(lines, idle=[9])
    assert lifetimes(day) == [("x", 1, 9, False), ("x", 2, 5, True)]
    assert [row["consumer_group"] for row in of_kind(day, "LIFETIME")] == ["G", "H"]
    assert holdings(day) == [("x", 0, 3, 9), ("x", 1, 3, 5)]


def test_a_queue_added_twice_is_owned_from_the_first_line_on() -> None:
    lines = [started(1), client_made(1, "x", 1), added(2), added(3), removed(5), removed(6), added(7), added(8, 1)]
    assert holdings(walked(lines, idle=[9])) == [("x", 0, 2, 5), ("x", 0, 7, 9), ("x", 1, 8, 9)]


def test_a_queue_popped_is_another_than_the_one_pulled() -> None:
    popped = [replace(each, popped=True) for each in (added(3), removed(4))]
    lines = [started(1), client_made(1, "x", 1), added(2), *popped]
    assert holdings(walked(lines, idle=[9])) == [("x", 0, 2, 9), ("x", 0, 3, 4)]


TWO = [started(1), client_made(1, "x"), started(2), client_made(2, "y", 1)]


def test_results_show_which_of_two_clients_owns_a_queue() -> None:
    lines = [*TWO, added(3), added(3, 1), result(4, "y", 1), result(5, "x", 0), removed(6, 1), result(6, "y")]
    day = walked(lines, idle=[9])
    assert lifetimes(day) == [("x", 1, 9, False), ("y", 2, 9, False)]
    assert holdings(day) == [("x", 0, 3, 9), ("y", 1, 3, 6)]


def test_results_of_one_topic_say_nothing_of_another() -> None:
    lines = [*TWO, added(3), added(3, topic="U"), result(4, "x", 0), result(5, "y", 0, topic="U")]
    day = walked(lines, idle=[9])
    assert [(row["topic"], row["client_id"]) for row in of_kind(day, "HOLDING")] == [("T", "x"), ("U", "y")]


@pytest.mark.parametrize(
    ("opening", "lines"),
    [
        pytest.param([], [added(3), result(4, "x", 0), result(5, "y", 0)], id="by results"),
        pytest.param(
            [owned_at_midnight("y", 1)], [added(3), result(4, "x", 0)], id="by what another owned at midnight"
        ),
    ],
)
def test_two_clients_that_began_before_the_first_line(opening: list[Event], lines: list[Event]) -> None:
    assert ("x", 0, 3, 9) in holdings(walked(lines, opening=opening, idle=[9]))


def test_clients_that_follow_one_another_are_not_concurrent() -> None:
    lines = [added(1), result(2, "x", 0), stopped(3), started(4), added(5), result(5, "y", 0)]
    assert holdings(walked(lines, idle=[9])) == [("x", 0, 1, 3), ("y", 0, 5, 9)]


def test_each_of_two_clients_may_stop_and_start_again() -> None:
    lines = [
        *[*TWO, added(3), result(4, "x", 0)],
        *[client_stopped(5, "x"), stopped(5), started(6), client_made(6, "x", 2), added(7), result(7, "x", 0)],
    ]
    day = walked(lines, idle=[9])
    assert sorted(lifetimes(day), key=str) == [("x", 1, 5, True), ("x", 6, 9, False), ("y", 2, 9, False)]
    assert holdings(day) == [("x", 0, 3, 5), ("x", 0, 7, 9)]


def test_what_two_clients_owned_at_midnight() -> None:
    opening = [owned_at_midnight("x"), owned_at_midnight("y", 1)]
    lines = [removed(3), result(4, "x"), client_stopped(5, "y"), stopped(5)]
    day = walked(lines, opening=opening, idle=[9])
    assert lifetimes(day) == [("x", 0, 9, False), ("y", 0, 5, True)]
    assert holdings(day) == [("x", 0, 0, 3), ("y", 1, 0, 5)]


@pytest.mark.parametrize(
    ("client_stops_ms", "consumer_stops_ms", "expected"),
    [
        (5_000, 5_000, [("x", 0, 3, 5_000)]),
        (5_000, 6_000, [("x", 0, 3, 5_000)]),
        (5_000, 6_001, []),
        (5_001, 5_000, []),
    ],
)
def test_a_consumer_stops_within_a_second_of_its_client(
    client_stops_ms: int, consumer_stops_ms: int, expected: list[tuple[str, int, int, int]]
) -> None:
    """Else another group still used the client, and nobody knows which of the two consumers it was."""
    lines = [*TWO, added(3), result(4, "x", 0), client_stopped(client_stops_ms, "x"), stopped(consumer_stops_ms)]
    in_order = sorted(lines, key=lambda each: each.at_ms)
    assert holdings(walked(in_order, idle=[9_000])) == expected


@pytest.mark.parametrize(
    "more",
    [
        pytest.param([stopped(5)], id="a consumer stops, and no client"),
        pytest.param([client_stopped(5, "x")], id="a client stops, and no consumer"),
        pytest.param([result(5, "z", 1)], id="a client of another process"),
    ],
)
def test_a_log_that_is_not_clear_shows_nothing(more: list[Event]) -> None:
    day = walked([*TWO, added(3), result(4, "x", 0), *more], idle=[9])
    assert (lifetimes(day), holdings(day)) == ([], [])


def test_queues_taken_without_a_result_show_nothing() -> None:
    assert lifetimes(walked([*TWO, added(3)])) == []
    assert lifetimes(walked([*TWO, removed(3)])) == [("x", 1, 3, False), ("y", 2, 3, False)]


def test_a_silence_is_longer_than_ten_seconds() -> None:
    day = walked([added(1_000)], idle=[11_000, 21_001, 21_002])
    assert of_kind(day, "SILENCE") == [{"kind": "SILENCE", "start_ms": 11_000, "end_ms": 21_001}]


def test_a_second_start_is_of_the_life_that_runs() -> None:
    """Two clients run from then on; the life is the group's until the last of them stops."""
    lines = [started(1), client_made(1, "x", 1), added(2), started(3), stopped(4), removed(5)]
    assert holdings(walked([*lines, result(5, "x")], idle=[9])) == []
    assert numbered(lines[:1] + lines[3:5], []) == [(1, 1), (1, 2), (1, 1)]


def test_a_client_of_midnight_and_one_that_starts_are_two() -> None:
    lines = [started(1), client_made(1, "y", 1), added(2, 1), result(3, "y", 1)]
    assert holdings(walked(lines, opening=[owned_at_midnight("x")], idle=[9])) == [("x", 0, 0, 9), ("y", 1, 2, 9)]


def test_which_of_them_stops_is_not_known() -> None:
    lines = [started(1), client_made(1, "y", 1), stopped(5)]
    assert lifetimes(walked(lines, opening=[owned_at_midnight("x")], idle=[9])) == []


def test_a_result_of_another_than_owned_at_midnight_is_of_a_second_client() -> None:
    lines = [added(2, 1), result(3, "y", 1), removed(4)]
    assert holdings(walked(lines, opening=[owned_at_midnight("x")], idle=[9])) == [("x", 0, 0, 4), ("y", 1, 2, 9)]


def test_a_restarted_consumer_owns_nothing_from_midnight() -> None:
    lines = [stopped(2), started(3), client_made(3, "x", 1)]
    day = walked(lines, opening=[owned_at_midnight("x")], idle=[9])
    assert lifetimes(day) == [("x", 0, 2, True), ("x", 3, 9, False)]
    assert holdings(day) == [("x", 0, 0, 2)]


def test_what_comes_after_a_stop_is_owned_no_more() -> None:
    lines = [started(1), client_made(1, "x", 1), added(2), stopped(3), stopped(4), removed(6), added(7, 1)]
    day = walked(lines, idle=[9])
    assert lifetimes(day) == [("x", 1, 4, True)]
    assert holdings(day) == [("x", 0, 2, 4)]


def test_a_client_that_only_owned_at_midnight_lives_on_beside_another() -> None:
    lines = [*TWO, added(3, 1), result(4, "y", 1)]
    opening = [owned_at_midnight("x"), owned_at_midnight("z", 2)]
    in_first = [each for each in lines if each.event != "INSTANCE"]
    assert lifetimes(walked(in_first, opening=opening, idle=[9]))[:2] == [("x", 0, 9, False), ("z", 0, 9, False)]


def test_the_end_of_another_groups_client_changes_nothing() -> None:
    lines = [*TWO, added(3), result(4, "x", 0), client_stopped(5, "other")]
    assert holdings(walked(lines, idle=[9])) == [("x", 0, 3, 9)]


def test_what_was_owned_of_one_topic_says_nothing_of_another() -> None:
    """The queue of U is new to x, though x owned the one of T."""
    opening = [owned_at_midnight("x"), owned_at_midnight("y", 1)]
    lines = [added(4, topic="U"), result(5, "x", 0, topic="U")]
    owned = of_kind(walked(lines, opening=opening, idle=[9]), "HOLDING")
    assert [(row["client_id"], row["start_ms"], row["end_ms"]) for row in owned if row["topic"] == "U"] == [("x", 4, 9)]


def test_a_process_that_still_names_its_client_did_not_end_when_another_began_in_its_log() -> None:
    """Then results say whose a queue is, and each client is seen until it is named last."""
    lines = [started(1), client_made(1, "x"), added(2), result(3, "x", 0), started(10_000), client_made(10_000, "y")]
    lines += [added(10_001, 1), result(10_002, "y", 1), removed(20_000, 0), result(20_001, "x")]
    day = walked(lines, named={"x": 30_000}, idle=[40_000])
    assert lifetimes(day) == [("x", 1, 30_000, False), ("y", 10_000, 10_002, False)]
    assert holdings(day) == [("x", 0, 2, 20_000), ("y", 1, 10_001, 10_002)]


def test_a_client_that_the_next_process_makes_too_names_itself_there() -> None:
    lines = [started(1), client_made(1, "x"), added(2), started(10_000), client_made(10_000, "x"), added(10_001)]
    day = walked(lines, named={"x": 30_000}, idle=[50])
    assert holdings(day) == [("x", 0, 2, 50), ("x", 0, 10_001, 30_000)]
