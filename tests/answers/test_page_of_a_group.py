"""`report --producer-group`: what is narrowed is of the group alone, and what is not says so."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from jobs.answers.night import night
from jobs.answers.published import Published, open_published
from jobs.answers.report import render
from jobs.cli import main as cli
from jobs.tables import (
    ALLOCATION_FINDINGS,
    BROKER_WINDOWS,
    EVENTS,
    FINDINGS,
    ISOLATION_INTERVALS,
    PRODUCER_DAYS,
    REBALANCES,
    RUN_LOG,
    SEND_CALLS,
)
from tests.given.console import console_of
from tests.given.hostile_night import BEFORE, NIGHT, START, isolation, window
from tests.given.lakes import publish, write_rows

GROUP = "PG/<b>"
DAY_MS = 86_400_000


def _day(day: dt.date, group: str, client: str, sends: int, failures: int) -> dict[str, Any]:
    of_producer = {"client_id": client, "producer_group": group, "enforced": True}
    return {"event_date": day, **of_producer, "sends": sends, "failures": failures}


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Two nights of two groups; the second flow published one of them."""
    lake = tmp_path / "lake"
    lake.mkdir()
    publish(lake, BEFORE, NIGHT)
    publish(lake, NIGHT, flow="ALLOCATION")
    write_rows(lake, ISOLATION_INTERVALS, [
        isolation("p1", "broker-a", 5_000, 35_000, producer_group=GROUP),
        isolation("p2", "broker-a", 6_000, 7_000, producer_group=GROUP),
        isolation("p3", "broker-b", 6_000, 90_000, producer_group="PG_other"),
        isolation("p1", "broker-a", 5_000 - DAY_MS, 6_000 - DAY_MS, producer_group=GROUP, event_date=BEFORE),
    ])  # fmt: skip
    write_rows(lake, PRODUCER_DAYS, [
        _day(NIGHT, GROUP, "p1", 30, 3), _day(NIGHT, GROUP, "p2", 10, 0), _day(NIGHT, "PG_other", "p3", 500, 99),
        _day(BEFORE, GROUP, "p1", 7, 1), _day(BEFORE, "PG_other", "p3", 600, 0),
    ])  # fmt: skip
    unsent = {"event_date": NIGHT, "attempts": 0, "failed": True}
    write_rows(lake, SEND_CALLS, [unsent | {"producer_group": group} for group in (GROUP, GROUP, "PG_other")])
    saved = {"event_date": NIGHT, "attempts": 2, "retried": True, "client_id": "p1"}
    write_rows(lake, SEND_CALLS, [saved | {"producer_group": group} for group in (GROUP, "PG_other", "PG_other")])
    write_rows(
        lake,
        BROKER_WINDOWS,
        [window(0, sends=540, failures=102, latency_p50_ms=3, latency_p95_ms=4, latency_p99_ms=5, latency_max_ms=6)],
    )
    found = {"event_date": NIGHT, "start_ms": START, "end_ms": START + 5, "severity": "INFO", "cause": "CLOCK"}
    write_rows(lake, FINDINGS, [
        found | {"kind": "CLOCK_STEP", "sentence": f"of {group}", "producer_group": group}
        for group in (GROUP, "PG_other", None)
    ])  # fmt: skip
    write_rows(lake, EVENTS, [
        {"event_date": NIGHT, "event_id": "e", "broker_name": "broker-b", "brokers": ["broker-b"],
         "severity": "WARNING", "bad_from_ms": START, "last_bad_ms": START + 9_000}
    ])  # fmt: skip
    follows = found | {"kind": "SENT_WHILE_ISOLATED", "event_id": "e"}
    write_rows(lake, FINDINGS, [
        follows | {"sentence": f"in the event of {group}", "producer_group": group} for group in (GROUP, "PG_other")
    ])  # fmt: skip
    write_rows(lake, REBALANCES, [{"event_date": NIGHT, "consumer_group": "GID", "moved": 3}])
    write_rows(lake, ALLOCATION_FINDINGS, [
        {"event_date": NIGHT, "consumer_group": "GID", "kind": "FLAPPING", "cause": "NONE_NEEDED", "basis": "EXPECTED",
         "sentence": "it comes and goes"}
    ])  # fmt: skip
    return lake


def _of_group(lake: Path) -> Published:
    return replace(open_published(str(lake), None, None, None), producer_group=GROUP)


def _tiles(page: str) -> dict[str, str]:
    """Without the day before."""
    page = re.sub(' <small class="was">[^<]*</small>', "", page)
    found = re.findall(r"<dt>([^<]*)</dt><dd>(.*?)</dd>", page)
    return {name: re.sub("<[^>]*>", "", text) for name, text in found}


