"""Text logs: each line fits the pattern and is judged like any other, or is quarantined with its number."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from jobs.settings.load import load_settings
from jobs.settings.model import Settings
from tests.given.send_logs import DAY, NOON_MS, OUTCOMES, bad_lines, fates, line, stage, write

PATTERN = (
    r"(?<ended_at_ms>\d+) \[(?<client_id>[^\]]*)\] (?<what>.*?) via (?<broker_name>\S+)"
    r"(?: cause=(?<cause>\w+))? took=(?<took>\S+) (?<outcome>\w*)"
)


def _settings(folder: Path, **sends: object) -> Settings:
    fields = {"latency_ms": {"column": "took", "unit": "us"}, "topic": "what"}
    given = {"path": str(folder), "pattern": PATTERN, "fields": fields, "values": {"outcome": {"OK": "SEND_OK"}}}
    return load_settings([], [], {"inputs.sends": {**given, **sends}})


@pytest.mark.parametrize("zipped", [False, True])
def test_a_line_of_text_is_taken_apart_or_quarantined(spark: SparkSession, tmp_path: Path, zipped: bool) -> None:  # noqa: FBT001
    lines = [
        f"\ufeff{NOON_MS} [c@1] a topic via broker-a took=1999 OK\r",
        "",
        f"{NOON_MS} [c@2] via via broker-ä cause=IOException took=2000 RemotingTimeoutException",
        f"{NOON_MS} [c@3] t via broker-a took=1000 Bad",
        f"{NOON_MS} [c@4] t via broker-a took=soon OK",
        f"{NOON_MS} [c@5] t via broker-a took=1000",  # 6: no blank before the outcome
        f"{NOON_MS} [c@6] t via broker-a took=1000 ",
        f"{NOON_MS} [] t via broker-a took=1000 OK",
        " a stack trace",
        f"{NOON_MS} [c@7] t via broker-\udcff took=1000 OK",
        f"{NOON_MS} [c\t8] t via broker-a took=1000 OK",
        f"{NOON_MS} [c@1] a topic via broker-a took=1999 OK",
    ]
    text = "\n".join(lines).encode(errors="surrogateescape")
    name = "sends.log.gz" if zipped else "sends.log"
    folder = write(tmp_path / "logs", {name: gzip.compress(text) if zipped else text})
    staged = stage(spark, folder, settings=_settings(folder))
    rows = staged.sends(DAY).orderBy("client_id").collect()
    assert [
        tuple(row[each] for each in ("client_id", "topic", "broker_name", "cause", "latency_ms")) for row in rows
    ] == [
        ("c@1", "a topic", "broker-a", None, 1),
        ("c@2", "via", "broker-ä", "IOException", 2),
    ]
    assert bad_lines(staged, folder) == {
        (name, 4): ("outcome_unknown", f"outcome=Bad{OUTCOMES}"),
        (name, 5): ("wrong_type", "latency_ms=soon"),
        (name, 6): ("pattern_mismatch", None),
        (name, 7): ("outcome_missing", None),
        (name, 8): ("client_id_missing", None),
        (name, 9): ("pattern_mismatch", None),
        (name, 10): ("invalid_utf8", None),
        (name, 11): ("control_character", "client_id=c\ufffd8"),
    }
    assert fates(staged) == {"PUBLISHED": 2, "QUARANTINED": 8, "DUPLICATE": 1}
    raws = {row["line"]: row["raw"] for row in staged.quarantine(DAY, "run").collect()}
    assert raws[9] == " a stack trace"


def test_files_of_another_name_keep_their_format(spark: SparkSession, tmp_path: Path) -> None:
    head = "ended_at_ms,client_id,broker_name,took,outcome"
    folder = write(
        tmp_path / "logs",
        {
            "a.log": f"{NOON_MS} [c@1] t via broker-a took=1000 OK".encode(),
            "b.csv": f"{head}\n{NOON_MS},c@2,broker-a,1000,OK\n".encode(),
            "c.jsonl": line(),  # read by the pattern like any text
        },
    )
    staged = stage(spark, folder, settings=_settings(folder))
    assert {row["client_id"] for row in staged.sends(DAY).collect()} == {"c@1", "c@2"}
    assert bad_lines(staged, folder) == {("c.jsonl", 1): ("pattern_mismatch", None)}


@pytest.mark.fault(20)
def test_bait_for_the_pattern_costs_its_own_line_only(spark: SparkSession, tmp_path: Path) -> None:
    """Lines that an engine which tries again would need years for; the good line after them is published."""
    start = f"{NOON_MS} [c@1] "
    baits = [start + "x" * 900_000, start + " via" * 200_000, start + " via b took=" * 70_000, "9" * 900_000]
    good = f"{NOON_MS} [c@9] t via broker-a took=1000 OK"
    folder = write(tmp_path / "logs", {"a.log": "\n".join([*baits, good]).encode()})
    staged = stage(spark, folder, settings=_settings(folder))
    assert [row["client_id"] for row in staged.sends(DAY).collect()] == ["c@9"]
    assert {number: reason for (_, number), (reason, _) in bad_lines(staged, folder).items()} == dict.fromkeys(
        (1, 2, 3, 4), "pattern_mismatch"
    )
