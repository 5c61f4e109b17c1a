"""`report --since --until`: every figure and picture of the page is of that time."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from jobs.answers.groups import consumer_groups
from jobs.answers.minutes import minutes
from jobs.answers.night import night
from jobs.answers.published import Published, open_published
from jobs.answers.report import render
from jobs.answers.timeline import timeline
from jobs.answers.window import Window
from jobs.cli import main as cli
from jobs.tables import (
    ALLOCATION_FINDINGS,
    BROKER_WINDOWS,
    EVENTS,
    FINDINGS,
    ISOLATION_INTERVALS,
    QUEUE_OWNERSHIP,
    REBALANCES,
    SEND_CALLS,
)
from tests.given.console import console_of
from tests.given.hostile_night import BEFORE, NIGHT, START, isolation, owned, window
from tests.given.lakes import publish, write_rows

SINCE, UNTIL = 90_000, 150_000
"""ms after 00:00: from the middle of a minute to the middle of the next."""
WITHIN = Window(START + SINCE, START + UNTIL)


def _between(start: int, end: int, **row: object) -> dict[str, Any]:
    return {"event_date": NIGHT, "start_ms": START + start, "end_ms": START + end, **row}


def _event(broker: str, bad_from: int, last_bad: int, bad_until: int | None, **row: object) -> dict[str, Any]:
    times = {"bad_from_ms": START + bad_from, "last_bad_ms": START + last_bad}
    answered = None if bad_until is None else START + bad_until
    return {
        "event_date": NIGHT, "event_id": broker, "broker_name": broker, "brokers": [broker], "severity": "WARNING",
        **times, "bad_until_ms": answered, **row,
    }  # fmt: skip


def _fault(start: int, end: int, **row: object) -> dict[str, Any]:
    where = {"consumer_group": "G", "topic": "T", "broker_name": "a", "queue_id": 0}
    return _between(start, end, kind="UNASSIGNED", cause="NO_MEMBERS", basis="EXPECTED", **where, **row)


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """A night, and one before it, with rows on both sides of either bound of the window."""
    lake = tmp_path / "lake"
    lake.mkdir()
    for flow in ("FAULT_LATENCY", "ALLOCATION"):
        publish(lake, BEFORE, NIGHT, flow=flow)
    write_rows(lake, ISOLATION_INTERVALS, [
        isolation("before", "broker-a", SINCE - 10_000, SINCE),
        isolation("across", "broker-a", SINCE - 10_000, SINCE + 3_000),
        isolation("around", "broker-a", 0, 3_600_000, enforced=False),
        isolation("inside", "broker-b", SINCE + 1_000, SINCE + 2_000),
        isolation("beyond", "broker-b", UNTIL - 1, UNTIL + 9_000),
        isolation("after", "broker-b", UNTIL, UNTIL + 9_000),
    ])  # fmt: skip
    rates: dict[str, Any] = {"latency_p50_ms": 3, "latency_p95_ms": 4, "latency_p99_ms": 5, "latency_max_ms": 6}
    write_rows(lake, BROKER_WINDOWS, [window(at, sends=10**at, failures=at, **rates) for at in range(5)])
    write_rows(lake, FINDINGS, [
        _between(start, end, kind="CLOCK_STEP", severity="INFO", cause="CLOCK", sentence=sentence)
        for sentence, start, end in (("ends before", 0, SINCE), ("lasts", 0, SINCE + 1), ("later", UNTIL, UNTIL + 1))
    ])  # fmt: skip
    write_rows(lake, EVENTS, [
        _event("over", SINCE - 5_000, SINCE - 9, SINCE), _event("unanswered", 0, SINCE, None),
        _event("unanswered in it", 0, SINCE + 1, None), _event("long", 5, UNTIL + 5_000, UNTIL + 6_000),
        _event("answered in it", SINCE - 9, SINCE - 5, SINCE + 1),
        _event("bad in it", SINCE - 9, SINCE + 1, SINCE + 2, severity="INFO"),
        _event("later", UNTIL, UNTIL + 1, UNTIL + 1),
    ])  # fmt: skip
    lost = {"failed": True, "attempts": 1, "producer_group": "PG"}
    write_rows(lake, SEND_CALLS, [
        _between(start, end, **lost, client_id="p") for start, end in ((0, SINCE), (0, SINCE + 1), (UNTIL, UNTIL + 1))
    ])  # fmt: skip
    write_rows(lake, REBALANCES, [
        {"event_date": NIGHT, "consumer_group": "G", "topic": "T", "moved": moved, "changed_at_ms": START + at}
        for moved, at in ((1, SINCE - 1), (10, SINCE), (100, UNTIL - 1), (1_000, UNTIL))
    ])  # fmt: skip
    write_rows(lake, QUEUE_OWNERSHIP, [
        owned(queue, client, start, end, consumer_group="G")
        for queue, client, start, end in ((0, "c1", 0, 89), (1, "c2", 0, 200), (2, "c3", 150, 200))
    ])  # fmt: skip
    write_rows(lake, ALLOCATION_FINDINGS, [
        _fault(SINCE - 7_000, SINCE + 5_000, sentence="began before"),
        _fault(0, SINCE - 7_000, sentence="over"),
        _fault(UNTIL, UNTIL + 5_000, sentence="later"),
    ])  # fmt: skip
    return lake


@pytest.fixture
def narrowed(lake: Path) -> Published:
    return replace(open_published(str(lake), None, None, None), window=WITHIN)


def test_each_figure_counts_what_lies_in_the_window(narrowed: Published) -> None:
    whole = night(narrowed).whole
    assert (whole.isolations, whole.isolated_ms, whole.isolating_producers) == (3, 3_000 + 1_000 + 1, 3)
    assert (whole.sends, whole.failures) == (10 + 100, 1 + 2)  # of the two minutes that it touches
    assert (whole.lost, whole.events, whole.info_events, whole.findings) == (1, 2, 1, 1)
    assert (whole.rebalances, whole.moved, whole.group_findings) == (2, 110, 1)


def test_lists_name_rows_as_they_are(narrowed: Published) -> None:
    found = night(narrowed)
    assert [each["sentence"] for each in found.findings] == ["lasts"]
    assert [(event.where, event.row["bad_from_ms"], event.row["last_bad_ms"]) for event in found.drawn_events] == [
        ("unanswered in it", START, START + SINCE + 1), ("long", START + 5, START + UNTIL + 5_000),
        ("bad in it", START + SINCE - 9, START + SINCE + 1),
    ]  # fmt: skip
    assert [day.date for day in found.days] == [NIGHT]


def test_pictures_show_what_lies_in_the_window(narrowed: Published) -> None:
    drawn = timeline(narrowed)
    assert {bar.source["client_id"] for bar in drawn.bars if "client_id" in bar.source} == {
        "across",
        "around",
        "inside",
        "beyond",
    }
    sums = {row.client_id: (row.isolated_ms, row.would_ms) for row in drawn.rows if row.client_id}
    assert sums == {"across": (3_000, 0), "around": (0, UNTIL - SINCE), "inside": (1_000, 0), "beyond": (1, 0)}
    assert [point.sends for point in minutes(narrowed, 8).all_brokers] == [10, 100]
    groups = consumer_groups(narrowed)
    assert [(each.fault_ms, each.rebalances, each.findings) for each in groups.groups] == [(5_000, 2, 1)]
    assert [bar.kind for each in groups.ownership for bar in each.bars] == ["c2"]


def test_the_pictures_begin_as_wide_as_the_window(narrowed: Published) -> None:
    """Both axes of time of the timeline, and of the group's picture."""
    ranges = re.findall(r'"range": ?\[(\d{13}), ?(\d{13})\]', render(narrowed))
    assert ranges == [(str(WITHIN.since_ms), str(WITHIN.until_ms))] * 4


