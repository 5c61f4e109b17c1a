"""Published days made anew from the lake's own sends: as if the input had been published with the settings of now."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from jobs.tables import RUN_LOG
from tests.given.commands import Said, command
from tests.given.site import D1, Line, at, published_rows, send, write_lines

TIMED_OUT = "RemotingTimeoutException"
LOG: list[Line] = [
    send(at(D1, "10:00:00"), 10, TIMED_OUT, order_key="k1", invoke_id=1),
    send(at(D1, "10:00:20"), order_key="k1", queue_id=1, invoke_id=2),
    send(at(D1, "12:00:00"), 700, invoke_id=3),
    send(at(D1, "12:30:00"), invoke_id=4),
]
# A ladder by which a failure, looked up at 10 s, isolates for ten minutes instead of ten seconds.
LADDER = "[producers.PG]\nlatency_max_ms = [500]\nnot_available_ms = [600000]\n"
OF_THE_INPUT = ("sends", "fault_item_updates", "topic_brokers", "order_key_moves", "quarantine")
DERIVED = ("fault_item_changes", "isolation_intervals", "fault_item_state", "broker_windows", "broker_incidents",
           "producer_days", "send_calls", "plain_calls", "findings")  # fmt: skip


def _tables(lake: Path, names: tuple[str, ...]) -> dict[str, list[dict[str, Any]]]:
    return {name: published_rows(lake / name, (), {}) for name in names}


class _Lake:
    """A lake, and the commands that publish its day and make it anew."""

    def __init__(self, spark: SparkSession, folder: Path, name: str) -> None:
        self._spark, self.root, self._logs = spark, folder / name, folder / "logs"
        write_lines(self._logs / "sends.jsonl", LOG)
        (folder / "ladder.toml").write_text(LADDER, encoding="utf-8")
        self.ladder = ("--settings", folder / "ladder.toml")

    def publish(self, *settings: object) -> Said:
        given = ("--sends", self._logs, "--date", D1, *settings)
        return command(self._spark, "fault-latency", "--lake", self.root, *given)

    def recompute(self, *more: object) -> Said:
        return command(self._spark, "fault-latency", "--recompute", "--lake", self.root, *more)


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> _Lake:
    """A day, published with the released ladder."""
    found = _Lake(spark, tmp_path_factory.mktemp("recompute"), "lake")
    assert found.publish().code == 0
    return found


@pytest.fixture(scope="module")
def recomputed(lake: _Lake) -> Said:
    """By the site's own ladder."""
    before = _tables(lake.root, OF_THE_INPUT)
    assert before["order_key_moves"]
    said = lake.recompute("--date", D1, *lake.ladder)
    assert _tables(lake.root, OF_THE_INPUT) == before
    return said


def test_a_recompute_ends_in_the_tables_of_a_run_with_the_input(
    spark: SparkSession, lake: _Lake, recomputed: Said
) -> None:
    assert recomputed.code == 0, recomputed.err
    anew = _Lake(spark, lake.root.parent, "anew")
    assert anew.publish(*anew.ladder).code == 0
    found = _tables(lake.root, DERIVED)
    assert found == _tables(anew.root, DERIVED)
    assert [(row["event_date"], row["end_ms"] - row["start_ms"]) for row in found["isolation_intervals"]] == [
        (D1, 600_000), (D1, 600_000),
    ]  # fmt: skip


def test_the_run_log_says_what_made_each_day(lake: _Lake, recomputed: Said) -> None:
    assert recomputed.code == 0
    names = ("event_seq", "command", "event_date", "rows_read", "settings_hash", "input_settings_hash")
    log = published_rows(lake.root / RUN_LOG.name, names, {"status": "SUCCEEDED"})
    assert [(row["command"], row["event_date"], row["rows_read"]) for row in log] == [
        ("fault-latency", D1, len(LOG)), ("recompute", D1, None),
    ]  # fmt: skip
    assert len({row["settings_hash"] for row in log}) == 2
    assert len({row["input_settings_hash"] for row in log}) == 1


def test_it_says_what_it_made_anew_and_what_it_left(recomputed: Said) -> None:
    (said,) = recomputed.section("2026-03-01")
    assert said == (
        "2026-03-01: recomputed from the lake's own sends; what only the input says stays as it was (sends,"
        " fault_item_updates, topic_brokers, order_key_moves, quarantine, and all of allocation)"
    )
    assert "faultline fault-latency --recompute: 2026-03-01 (--date), each cluster" in recomputed.err


def test_a_day_that_the_lake_does_not_have_is_refused(lake: _Lake) -> None:
    said = lake.recompute("--date", "2026-03-09")
    assert said.code == 3
    assert said.sentence == (
        "faultline: the lake has no day of 2026-03-09 to 2026-03-09 to recompute; its days are 2026-03-01 to"
        " 2026-03-01, name one of them"
    )
