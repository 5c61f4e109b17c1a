"""Sends and latency by the second around events: which time, how wide, and the same counts as `broker_windows`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from jobs.answers.events import Event
from jobs.answers.minutes import Minutes, Point, minutes
from jobs.answers.published import Published, open_published
from jobs.answers.window import Window
from jobs.tables import BROKER_WINDOWS, SENDS
from tests.given.hostile_night import NIGHT, START, window
from tests.given.lakes import publish, write_rows

Row = dict[str, Any]
SECOND, MINUTE = 1_000, 60_000


def event(from_ms: int, until_ms: int, answered_ms: int | None = None) -> Event:
    return Event({
        "bad_from_ms": START + from_ms, "last_bad_ms": START + until_ms,
        "bad_until_ms": None if answered_ms is None else START + answered_ms,
    })  # fmt: skip


def send(at_ms: int, broker: str = "a", latency_ms: int = 5, **other: str) -> Row:
    return {
        "event_date": NIGHT, "client_id": "p", "producer_group": "PG", "broker_name": broker, "mode": "SYNC",
        "outcome": "SEND_OK", "ended_at_ms": START + at_ms, "latency_ms": latency_ms, **other,
    }  # fmt: skip


def lake(folder: Path, windows: list[Row], sends: list[Row]) -> Published:
    publish(folder, NIGHT)
    write_rows(folder, BROKER_WINDOWS, windows)
    write_rows(folder, SENDS, sends)
    return open_published(str(folder), None, None, None)


def busy(folder: Path, last_minute: int, step: int = 1) -> Published:
    """One send at the start of every minute, or of every few."""
    there = range(0, last_minute + 1, step)
    return lake(folder, [window(each, "a", sends=1) for each in there], [send(each * MINUTE) for each in there])


def widths(found: Minutes) -> dict[int, list[int]]:
    """Width to the minutes in which points of it begin."""
    by_width: dict[int, list[int]] = {}
    for point in found.all_brokers:
        by_width.setdefault(point.width_ms, []).append((point.start_ms - START) // MINUTE)
    return by_width


SECONDS = [
    *(send(each, latency_ms=each) for each in (1, 2, 3, 4)),
    send(999, latency_ms=10, mode="ASYNC", outcome="FLUSH_DISK_TIMEOUT"),
    send(1_000, latency_ms=99, mode="ONEWAY", outcome="SENT"),
    send(1_999, latency_ms=3_000, outcome="RemotingTimeoutException"),
    send(59_999, latency_ms=7),
    send(500, "b", latency_ms=20),
    send(500, "b", latency_ms=30, mode="ONEWAY", outcome="SENT", producer_group="other"),
    send(501, "b", latency_ms=1, outcome="OfTheSiteException"),
    send(60_000, "b", latency_ms=8),
]
WINDOWS = [
    window(0, "a", sends=8, failures=1, latency_p50_ms=3, latency_p95_ms=10, latency_p99_ms=10, isolated_ms=9),
    window(0, "b", sends=3, failures=1, latency_p50_ms=20, latency_p95_ms=20, latency_p99_ms=20),
    window(1, "b", sends=1, latency_p50_ms=8, latency_p95_ms=8, latency_p99_ms=8),
    window(9, "b", sends=50, latency_p50_ms=6, latency_p95_ms=7, latency_p99_ms=9),
]


def test_seconds_of_a_minute_are_counted_as_the_minute_is(tmp_path: Path) -> None:
    """Of a and b together, what is answered is 1, 2, 3, 4, 10 and 20 ms in the first second; b's is the highest."""
    found = minutes(lake(tmp_path, WINDOWS, SECONDS), 8, [event(1_000, 1_500)])
    of_a = (
        Point(START, SECOND, 5, 0, 3, 10, 10),
        Point(START + 1_000, SECOND, 2, 1, None, None, None),
        Point(START + 59_000, SECOND, 1, 0, 7, 7, 7),
    )
    of_b = (
        Point(START, SECOND, 3, 1, 20, 20, 20),
        Point(START + MINUTE, SECOND, 1, 0, 8, 8, 8),
        Point(START + 9 * MINUTE, MINUTE, 50, 0, 6, 7, 9),
    )
    assert found.of_broker == {"a": of_a, "b": of_b}
    assert found.all_brokers == (Point(START, SECOND, 8, 1, 20, 20, 20), *of_a[1:], *of_b[1:])
    assert found.not_drawn == ()
    for row in WINDOWS:
        of_minute = [
            point
            for point in found.of_broker[row["broker_name"]]
            if 0 <= point.start_ms - row["window_start_ms"] < MINUTE
        ]
        assert sum(point.sends for point in of_minute) == row["sends"]
        assert sum(point.failures for point in of_minute) == row.get("failures", 0)


