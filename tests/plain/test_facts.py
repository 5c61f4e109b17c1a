"""What a run says of itself: lines by where they went, and each thing that needs a look."""

from __future__ import annotations

import dataclasses
import datetime as dt
from typing import Any

import pytest

from jobs.runs.facts import facts_of, facts_text
from jobs.runs.run import DayResult, PublishedDay, Run, RunResult
from jobs.settings.load import load_settings
from jobs.sources.staged import Counts
from jobs.tables.day import Day
from jobs.text.terminal import duration
from tests.given.quiet_answers import DAY, FACTS

DAY_LINE = (
    "2026-11-21, cluster north, fault-latency: 15,832 lines read = 15,700 published + 1,002 quarantined"
    " + 3,003 duplicates + 4,004 of other days"
)
D1, D2 = dt.date(2026, 3, 1), dt.date(2026, 3, 2)


def _said(**facts: Any) -> list[str]:
    first, *notes = facts_text(dataclasses.replace(FACTS, **facts)).split("\n")
    assert first == DAY_LINE.replace("fault-latency", facts.get("flow", FACTS.flow))
    assert all(note.startswith("  ") for note in notes)
    return [note.strip() for note in notes]


def test_a_day_without_more_to_say() -> None:
    assert _said() == []


def test_other_clusters_are_counted_where_there_are_any() -> None:
    day = DAY | {"cluster": "no\x1brth", "rows_other_cluster": 5_005}
    line = facts_text(dataclasses.replace(FACTS, days=[day]))
    assert line == DAY_LINE.replace("north", "no\\x1brth") + " + 5,005 of other clusters"


@pytest.mark.parametrize(
    ("facts", "note"),
    [
        (
            {"recomputed_days": ["2026-11-18", "2026-11-19"]},
            (
                "2 days of 2026-11-18 to 2026-11-19 recomputed from the lake's own sends; tables of what only the input"
                " says stay as they were (sends, fault_item_updates, topic_brokers, order_key_moves, quarantine)"
            ),
        ),
        ({"warnings": ["a time to come, " * 20 + "at last"]}, "warning: " + "a time to come, " * 20 + "at last"),
        (
            {"cascaded_days": ["2026-11-22", "2026-11-23"]},
            "recomputed because the day before changed: 2026-11-22, 2026-11-23",
        ),
        (
            {"stale_days": ["2026-11-24", "2026-11-25"]},
            "not recomputed though the day before changed, from 2026-11-24 on: run without --no-cascade",
        ),
        (
            {"stale_days": ["2026-11-24"], "flow": "allocation"},
            "not recomputed though the day before changed, from 2026-11-24 on: run them again with their input",
        ),
        (
            {"forgotten_days": ["2026-11-18", "2026-11-19"]},
            (
                "not recomputed, as their sends are no longer in the lake (retention.sends_days):"
                " 2 days of 2026-11-18 to 2026-11-19"
            ),
        ),
        (
            {"read_otherwise": ["2026-11-20"]},
            (
                "2026-11-20: lines were read with other settings of the input than these, and stay so; publish them"
                " from the input"
            ),
        ),
        (
            {"other_settings": ["2026-11-18", "2026-11-20"]},
            (
                "made with other settings, or by another release: 2 days of 2026-11-18 to 2026-11-20; `faultline"
                " fault-latency --recompute --from 2026-11-18 --to 2026-11-20` recomputes them from the lake's sends"
            ),
        ),
        (
            {"other_settings": ["2026-11-18"], "flow": "allocation"},
            "made with other settings, or by another release: 2026-11-18; run them again with their input",
        ),
        ({"other_days": {"2026-11-20": 1_234}}, "1,234 lines of 2026-11-20: publish them with --date 2026-11-20"),
        ({"hidden_files": ["/l/\x1ba", "/l/_b"]}, "2 hidden or half-copied files were not read: /l/\\x1ba …"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
)
def test_each_note_is_made_for_its_own_reason(facts: dict[str, Any], note: str) -> None:
    assert _said(**facts) == [note]


def test_of_other_days_five_at_most_are_said() -> None:
    notes = _said(other_days={f"2026-11-{day:02}": day for day in range(1, 8)})
    assert [note.split()[3] for note in notes] == [f"2026-11-{day:02}:" for day in range(1, 6)]


def test_the_facts_of_a_result() -> None:
    settings = load_settings([], [], {})
    run = Run("r", "nightly", (D1, D2), allow_empty=False, cascade=True, clock=dt.datetime.now)
    result = RunResult(
        run,
        days=[
            DayResult(Day(D1, "north"), Counts(9, 5, 1, 2, 1, 0), PublishedDay("EMPTY", ""), {}),
            DayResult(Day(D2, "north"), None, PublishedDay("PREVIOUS_DAY", "", input_settings="another"), {}),
            DayResult(Day(dt.date(2026, 3, 3), "north"), None, PublishedDay("PREVIOUS_DAY", ""), {}, cascaded=True),
        ],
        other_days={D2: 4},
        clusters=["north"],
        hidden_files=(".a",),
        stale_days=[dt.date(2026, 3, 7)],
    )
    facts = facts_of("fault-latency", settings, result)
    assert facts.days == [
        {"date": "2026-03-01", "cluster": "north", "started_from": "EMPTY", "rows_read": 9, "rows_published": 5,
         "rows_quarantined": 1, "rows_duplicate": 2, "rows_other_day": 1, "rows_other_cluster": 0}
    ]  # fmt: skip
    assert (facts.recomputed_days, facts.cascaded_days) == (["2026-03-02"], ["2026-03-03"])
    assert (facts.stale_days, facts.read_otherwise) == (["2026-03-07"], ["2026-03-02"])
    assert (facts.other_days, facts.hidden_files) == ({"2026-03-02": 4}, [".a"])


@pytest.mark.parametrize(
    ("ms", "said"),
    [
        (0, "0.0 s"), (49, "0.0 s"), (59_940, "59.9 s"), (59_950, "1 min 00 s"), (60_000, "1 min 00 s"),
        (119_400, "1 min 59 s"), (119_600, "2 min 00 s"), (3_599_000, "59 min 59 s"), (3_599_600, "1 h 00 min"),
        (3_600_000, "1 h 00 min"), (90_061_000, "25 h 01 min"),
    ],
)  # fmt: skip
def test_a_duration_is_said_in_the_unit_that_fits(ms: int, said: str) -> None:
    assert duration(ms) == said
