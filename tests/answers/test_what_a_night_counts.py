"""What a report counts, puts in order and leaves out, in lakes small enough to count by hand."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from jobs.answers.causes import OTHER, SLOW
from jobs.answers.minutes import MOST_POINTS, Point, minutes
from jobs.answers.night import MOST_EVENTS, MOST_FINDINGS, NIGHTS_BEFORE, Day, headline, night
from jobs.answers.published import Published, open_published
from jobs.answers.report import render
from jobs.answers.timeline import MOST_BROKERS, MOST_PRODUCERS, isolation_hover, timeline
from jobs.answers.words import percent, safe_cell, unsure_text
from jobs.tables import (
    ALLOCATION_FINDINGS,
    BROKER_WINDOWS,
    EVENTS,
    FINDINGS,
    GROUP_EVENTS,
    ISOLATION_INTERVALS,
    PRODUCER_DAYS,
    REBALANCES,
    SEND_CALLS,
    Table,
)
from tests.given.hostile_night import BEFORE, NIGHT, START, isolation, window
from tests.given.lakes import publish, write_rows

WHERE = {"event_date": NIGHT, "cluster": "main"}


def lake_of(folder: Path, table: Table, *rows: dict[str, Any]) -> Published:
    publish(folder, NIGHT)
    write_rows(folder, table, [WHERE | row for row in rows])
    return open_published(str(folder), None, None, None)


@pytest.mark.parametrize(
    ("column", "value", "with_day", "text"),
    [
        ("end_ms", START + 86_400_000, False, "24:00:00.000"),  # a day ends at 24:00 of itself
        ("end_ms", START, False, "24:00:00.000"),
        ("end_ms", START + 86_400_000, True, "2026-03-03 00:00:00.000"),
        ("end_ms", START + 1, False, "00:00:00.001"),
        ("start_ms", START, False, "00:00:00.000"),
        ("moved_at_ms", START, False, "00:00:00.000"),
        ("isolated_ms", 1_200, False, "1,200"),
        ("sends", 0, False, "0"),
        ("enforced", True, False, "yes"),
        ("enforced", False, False, "no"),
        ("left", [], False, "–"),
        ("left", None, False, "–"),
        ("topic", "a", False, "a"),
        ("from_ms", START, False, "00:00:00.000"),
        ("until_ms", START, False, "24:00:00.000"),
        ("sentence", "so it is: " * 15, False, "so it is: " * 15),
        ("topic", "so it is: " * 15, False, f"{'so it is: ' * 4}so it is:…o it is: {'so it is: ' * 4}"),
    ],
)
def test_a_cell(column: str, value: object, text: str, *, with_day: bool) -> None:
    assert safe_cell(column, value, with_day=with_day) == text


@pytest.mark.parametrize(
    ("part", "whole", "text"),
    [
        (1, 10, "10 %"),
        (99, 1000, "9.9 %"),
        (5, 100, "5 %"),
        (995, 10_000, "9.9 %"),
        (1, 8, "12 %"),
        (0, 5, "0 %"),
        (5, 0, "0 %"),
        (10, 10, "100 %"),
    ],
)
def test_a_share(part: float, whole: float, text: str) -> None:
    assert percent(part, whole) == text


def test_every_unsure_day_is_named() -> None:
    assert f"{unsure_text([BEFORE, NIGHT])}".startswith("the last run of 2026-03-01, 2026-03-02 has not succeeded: ")


def event(start_s: int, lasts_s: int, broker: str = "b", **other: object) -> dict[str, Any]:
    start_ms = START + start_s * 1_000
    times = {"bad_from_ms": start_ms, "last_bad_ms": start_ms + lasts_s * 1_000 - 1}
    return times | {
        "event_id": f"{broker} {start_s}", "broker_name": broker, "brokers": [broker], "kind": "REFUSED",
        "severity": "WARNING", "bad_until_ms": start_ms + lasts_s * 1_000, "producers": 3, "hit_producers": 2, **other,
    }  # fmt: skip


def test_a_producer_is_a_client_id_of_a_group(tmp_path: Path) -> None:
    """Counted once over all days; what only the band calls isolated, and a switch that is off, count nothing."""
    publish(tmp_path, BEFORE, NIGHT)
    rows = [
        isolation(client, "broker-a", 0, 10, producer_group=group) | {"event_date": day}
        for client, group, day in (("p", "A", BEFORE), ("p", "A", NIGHT), ("p", "B", NIGHT), ("q", "B", NIGHT))
    ]
    no_length = isolation("r", "broker-a", 0, 0)
    switched_off = isolation("s", "broker-a", 0, 10, enforced=False)
    write_rows(tmp_path, ISOLATION_INTERVALS, [*rows, no_length, switched_off])
    found = night(open_published(str(tmp_path), None, BEFORE, NIGHT))
    assert [(day.isolations, day.isolating_producers, day.isolated_ms) for day in found.days] == [
        (1, 1, 10),
        (3, 3, 30),
    ]
    assert (found.whole.isolations, found.whole.isolating_producers, found.whole.isolated_ms) == (4, 3, 40)


def test_the_gravest_events_are_told_in_order_of_time(tmp_path: Path) -> None:
    """By severity, sends lost, sends saved or slow, length, start; the two least grave are left out."""
    alike = [event(100 - place, 10, f"b{place:02d}") for place in range(MOST_EVENTS - 4)]
    gravest_first = [
        event(300, 1, "critical", severity="CRITICAL"),
        event(301, 1, "lost", lost_sends=2),
        event(302, 1, "saved", lost_sends=1, saved_sends=2, slow_sends=2),
        event(303, 1, "slow", lost_sends=1, slow_sends=3),
    ]
    left_out = [event(304, 9, "shorter"), event(1, 99, "info", severity="INFO", lost_sends=99)]
    found = night(lake_of(tmp_path, EVENTS, *left_out, *alike, *gravest_first))
    assert [each.where for each in found.events[:5]] == ["critical", "lost", "saved", "slow", f"b{MOST_EVENTS - 5}"]
    assert [each.where for each in found.events[-2:]] == ["shorter", "info"]
    assert [each.where for each in found.drawn_events] == [
        *(f"b{place:02d}" for place in reversed(range(MOST_EVENTS - 4))), "critical", "lost", "saved", "slow",
    ]  # fmt: skip
    assert found.not_drawn == ("2 events beyond the 50 gravest",)
    assert (found.whole.events, found.whole.info_events, found.days[-1].events) == (51, 1, 51)
    assert (
        ". 51 events and 1 of severity INFO; the worst: critical refused sends from 2 of 3 producers for 1.0 s and "
        in found.headline
    )


def test_events_of_severity_info_are_counted_apart(tmp_path: Path) -> None:
    info = [event(place, 1, severity="INFO") for place in (2, 3)]
    published = lake_of(tmp_path, EVENTS, *info)
    assert (
        ". 2 events of severity INFO; the worst: b refused sends from 2 of 3 producers for 1.0 s and "
        in night(published).headline
    )
    assert "<dt>events</dt><dd>0 <small>and 2 of severity INFO</small></dd>" in render(published)


def test_as_many_events_as_may_be_told_leave_nothing_out(tmp_path: Path) -> None:
    found = night(lake_of(tmp_path, EVENTS, *(event(place, 1) for place in range(MOST_EVENTS))))
    assert (len(found.drawn_events), found.not_drawn) == (MOST_EVENTS, ())


def test_findings_are_told_with_their_event(tmp_path: Path) -> None:
    """AVOIDED_TOO_LONG beside it too; one whose event is not of these days stands alone."""
    follows = {"event_id": "b 1"}
    found = [
        finding("WARNING", 1, "second") | follows,
        finding("WARNING", 2, "first") | follows | {"failures": 3},
        finding("INFO", 0, "third", "COLLATERAL_ISOLATION") | follows,
        finding("WARNING", 3, "too long", "AVOIDED_TOO_LONG") | follows,
        finding("INFO", 4, "alone"),
        finding("INFO", 5, "of another day") | {"event_id": "b 99"},
    ]
    write_rows(tmp_path, FINDINGS, [WHERE | row for row in found])
    told = night(lake_of(tmp_path, EVENTS, event(1, 9), event(2, 9, "c")))
    first, second = told.events
    assert [each["sentence"] for each in first.findings] == ["first", "second", "too long", "third"]
    assert (first.kinds["ALL_ISOLATED"], first.worst) == (2, None)
    assert second.findings == ()
    assert [each["sentence"] for each in told.findings] == ["too long", "alone", "of another day"]
    assert (told.whole.findings, sum(told.kinds.values())) == (6, 6)
    assert told.severities == {"WARNING": 5, "INFO": 3}  # of findings and events


def test_findings_of_an_event_that_is_not_drawn_are_counted(tmp_path: Path) -> None:
    least = event(99, 1, "least", severity="INFO")
    write_rows(tmp_path, FINDINGS, [WHERE | finding("CRITICAL", 1, "s") | {"event_id": least["event_id"]}] * 2)
    found = night(lake_of(tmp_path, EVENTS, least, *(event(place, 1) for place in range(MOST_EVENTS))))
    assert found.not_drawn == ("1 event beyond the 50 gravest", "2 findings of events that are not drawn")
    assert (found.findings, found.events[-1].worst) == ((), "s")


def finding(severity: str, from_ms: int, sentence: str = "s", kind: str = "ALL_ISOLATED") -> dict[str, Any]:
    return {
        "kind": kind, "cause": kind, "severity": severity, "start_ms": START + from_ms,
        "end_ms": START + from_ms + 1, "sentence": sentence,
    }  # fmt: skip


def test_the_gravest_findings_come_first(tmp_path: Path) -> None:
    few = [
        finding("INFO", 0, "i", "CLOCK_STEP"),
        finding("WARNING", 5, "w2"),
        finding("WARNING", 5, "w1"),
        finding("CRITICAL", 9, "a later one", "CLOCK_STEP"),
        finding("CRITICAL", 8, "c1"),
    ]
    many = [finding("INFO", 10 + place, "later") for place in range(MOST_FINDINGS)]
    found = night(lake_of(tmp_path, FINDINGS, *few, *many))
    assert [each["sentence"] for each in found.findings[:6]] == ["c1", "a later one", "w1", "w2", "i", "later"]
    assert len(found.drawn_findings) == MOST_FINDINGS
    assert found.not_drawn == ("5 findings beyond the 200 gravest",)
    assert list(found.kinds.items()) == [("ALL_ISOLATED", MOST_FINDINGS + 3), ("CLOCK_STEP", 2)]
    assert found.whole.findings == MOST_FINDINGS + 5


def test_fourteen_nights_before_stand_beside_it(tmp_path: Path) -> None:
    days = [NIGHT - dt.timedelta(days=number) for number in range(NIGHTS_BEFORE + 3)]
    publish(tmp_path, *days)
    rows = [window(0, sends=number) | {"event_date": day} for number, day in enumerate(days)]
    write_rows(tmp_path, BROKER_WINDOWS, rows)
    found = night(open_published(str(tmp_path), None, None, None))
    assert [(day.date, day.sends) for day in found.days] == [
        (day, number) for number, day in reversed(list(enumerate(days[: NIGHTS_BEFORE + 1])))
    ]


def test_what_a_day_counts(tmp_path: Path) -> None:
    publish(tmp_path, BEFORE, NIGHT)
    held = [
        isolation("p1", "a", 0, 100),
        isolation("p1", "b", 0, 50),
        isolation("p2", "a", 0, 7, enforced=False),
        isolation("p3", "a", 9, 9),
        isolation("p4", "a", 0, 1, event_date=BEFORE),
    ]
    write_rows(tmp_path, ISOLATION_INTERVALS, held)
    write_rows(tmp_path, BROKER_WINDOWS, [window(0, sends=5, failures=2), window(1, sends=6, failures=1)])
    write_rows(tmp_path, SEND_CALLS, [WHERE | {"attempts": attempts, "failed": True} for attempts in (0, 1)])
    write_rows(tmp_path, EVENTS, [WHERE | event(1, 1), WHERE | event(2, 1, severity="INFO")])
    write_rows(tmp_path, REBALANCES, [WHERE | {"consumer_group": each, "moved": 4} for each in "gh"])
    write_rows(tmp_path, ALLOCATION_FINDINGS, [WHERE | {"consumer_group": each} for each in "ghi"])
    write_rows(tmp_path, GROUP_EVENTS, [WHERE | {"consumer_group": each} for each in "ggghi"])
    before, asked = night(open_published(str(tmp_path), None, BEFORE, NIGHT)).days
    given = {"has_sends": True, "has_groups": False}
    assert asked == Day(NIGHT, 2, 1, 0, 0, 11, 3, 2, 150, 1, 1, 1, 0, 5, 2, 8, 3, **given)
    assert before == Day(BEFORE, 0, 0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, **given)
    both = night(open_published(str(tmp_path), None, BEFORE, NIGHT)).whole
    assert both == Day(NIGHT, 2, 1, 0, 0, 11, 3, 3, 151, 2, 1, 1, 0, 5, 2, 8, 3, **given)


def test_each_send_costs_once(tmp_path: Path) -> None:
    """Lost before saved, saved before slow; plain sends, and sends that only met an isolation, cost nothing."""
    publish(tmp_path, BEFORE, NIGHT)
    failed, retried, slow = ({name: True} for name in ("failed", "retried", "slow"))
    sends: dict[str, list[dict[str, Any]]] = {
        "PG_a": [failed, failed | retried | slow, {"attempts": 0} | failed, retried, retried | slow, slow, {}],
        "PG_b": [failed, slow, slow, slow],
        "PG_c": [failed, slow, slow],
        "PG_d": [{}],
    }
    rows = [WHERE | {"attempts": 1, "producer_group": group} | row for group, found in sends.items() for row in found]
    earlier = {"event_date": BEFORE, "attempts": 1, "failed": True, "producer_group": "PG_c"}
    write_rows(tmp_path, SEND_CALLS, [*rows, earlier])
    found = night(open_published(str(tmp_path), None, None, None))
    assert [tuple(cost.values()) for cost in found.costs] == [
        ("PG_a", 3, 1, 2, 1), ("PG_b", 1, 0, 0, 3), ("PG_c", 1, 0, 0, 2),
    ]  # fmt: skip
    assert [(day.lost, day.unsent, day.saved, day.slow) for day in found.days] == [(1, 0, 0, 0), (5, 1, 2, 6)]
    assert found.headline.startswith("5 sends lost (1 before a broker was chosen), 2 saved by a retry, 6 slow; ")
    page = render(open_published(str(tmp_path), None, None, None))
    was = '<small class="was">2026-03-01: 1</small>'
    assert f"<dt>sends lost</dt><dd>5 <small>1 before a broker was chosen</small> {was}</dd>" in page
    assert re.findall(r"<bdi>(PG_\w)</bdi>.*?>(\d)<td class=.number.>(\d)<td class=.number.>(\d)", page)[:3] == [
        ("PG_a", "3", "2", "1"), ("PG_b", "1", "0", "3"), ("PG_c", "1", "0", "2"),
    ]  # fmt: skip


def cells(page: str, place: str) -> list[str]:
    """The cells of the first row of the first table at a place of the page."""
    row = page.partition(f'id="{place}"')[2].partition("<tbody>")[2].partition("</tbody>")[0].split("<tr")[1]
    return [re.sub(r"^[^>]*>|<[^>]+>", "", cell).strip() for cell in re.split("<t[hd]", row)[1:]]


def test_each_figure_of_an_event_stands_below_its_heading(tmp_path: Path) -> None:
    row = event(1, 3, "broker-a") | {
        "severity": "CRITICAL", "producers": 21, "avoiding_producers": 17, "avoided_from_ms": START + 1_500,
        "avoided_until_ms": START + 90_000, "avoided_after_ms": 86_000, "lost_sends": 14, "saved_sends": 5,
        "slow_sends": 6, "failed_attempts": 20, "slow_attempts": 8, "attempts": 90, "hit_producers": 19,
    }  # fmt: skip
    write_rows(tmp_path, FINDINGS, [WHERE | finding("INFO", 1, f"s{n:02d}") | {"event_id": "broker-a 1"}
                                    for n in range(22)])  # fmt: skip
    page = render(lake_of(tmp_path, EVENTS, row))
    figures = ["00:00:01.000", "3.0 s", "19 of 21", "17", "00:01:30.000 1 min 26 s after", "14", "5", "6"]
    assert cells(page, "events")[:-1] == ["broker-a", "CRITICAL", "refused", *figures]
    below = re.sub("<[^>]+>", "", page.partition('<tr class="below">')[2].partition("</details>")[0])
    assert "ALL_ISOLATED 22" in below
    assert "20 failed and 8 slow of 90 attempts, of 19 of 21 producers. First bad attempt 00:00:01.000," in below
    assert "last bad one 00:00:03.999, next answer 00:00:04.000. Avoided from 00:00:01.500." in below
    assert "s19" in below
    assert "s20" not in below
    assert "and 2 more, less grave" in below


@pytest.mark.parametrize(
    ("changed", "note"),
    [
        ({}, None),
        ({"bad_until_ms": None}, "no later answer is known"),
        ({"bad_until_ms": START + 65_000}, "answered again at 00:01:05"),
        ({"continued_from_previous_day": True}, "goes on from the day before"),
        ({"continues_next_day": True}, "goes on after 24:00"),
        (
            {"broker_name": None, "brokers": ["a", "b\n"], "all_brokers": 3, "began_within_ms": 1_040},
            "a, b\\n: all began within 1,040 ms (not a broker; look at network, name server, or these producers)",
        ),
    ],
)
def test_what_figures_of_an_event_do_not_say(tmp_path: Path, changed: dict[str, Any], note: str | None) -> None:
    published = lake_of(tmp_path, EVENTS, event(1, 3) | changed)
    (found,) = night(published).events
    assert found.notes == ([note] if note else [])
    assert (note or "no finding") in render(published).replace("&amp;", "&")


def test_each_figure_of_a_group_stands_below_its_heading(tmp_path: Path) -> None:
    publish(tmp_path, NIGHT, flow="ALLOCATION")
    of_group = {"consumer_group": "g", "topic": "T", "broker_name": "b", "queue_id": 0, "client_id": "c"}
    changes = [of_group | {"queues": 8, "moved": moved, "fewest_moves": 2, "changed_at_ms": START} for moved in (3, 4)]
    write_rows(tmp_path, REBALANCES, [WHERE | each for each in changes])
    faults = [{"kind": "UNASSIGNED", "start_ms": START + at, "end_ms": START + at + lasted, "sentence": "s"}
              for at, lasted in ((0, 2_000), (10_000, 7_000), (20_000, 1_000))]  # fmt: skip
    write_rows(tmp_path, ALLOCATION_FINDINGS, [WHERE | of_group | {"cause": "UNEXPLAINED"} | each for each in faults])
    missed = {
        "topic": "T",
        "broker_name": "b",
        "queue_id": 0,
        "kind": "UNASSIGNED",
        "cause": "REBALANCE_NOT_RUN",
        "start_ms": START + 40_000,
        "end_ms": START + 45_000,
        "owners_expected": ["c"],
        "owners_observed": [],
    }
    left = {"event_id": "e", "consumer_group": "g", "kind": "LEFT", "start_ms": START + 39_000, "moved": 5,
            "sentence": "c left", "queues": [missed]}  # fmt: skip
    write_rows(tmp_path, GROUP_EVENTS, [WHERE | left])
    told = {"event_id": "e", "kind": "UNASSIGNED", "cause": "REBALANCE_NOT_RUN", "start_ms": START + 40_000,
            "end_ms": START + 45_000, "sentence": "t"}  # fmt: skip
    write_rows(tmp_path, ALLOCATION_FINDINGS, [WHERE | of_group | told])
    page = render(lake_of(tmp_path, BROKER_WINDOWS, window(0)))
    assert [" ".join(cell.split()) for cell in cells(page, "group-events")] == [
        "g", "LEFT", "00:00:39.000", "–", "5",
        (
            "c left 1 time of a queue without the right owner"
            " 00:00:40.000 T b:0 UNASSIGNED REBALANCE_NOT_RUN for 5.0 s: nobody, should be c"
        ),
    ]  # fmt: skip
    assert cells(page, "group-numbers") == ["g", "1", "2", "7", "4", "4", "15.0 s"]
    assert cells(page, "group-found") == ["g", "UNASSIGNED", "UNEXPLAINED", "3", "00:00:00.000", "7.0 s", "s"]


def test_a_night_of_groups_alone_has_its_sentence() -> None:
    nothing: dict[str, Any] = dict.fromkeys((name for name in Day.__dataclass_fields__ if name != "date"), 0)
    only_findings = headline(Day(NIGHT, **nothing | {"group_findings": 1}), [])
    assert only_findings == "0 rebalances moved 0 queues; no send log was given."


def test_windows_are_summed_and_percentiles_are_the_highest(tmp_path: Path) -> None:
    found = minutes(
        lake_of(
            tmp_path,
            BROKER_WINDOWS,
            window(0, "a", sends=5, failures=1, isolated_ms=10, latency_p50_ms=7),
            window(0, "b", sends=6, failures=2, isolated_ms=20, latency_p50_ms=3, latency_p99_ms=9),
            window(1, "b", sends=1, isolated_ms=5),
        ),
        1,
    )
    assert found.all_brokers[0].width_ms == 60_000
    assert found.all_brokers == (
        Point(START, 60_000, 11, 3, 7, None, 9),
        Point(START + 60_000, 60_000, 1, 0, None, None, None),
    )
    assert found.of_broker == {
        "b": (Point(START, 60_000, 6, 2, 3, None, 9), Point(START + 60_000, 60_000, 1, 0, None, None, None))
    }
    assert found.brokers == 2


@pytest.mark.parametrize(
    ("worse", "than"),
    [
        ({"isolated_ms": 2}, {"isolated_ms": 1, "failures": 9, "sends": 9}),
        ({"isolated_ms": 1, "failures": 2}, {"isolated_ms": 1, "failures": 1, "sends": 9}),
        ({"failures": 1, "sends": 2}, {"failures": 1, "sends": 1}),
        ({"broker_name": "a"}, {"broker_name": "b"}),
    ],
)
def test_the_worst_brokers_come_first(tmp_path: Path, worse: dict[str, Any], than: dict[str, Any]) -> None:
    rows = [window(0, "of less", **{"sends": 0, **than}), window(0, "of more", **{"sends": 0, **worse})]
    named = [{**row, "broker_name": each.get("broker_name", row["broker_name"])} for row, each in
             zip(rows, (than, worse), strict=True)]  # fmt: skip
    found = minutes(lake_of(tmp_path, BROKER_WINDOWS, *named), 8)
    assert list(found.of_broker) == [named[1]["broker_name"], named[0]["broker_name"]]


@pytest.mark.parametrize(
    ("last_minute", "width_minutes"),
    [
        (MOST_POINTS - 1, 1),
        (MOST_POINTS, 2),
        (2 * MOST_POINTS - 1, 2),
        (2 * MOST_POINTS, 5),
        (1440 * MOST_POINTS, 1440),
    ],
)
def test_windows_get_wider_as_there_are_more(tmp_path: Path, last_minute: int, width_minutes: int) -> None:
    found = minutes(lake_of(tmp_path, BROKER_WINDOWS, window(0), window(last_minute)), 8)
    assert found.all_brokers[0].width_ms == width_minutes * 60_000


def test_the_worst_first_on_the_timeline(tmp_path: Path) -> None:
    """By isolation, then by what would have been with the switch on, then by name."""
    rows = [
        isolation("p1", "off", 0, 900, enforced=False),
        isolation("p2", "off", 0, 901, enforced=False),
        isolation("p1", "less off", 0, 3, enforced=False),
        isolation("p1", "on", 0, 2),
        isolation("p2", "on", 0, 2),
        isolation("p3", "on", 0, 1),
        isolation("p3", "on", 5, 7),
        isolation("p3", "on", 8, 8),
        isolation("p9", "less", 0, 5),
        isolation("p8", "less", 0, 800, enforced=False),
    ]
    drawn = timeline(lake_of(tmp_path, ISOLATION_INTERVALS, *rows))
    assert [(row.broker_name, row.client_id, row.isolated_ms, row.would_ms, row.isolations) for row in drawn.rows] == [
        ("on", None, 7, 0, 4),
        ("on", None, 7, 0, 4),  # its group
        ("on", "p3", 3, 0, 2),
        ("on", "p1", 2, 0, 1),
        ("on", "p2", 2, 0, 1),
        ("less", None, 5, 800, 2),
        ("less", None, 5, 800, 2),
        ("less", "p9", 5, 0, 1),
        ("less", "p8", 0, 800, 1),
        ("off", None, 0, 1_801, 2),
        ("off", None, 0, 1_801, 2),
        ("off", "p2", 0, 901, 1),
        ("off", "p1", 0, 900, 1),
        ("less off", None, 0, 3, 1),
        ("less off", "p1", 0, 3, 1),
    ]
    assert drawn.not_drawn == ("1 isolation of no length, where only the band of the end says isolated",)
    assert (drawn.rows_of("less"), drawn.rows_of("none")) == ((5, 8), None)
    assert sorted((each.row, each.hollow) for each in drawn.bars if each.row >= 6) == [
        (6, False), (6, True), (7, False), (8, True), (10, True), (11, True), (12, True), (14, True),
    ]  # fmt: skip
    assert [row.parent for row in drawn.rows] == [None, 0, 1, 1, 1, None, 5, 6, 6, None, 9, 10, 10, None, 13]


def test_a_group_unfolds_to_hosts_and_a_host_to_its_producers(tmp_path: Path) -> None:
    """Bars of a group and of a host are the times in which any of their producers isolated the broker, by cause."""
    rows = [
        isolation("h1@1", "a", 0, 10),
        isolation("h1@2", "a", 10, 30),  # touches the one before
        isolation("h2@1", "a", 5, 20),
        isolation("h2@1", "a", 40, 50),
        isolation("h2@1", "a", 12, 16, cause="RemotingTimeoutException"),
        isolation("h3@1", "a", 0, 100, client_version="4.9.8"),
        isolation("h3@1", "a", 0, 7, client_version=None),
    ]
    drawn = timeline(lake_of(tmp_path, ISOLATION_INTERVALS, *rows))
    assert [(row.client_version, row.host, row.client_id, row.producers, row.parent) for row in drawn.rows] == [
        (None, None, None, 5, None),
        ("4.9.8", "h3", "h3@1", 1, 0),
        ("5.3.3", None, None, 3, 0),
        ("5.3.3", "h1", None, 2, 2),
        ("5.3.3", "h1", "h1@2", 1, 3),
        ("5.3.3", "h1", "h1@1", 1, 3),
        ("5.3.3", "h2", "h2@1", 1, 2),
        ("", "h3", "h3@1", 1, 0),
    ]
    together = [bar for bar in drawn.bars if bar.row in {2, 3}]
    assert sorted((bar.row, bar.start_ms - START, bar.end_ms - START, bar.source["producers"]) for bar in together) == [
        (2, 0, 30, 3), (2, 12, 16, 1), (2, 40, 50, 1), (3, 0, 30, 2),
    ]  # fmt: skip
    first = min(together, key=lambda bar: bar.start_ms)
    assert isolation_hover(first).split("<br>")[1] == "3 producers of PG (client 5.3.3) isolated it"
    _, who, _, many = isolation_hover(replace(first, rows=7)).split("<br>")
    assert (who, many) == ("producers of PG (client 5.3.3) isolated it", "7 times, drawn as one")


def test_each_broker_has_its_turn_until_the_rows_are_used_up(tmp_path: Path) -> None:
    """A broker with a hundred producers leaves room for the second ones of others, and a thirteenth has none."""
    most = [isolation(f"p{number:03d}", "a", 0, 10_000 - number) for number in range(MOST_PRODUCERS)]
    others = [
        isolation(client, f"b{number:02d}", 0, 5_000 - number)
        for number in range(MOST_BROKERS)
        for client in ("p", "q")
    ]
    drawn = timeline(lake_of(tmp_path, ISOLATION_INTERVALS, *most, *others))
    assert {row.broker_name for row in drawn.rows} == {"a", *(f"b{number:02d}" for number in range(MOST_BROKERS - 1))}
    producers = [row for row in drawn.rows if row.client_id]
    assert len(producers) == MOST_PRODUCERS
    assert len([row for row in producers if row.broker_name != "a"]) == 2 * (MOST_BROKERS - 1)
    shown = MOST_PRODUCERS
    (left_out,) = drawn.not_drawn
    rows_left = 2 * MOST_BROKERS
    assert left_out.startswith(f"{rows_left} rows of a broker and a producer, with {rows_left} isolations of ")
    assert left_out.endswith(f"beyond the {shown} worst; 1 broker not drawn at all")


def test_causes_without_a_class_have_their_own_and_no_other_one_took_longer(tmp_path: Path) -> None:
    """Four at most; the time of all isolations counts, not their number."""
    held = {"AError": (9,), "BError": (8,), "CError": (4, 3), "DError": (6,), "EError": (1, 1, 1), "LATENCY": (1,)}
    rows = [
        isolation(f"p{number}", "a", 0, length, cause=cause)
        for cause, lengths in held.items()
        for number, length in enumerate(lengths)
    ]
    bars = timeline(lake_of(tmp_path, ISOLATION_INTERVALS, *rows)).bars
    kinds = {each.source["cause"]: each.kind for each in bars if "cause" in each.source}
    own = {name: name for name in ("AError", "BError", "CError", "DError")}
    assert kinds == own | {"EError": OTHER, "LATENCY": SLOW}


def test_a_finding_names_its_producer_for_a_reader(tmp_path: Path) -> None:
    """Group and owner, host and all its versions of the day, the client id last; nobody is found in other words."""
    producer = {"client_id": "10.0.0.1@7", "producer_group": "PG"}
    days = [WHERE | producer | {"client_version": version} for version in ("5.3.3", "4.9.7", None)]
    write_rows(tmp_path, PRODUCER_DAYS, [each | {"enforced": number == 1} for number, each in enumerate(days)])
    found = [
        finding("CRITICAL", 1, "10.0.0.1@7 alone isolated 10.0.0.1@77") | producer,
        finding("CRITICAL", 2, "seq of p fell once") | {"client_id": "p", "producer_group": ""},
        finding("CRITICAL", 3, "PG (4.9.7, 2 producers) avoided b", "AVOIDED_TOO_LONG") | {"producer_group": "PG"},
        finding("CRITICAL", 4, "all is said"),
    ]
    told = night(lake_of(tmp_path, FINDINGS, *found), owners={"P*": "team\x1b"})
    assert [each["sentence"] for each in told.findings] == [
        "PG [team\\x1b] on 10.0.0.1 (client 4.9.7, 5.3.3, 10.0.0.1@7) alone isolated 10.0.0.1@77",
        "seq of (unknown group) (client version unknown, p) fell once",
        "PG [team\\x1b] (4.9.7, 2 producers) avoided b",
        "all is said",
    ]


def test_what_a_bar_says(tmp_path: Path) -> None:
    rows = [
        isolation("10.0.0.1@<p1>", "a", 0, 5, extensions=2, end_latest_ms=START + 9),
        isolation("p2", "a", 0, 5, enforced=False, client_version=None, cause="HIDDEN_RETRY"),
    ]
    first, second = (isolation_hover(each) for each in timeline(lake_of(tmp_path, ISOLATION_INTERVALS, *rows)).bars)
    assert "<br>PG on 10.0.0.1 (client 5.3.3, 10.0.0.1@&lt;p1&gt;) isolated it<br>" in first
    assert "<br>cause: slow answer, 600 ms; ended: EXPIRED<br>" in first
    assert "extended 2 times" in first
    assert "the end lies in" in first
    assert "<br>PG (client version unknown, p2) would have isolated it with its switch on<br>" in second
    assert "<br>cause: failed try inside the client, not logged, 600 ms;" in second
    assert "extended" not in second
    assert "the end lies in" not in second