def test_a_hundred_answers_have_each_percentile_at_its_rank(tmp_path: Path) -> None:
    sends = [send(each, latency_ms=101 - each) for each in range(1, 101)]
    (point,) = minutes(lake(tmp_path, [window(0, "a", sends=100)], sends), 8, [event(0, 0)]).all_brokers
    assert (point.latency_p50_ms, point.latency_p95_ms, point.latency_p99_ms) == (50, 95, 99)


@pytest.mark.parametrize(
    ("trouble", "fine"),
    [
        (event(630_000, 660_000), [10, 11]),  # 10:30 to 11:00: from 10:00 on, and before 12:00
        (event(629_999, 660_001), [9, 10, 11, 12]),
        (event(630_000, 630_001, 661_000), [10, 11, 12]),  # to a minute after the next answer
        (event(630_000, 630_001, 690_001), [10, 11, 12]),  # or after a minute without one
        (event(630_000, 630_001, 3_600_000), [10, 11, 12]),
    ],
)
def test_seconds_are_drawn_from_shortly_before_an_event_to_shortly_after_it(
    tmp_path: Path, trouble: Event, fine: list[int]
) -> None:
    found = widths(minutes(busy(tmp_path, 20), 8, [trouble]))
    assert found == {MINUTE: [each for each in range(21) if each not in fine], SECOND: fine}


def test_a_wider_window_is_cut_whole(tmp_path: Path) -> None:
    """Of two days a window is 2 minutes long."""
    found = widths(minutes(busy(tmp_path, 1_600, 1), 8, [event(630_000, 640_000)]))
    assert (found[SECOND], found[2 * MINUTE][4:7]) == ([10, 11], [8, 12, 14])


@pytest.mark.parametrize(("last_ms", "width_ms"), [(19 * MINUTE - 1, 1_000), (19 * MINUTE + 1, 5_000)])
def test_more_than_twenty_minutes_are_drawn_in_fives(tmp_path: Path, last_ms: int, width_ms: int) -> None:
    found = widths(minutes(busy(tmp_path, 30), 8, [event(0, last_ms)]))
    assert found[width_ms] == list(range((last_ms + MINUTE) // MINUTE + 1))


def test_the_gravest_events_are_drawn_by_the_second_as_far_as_that_fits(tmp_path: Path) -> None:
    """125 minutes are 1,500 fives: of events that need 101, 30 and 24 minutes the second one is left out."""
    troubles = [event(0, 100 * MINUTE - 1), event(150 * MINUTE, 178 * MINUTE), event(200 * MINUTE, 222 * MINUTE)]
    found = minutes(busy(tmp_path, 240), 8, troubles)
    assert widths(found)[5_000] == [*range(101), *range(199, 223)]
    assert found.not_drawn == ("sends and latency by the second around 1 event, less grave or too long",)
    assert sum(point.sends for point in found.all_brokers) == 241


def test_minutes_stay_where_sends_are_not_all_there(tmp_path: Path) -> None:
    """As after their retention: never less is drawn than the minutes say."""
    gone = lake(tmp_path, [window(0, "a", sends=2), window(1, "a", sends=2)], [send(1), send(2), send(MINUTE)])
    found = minutes(gone, 8, [event(31_000, 32_000)])
    assert found.all_brokers == (
        Point(START, SECOND, 2, 0, 5, 5, 5), Point(START + MINUTE, MINUTE, 2, 0, None, None, None),
    )  # fmt: skip
    assert found.not_drawn == (
        "sends and latency by the second around 1 event: the lake does not hold all these sends",
    )


def test_without_any_sends_the_minutes_stay(tmp_path: Path) -> None:
    publish(tmp_path, NIGHT)
    write_rows(tmp_path, BROKER_WINDOWS, WINDOWS)
    published = open_published(str(tmp_path), None, None, None)
    found = minutes(published, 8, [event(1_000, 1_500)])
    assert found.all_brokers == minutes(published, 8).all_brokers
    assert found.not_drawn


def test_seconds_are_of_all_producers_as_minutes_are(tmp_path: Path) -> None:
    whole = lake(tmp_path, WINDOWS, SECONDS)
    assert minutes(replace(whole, producer_group="other"), 8, [event(0, 0)]) == minutes(whole, 8, [event(0, 0)])


def test_a_window_of_time_keeps_to_the_minutes_that_it_touches(tmp_path: Path) -> None:
    """Even if they are part of longer ones: here of 2 minutes, of which the first begins before it."""
    narrow = replace(busy(tmp_path, 1_601), window=Window(START + MINUTE, START + 1_602 * MINUTE))
    found = minutes(narrow, 8, [event(30_000, 30_000)])
    assert widths(found)[SECOND] == [1]
    assert (found.not_drawn, sum(point.sends for point in found.all_brokers)) == ((), 1_601)