def test_every_figure_is_of_the_group_or_says_of_whom(lake: Path) -> None:
    assert _tiles(render(_of_group(lake))) == {
        "sends lost": "2 2 before a broker was chosen",
        "saved by a retry": "1",
        "slow": "0",
        "events, of all producers": "1",
        "send attempts": "40",
        "attempts failed": "3 7.5 %",
        "isolations": "2 by 2 producers",
        "isolated, summed": "31.0 s",
        "findings about producers": "2 1 told with events",
    }
    whole = _tiles(render(open_published(str(lake), None, None, None)))
    assert (whole["send attempts"], whole["isolations"], whole["findings about producers"]) == (
        "540", "3 by 3 producers", "5 2 told with events",
    )  # fmt: skip
    assert {"findings about groups", "rebalances", "events"} <= whole.keys()


def test_each_figure_stands_beside_that_of_the_day_before(lake: Path) -> None:
    """One of a flow that did not run then is not known."""
    page = render(open_published(str(lake), None, None, None))
    was = dict(re.findall(r'<dt>([^<]*)</dt><dd>.*?<small class="was">([^<]*)</small></dd>', page))
    assert (was["isolations"], was["isolated, summed"]) == ("2026-03-01: 1", "2026-03-01: 1.0 s")
    assert was["rebalances"] == "2026-03-01: –"
    both = render(open_published(str(lake), None, BEFORE, NIGHT))
    assert '<small class="was">' not in both


def test_the_night_is_told_of_the_group_and_beside_its_own_nights(lake: Path) -> None:
    found = night(_of_group(lake))
    assert found.headline == (
        f"{GROUP}: 2 sends lost (2 before a broker was chosen), 1 saved by a retry, 0 slow; 2 producers isolated"
        " brokers for 31.0 s in all; 7.5 % of 40 send attempts failed."
    )
    assert [(day.date, day.sends, day.failures, day.isolations) for day in found.days] == [
        (BEFORE, 7, 1, 1), (NIGHT, 40, 3, 2),
    ]  # fmt: skip
    assert [each["sentence"] for each in found.findings] == [f"of {GROUP}"]
    (event,) = found.events
    assert [each["sentence"] for each in event.findings] == [f"in the event of {GROUP}"]
    quiet = replace(_of_group(lake), producer_group="PG_quiet")
    assert night(quiet).headline == (
        "PG_quiet: no send lost, retried or slow; no producer of it isolated a broker; 0 % of 0 send attempts failed."
    )


def test_nothing_of_other_groups_stands_on_the_page(lake: Path) -> None:
    page = render(_of_group(lake)).partition("<script>")[0]  # up to Plotly; the data come before it
    assert "p1" in page
    for other in ("PG_other", "p3", "GID", "it comes and goes", 'id="groups"'):
        assert other not in page, other
    assert "producer group <bdi>PG/&lt;b&gt;</bdi>" in page
    assert "Events, and the sends and latency above the timeline, are of all producers." in page
    assert "are of all producers" not in render(open_published(str(lake), None, None, None))


def test_the_page_draws_what_it_has(browser: Browser, lake: Path, tmp_path: Path) -> None:
    """In a file of its own name; without the section of consumer groups its scripts find nothing amiss."""
    file = tmp_path / "group.html"
    given = ("--lake", str(lake), "--producer-group", GROUP, "--output", str(file))
    assert cli.main(["report", *given]) == 0
    page = browser.new_page()
    said = console_of(page)
    page.goto(file.as_uri())
    page.wait_for_selector("#timeline-plot .barlayer")
    assert said == []
    page.locator("#events button").first.click()
    assert said == []
    assert page.locator("nav a").all_text_contents() == [
        "Events", "Timeline", "Findings", "Nights before", "Not drawn",
    ]  # fmt: skip
    page.close()


def test_its_file_is_named_after_the_group(
    lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["report", "--lake", str(lake), "--producer-group", GROUP]) == 0
    assert (tmp_path / f"faultline-{NIGHT}-PG%2F%3Cb%3E.html").is_file()
    assert "wrote faultline-" in capsys.readouterr().out


def test_a_group_that_no_table_holds_is_refused(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["report", "--lake", str(lake), "--producer-group", "PG_othr"]) == 2
    assert (
        f"no producer group 'PG_othr' in {NIGHT} of cluster 'main' (did you mean 'PG_other'?); there is"
        in capsys.readouterr().err
    )
    assert RUN_LOG.name not in "".join(str(file) for file in lake.parent.glob("*.html"))