def test_the_page_says_of_which_time_it_is(narrowed: Published, lake: Path) -> None:
    page = render(narrowed)
    assert "<title>Faultline 2026-03-02 00:01:30 to 00:02:30 main</title>" in page
    assert "Everything here is of this time." in page
    assert 'id="nights"' not in page
    whole = render(open_published(str(lake), None, None, None))
    assert "Everything here is of this time." not in whole
    assert 'id="nights"' in whole


def test_a_group_in_a_window_has_no_count_of_sends(narrowed: Published) -> None:
    page = render(replace(narrowed, producer_group="PG")).partition("<script>")[0]
    assert "<dt>send attempts</dt>" not in page
    assert "<dt>attempts failed</dt>" not in page
    assert "<dt>sends lost</dt><dd>1" in page
    assert "<dt>isolations</dt><dd>3 " in page
    assert "attempts are counted by the day alone" in page
    assert "PG: 1 send lost, 0 saved by a retry, 0 slow; 3 producers isolated brokers for 4.0 s in all." in page


def test_a_window_of_two_days_names_both(lake: Path) -> None:
    both = open_published(str(lake), None, BEFORE, NIGHT)
    page = render(replace(both, window=Window(START - 3_600_000, START + 1_000)))
    assert "<title>Faultline 2026-03-01 23:00:00 to 2026-03-02 00:00:01 main</title>" in page


def test_the_command_takes_a_window(
    browser: Browser, lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["report", "--lake", str(lake), "--since", "2026-03-02T00:01:30"]) == 0
    assert "2026-03-02 00:01:30 to 24:00:00, cluster main" in capsys.readouterr().out
    given = ("--lake", str(lake), "--date", "2026-03-02", "--since", "00:01:30", "--until", "00:02:30")
    assert cli.main(["report", *given]) == 0
    file = tmp_path / "faultline-2026-03-02-000130-to-000230.html"
    page = browser.new_page()
    said = console_of(page)
    page.goto(file.as_uri())
    page.wait_for_selector("#timeline-plot .barlayer")
    shown = page.evaluate("document.getElementById('timeline-plot')._fullLayout.xaxis.range")
    assert [dt.datetime.fromisoformat(each).time().isoformat() for each in shown] == ["00:01:30", "00:02:30"]
    assert said == []
    page.close()


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (("--since", "00:02:30", "--until", "00:01:30"), "--until 00:01:30 is not after --since 00:02:30; swap them"),
        (("--date", "2026-03-02", "--since", "2026-03-03T01:00:00"), "is not within 2026-03-02"),
    ],
)
def test_a_window_that_is_none_is_refused(
    lake: Path, capsys: pytest.CaptureFixture[str], given: tuple[str, ...], why: str
) -> None:
    assert cli.main(["report", "--lake", str(lake), *given]) == 2
    assert why in capsys.readouterr().err


def test_a_group_that_was_quiet_in_the_window_is_known(lake: Path, tmp_path: Path) -> None:
    given = ("--lake", str(lake), "--producer-group", "PG", "--date", "2026-03-02", "--since", "23:00:00")
    assert cli.main(["report", *given, "--output", str(tmp_path / "g.html")]) == 0
