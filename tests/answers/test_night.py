"""What the page holds, before a browser sees it: the sentence, the nights before, what is drawn and what is not."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
import pytest

from jobs.answers.events import Event
from jobs.answers.gantt import Bar, lanes, merged
from jobs.answers.group_figure import group_figure
from jobs.answers.groups import NOBODY, SEVERAL, consumer_groups
from jobs.answers.minutes import minutes
from jobs.answers.night import Day, headline, night
from jobs.answers.published import Published, open_published
from jobs.answers.report import render
from jobs.answers.timeline import MOST_BARS, MOST_BROKERS, MOST_PRODUCERS, MOST_TOGETHER, timeline
from jobs.answers.timeline_figure import timeline_figure
from jobs.cli import main as cli
from jobs.tables import BROKER_WINDOWS, ISOLATION_INTERVALS, QUEUE_ALLOCATION
from tests.given.bad_night import write_bad_night
from tests.given.hostile_night import BEFORE, DRAWN, NIGHT, START, isolation, window, write_night
from tests.given.lakes import publish, write_rows

pytestmark = pytest.mark.usefixtures("own_folder")

QUIET: dict[str, Any] = dict.fromkeys((name for name in Day.__dataclass_fields__ if name != "date"), 0)
TROUBLE = {
    "event_id": "e", "broker_name": "broker-b", "brokers": ["broker-b"], "all_brokers": 3, "began_within_ms": 0,
    "kind": "REFUSED", "severity": "CRITICAL", "bad_from_ms": 0, "last_bad_ms": 36_000, "bad_until_ms": 36_200,
    "producers": 17, "hit_producers": 16, "avoiding_producers": 14,
    "avoided_until_ms": 600_200, "avoided_after_ms": 564_000,
}  # fmt: skip
"""Refused for 36 s, answered 0.2 s later, then avoided for 9 min 24 s."""
EVERYWHERE = {"broker_name": None, "brokers": ["a", "b", "c"], "began_within_ms": 40, "kind": "TIMED_OUT"}
COST = {"lost": 12, "unsent": 2, "saved": 340, "slow": 25}


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Published:
    lake = tmp_path_factory.mktemp("small")
    write_night(lake)
    return open_published(str(lake), None, None, None)


@pytest.fixture(scope="module")
def bad(tmp_path_factory: pytest.TempPathFactory) -> Published:
    lake = tmp_path_factory.mktemp("bad")
    write_bad_night(lake, 60_000)
    return open_published(str(lake), None, None, None)


@pytest.mark.parametrize(
    ("changed", "events", "sentence"),
    [
        (
            COST | {"sends": 500, "failures": 377, "isolations": 9, "events": 2, "info_events": 1},
            [TROUBLE] * 3,
            (
                "12 sends lost (2 before a broker was chosen), 340 saved by a retry, 25 slow. 2 events and 1 of"
                " severity INFO; the worst: broker-b refused sends from 16 of 17 producers for 36.0 s and answered"
                " again at 00:00:36; 14 producers avoided it, for up to 9 min 24 s after that."
            ),
        ),
        (
            {"saved": 3, "events": 1},
            [TROUBLE | EVERYWHERE | {"avoided_after_ms": 0}],
            (
                "No send lost, 3 saved by a retry, 0 slow. 1 event: 3 of 3 brokers timed out on sends from 16 of 17"
                " producers for 36.0 s; all began within 40 ms (not a broker; look at network, name server, or these"
                " producers); all answered again by 00:00:36; 14 producers avoided them."
            ),
        ),
        (
            {"saved": 3, "events": 1},
            [TROUBLE | EVERYWHERE | {"all_brokers": 6, "bad_until_ms": None, "avoided_after_ms": None}],
            (
                "No send lost, 3 saved by a retry, 0 slow. 1 event: 3 of 6 brokers timed out on sends from 16 of 17"
                " producers for 36.0 s; all began within 40 ms (several at once: look at what they share); no later"
                " answer is known; 14 producers avoided them."
            ),
        ),
        (
            {"slow": 1, "info_events": 1},
            [TROUBLE | {"kind": "SLOW", "hit_producers": 1, "avoiding_producers": 0, "avoided_after_ms": None}],
            (
                "No send lost, 0 saved by a retry, 1 slow. 1 event of severity INFO: broker-b was slow to answer 1 of"
                " 17 producers for 36.0 s and answered again at 00:00:36; no producer avoided it."
            ),
        ),
        (
            {"lost": 1, "events": 1},
            [TROUBLE | {"bad_until_ms": None, "avoided_after_ms": None}],
            (
                "1 send lost, 0 saved by a retry, 0 slow. 1 event: broker-b refused sends from 16 of 17 producers for"
                " 36.0 s; no later answer is known; 14 producers avoided it."
            ),
        ),
        (
            {"sends": 1, "isolations": 9, "isolating_producers": 1},
            [],
            "No send lost, retried or slow; no event, 1 producer isolated a broker; 0 % of 1 send attempt failed.",
        ),
        (
            {"sends": 1},
            [],
            (
                "A quiet night: no send lost, retried or slow; no event, no producer isolated a broker; 0 % of 1 send"
                " attempt failed."
            ),
        ),
        (
            {"sends": 8, "failures": 1},
            [],
            "No send lost, retried or slow; no event, no producer isolated a broker; 12 % of 8 send attempts failed.",
        ),
        (
            {"sends": 8, "saved": 1},
            [],
            (
                "No send lost, 1 saved by a retry, 0 slow; no event, no producer isolated a broker; 0 % of 8 send"
                " attempts failed."
            ),
        ),
        (
            {"lost": 2, "unsent": 2},
            [],
            (
                "2 sends lost (2 before a broker was chosen), 0 saved by a retry, 0 slow; no event, no producer"
                " isolated a broker; 0 % of 0 send attempts failed."
            ),
        ),
        ({"rebalances": 2, "moved": 5}, [], "2 rebalances moved 5 queues; no send log was given."),
        (
            {"rebalances": 1, "moved": 1, "has_sends": True},
            [],
            "1 rebalance moved 1 queue; no send attempt was logged.",
        ),
        ({"has_sends": True}, [], "Nothing happened that the tables tell of; no send attempt was logged."),
        ({"has_groups": True}, [], "Nothing happened that the tables tell of; no send log was given."),
    ],
)
def test_the_night_in_a_sentence(changed: dict[str, int], events: list[dict[str, Any]], sentence: str) -> None:
    assert headline(Day(NIGHT, **QUIET | changed), [Event(row) for row in events]) == sentence


def test_the_nights_before_stand_beside_it(small: Published) -> None:
    before, asked = night(small).days
    assert (before.date, before.sends, before.isolations) == (BEFORE, 500, 0)
    assert (asked.date, asked.sends, asked.failures, asked.events, asked.rebalances) == (NIGHT, 2760, 45, 7, 1)
    assert (asked.isolations, asked.isolated_ms) == (15, 30_000 + 2 + 10_000 + 12 * 10_000)


def test_a_producer_that_isolated_on_two_days_is_one_producer(tmp_path: Path) -> None:
    publish(tmp_path, BEFORE, NIGHT)
    write_rows(tmp_path, ISOLATION_INTERVALS, [isolation("p1", "a", 0, 1, event_date=day) for day in (BEFORE, NIGHT)])
    both = night(open_published(str(tmp_path), None, BEFORE, NIGHT))
    assert (both.whole.isolations, both.whole.isolating_producers) == (2, 1)


def test_a_page_of_several_days_tells_the_day_of_each_time(small: Published) -> None:
    one_day, two_days = render(small), render(open_published(small.root, None, BEFORE, NIGHT))
    assert '<td class="time">00:00:06.000' in one_day
    assert '<td class="time">2026-03-02 00:00:06.000' in two_days


def test_the_worst_broker_stands_on_top_with_its_worst_producer(small: Published) -> None:
    rows = timeline(small).rows
    assert [(row.broker_name, row.client_id) for row in rows if row.broker_name == "broker-a"] == [
        ("broker-a", None),
        ("broker-a", None),  # its group
        ("broker-a", "p1"),
        ("broker-a", "p2"),
        ("broker-a", "p3"),
    ]
    assert (rows[0].broker_name, rows[0].isolated_ms, rows[0].isolations) == ("broker-b", 60_000, 6)


def test_two_groups_of_one_client_id_have_a_row_each(tmp_path: Path) -> None:
    publish(tmp_path, NIGHT)
    stretches = [isolation("p1", "a", 0, 5, producer_group=group) for group in ("PG1", "PG2")]
    write_rows(tmp_path, ISOLATION_INTERVALS, stretches)
    drawn = timeline(open_published(str(tmp_path), None, None, None))
    assert [row.producer_group for row in drawn.rows] == [None, "PG1", "PG2"]
    assert [bar.row for bar in drawn.bars] == [1, 2]


def bar(row: int, start_ms: int, end_ms: int, kind: str = "slow") -> Bar:
    return Bar(row, kind, False, start_ms, end_ms, {})


def spans(bars: list[Bar]) -> list[tuple[int, int, int, str, int]]:
    return [(each.row, each.start_ms, each.end_ms, each.kind, each.rows) for each in bars]


def test_bars_are_joined_only_when_there_are_too_many() -> None:
    close = [bar(0, 0, 10), bar(0, 11, 20), bar(0, 900, 1000), bar(0, 12, 13, "time-out"), bar(1, 0, 10)]
    assert merged(close, 5) == close
    assert spans(merged(close, 4)) == [
        (0, 0, 20, "slow", 2),
        (0, 900, 1000, "slow", 1),
        (0, 12, 13, "time-out", 1),
        (1, 0, 10, "slow", 1),
    ]


def test_a_row_that_changes_hands_all_the_time_is_blurred_where_it_does() -> None:
    hands = [bar(0, start, start + 1, "c1" if start % 2 else "c2") for start in range(50)]
    assert spans(merged([*hands, bar(0, 50, 5000, "c1")], 10, SEVERAL)) == [
        (0, 50, 5000, "c1", 1),
        (0, 0, 50, SEVERAL, 50),
    ]


def test_bars_that_overlap_lie_side_by_side_only_there() -> None:
    first, over, after = bar(0, 0, 10), bar(0, 5, 15), bar(0, 15, 20)
    found = {(each.whole or each, each.start_ms): place for each, place in lanes([after, over, first]).items()}
    assert found == {
        (first, 0): (0, 1), (first, 5): (0, 2), (over, 5): (1, 2), (over, 10): (0, 1), (after, 15): (0, 1),
    }  # fmt: skip
    moment, day = bar(0, 5, 5), bar(0, 0, 20)
    assert lanes([moment, day]) == {moment: (0, 1), day: (0, 1)}


@pytest.mark.fault(32)
def test_a_bad_night_is_bounded_and_its_counts_add_up(bad: Published) -> None:
    drawn = timeline(bad)
    producers = [row for row in drawn.rows if row.client_id]
    bars = [bar for bar in drawn.bars if "client_id" in bar.source]
    assert len(producers) == MOST_PRODUCERS
    assert len({row.broker_name for row in drawn.rows}) == MOST_BROKERS
    assert len(bars) <= MOST_BARS
    assert len(drawn.bars) - len(bars) <= MOST_TOGETHER
    isolations = sum(row.isolations for row in producers)
    assert sum(each.rows for each in bars) == isolations
    (left_out,) = [text for text in drawn.not_drawn if f"beyond the {MOST_PRODUCERS} worst" in text]
    assert f"with {60_000 - isolations:,} isolations of " in left_out
    assert f"{isolations:,} isolations are drawn as {len(bars):,} bars" in "".join(drawn.not_drawn)
    assert len(render(bad).encode()) < 10_000_000


def test_minutes_are_few_enough_over_many_days(tmp_path: Path) -> None:
    days = [NIGHT + dt.timedelta(days=number) for number in range(3)]
    publish(tmp_path, *days)
    rows = [
        {**window(number * 1440 + minute, sends=2, latency_p99_ms=minute), "event_date": day}
        for number, day in enumerate(days)
        for minute in range(1440)
    ]
    write_rows(tmp_path, BROKER_WINDOWS, rows)
    found = minutes(open_published(str(tmp_path), None, days[0], days[-1]), 8)
    assert (found.all_brokers[0].width_ms, len(found.all_brokers)) == (5 * 60_000, 3 * 288)
    first = found.all_brokers[0]
    assert (first.start_ms, first.sends, first.latency_p99_ms, first.latency_p50_ms) == (START, 10, 4, None)


@pytest.mark.parametrize("name", ["small", "bad"])
def test_plotly_knows_every_attribute_of_the_pictures(name: str, request: pytest.FixtureRequest) -> None:
    published = request.getfixturevalue(name)
    figure, views = timeline_figure(
        timeline(published), minutes(published, 8, night(published).events), night(published).drawn_events
    )
    for each in (figure, *map(group_figure, consumer_groups(published).ownership)):
        go.Figure(each["data"], each["layout"])
    for view in views:
        go.Figure(view)


def test_a_lake_without_a_run_s_rows_still_gives_a_page(tmp_path: Path) -> None:
    publish(tmp_path / "lake", NIGHT)
    page = render(open_published(str(tmp_path / "lake"), None, None, None))
    assert "Nothing happened that the tables tell of; no send attempt was logged." in page
    assert '<p class="none">No sends are published for these days. </p>' in page
    assert '<p class="none">No consumer snapshots were given.</p>' in page
    assert "The lake holds no day before." in page
    assert "Everything is drawn." in page


def test_without_observed_owners_the_strategy_s_are_drawn(tmp_path: Path) -> None:
    publish(tmp_path, NIGHT)
    row = {"event_date": NIGHT, "cluster": "main", "consumer_group": "g", "topic": "T", "broker_name": "a"}
    given = row | {"start_ms": START, "end_ms": START + 5}
    write_rows(tmp_path, QUEUE_ALLOCATION, [given | {"client_id": "c1"}, given | {"queue_id": 1}])
    (owned,) = consumer_groups(open_published(str(tmp_path), None, None, None)).ownership
    assert owned.known_from == "who should own them, by the strategy"
    assert [(each.kind, each.hollow) for each in owned.bars] == [("c1", False), ("nobody", True)]


def test_a_client_may_be_called_nobody(tmp_path: Path) -> None:
    publish(tmp_path, NIGHT)
    row = {"event_date": NIGHT, "cluster": "main", "consumer_group": "g", "topic": "T", "broker_name": "a"}
    given = row | {"start_ms": START, "end_ms": START + 5}
    names = (NOBODY, SEVERAL, None, "")
    owners = [given | {"queue_id": number, "client_id": name} for number, name in enumerate(names)]
    write_rows(tmp_path, QUEUE_ALLOCATION, owners)
    (owned,) = consumer_groups(open_published(str(tmp_path), None, None, None)).ownership
    traces = [each for each in group_figure(owned)["data"] if each["meta"] == "owner"]
    assert [(each["name"], each["y"]) for each in traces] == [("", [3]), (NOBODY, [0]), (SEVERAL, [1]), (NOBODY, [2])]


def test_report_writes_one_file_and_says_so(capsys: pytest.CaptureFixture[str], small: Published) -> None:
    assert cli.main(["report", "--lake", small.root, "--date", f"{NIGHT}"]) == 0
    assert capsys.readouterr().out.startswith(f"wrote faultline-{NIGHT}.html (")
    assert cli.main(["report", "--lake", small.root, "--from", f"{BEFORE}", "--to", f"{NIGHT}"]) == 0
    assert [file.name for file in sorted(Path().iterdir())] == [
        "faultline-2026-03-01-to-2026-03-02.html",
        "faultline-2026-03-02.html",
    ]


def test_the_same_lake_gives_the_same_page(small: Published) -> None:
    assert render(small) == render(small)
    assert len(DRAWN) == sum(bar.rows for bar in timeline(small).bars if "client_id" in bar.source)


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["--output", "none/page.html"], 2, "--output none/page.html cannot be written: No such file or directory"),
        (["--output", "."], 2, "--output . cannot be written: "),
        (["--date", "2026-02-01"], 3, "nothing of 2026-02-01 is published for cluster 'main'"),
        (["--from", "2026-02-01", "--to", "2026-02-03"], 3, "nothing of 2026-02-01 to 2026-02-03 is published"),
        (["--from", "2026-02-01"], 2, "--from and --to go together; give both"),
    ],
)
def test_a_mistake_is_a_sentence(
    capsys: pytest.CaptureFixture[str], small: Published, arguments: list[str], code: int, sentence: str
) -> None:
    assert cli.main(["report", "--lake", small.root, *arguments]) == code
    assert sentence in capsys.readouterr().err
    assert not list(Path().iterdir())
