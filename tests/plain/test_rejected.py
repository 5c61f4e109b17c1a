"""Bad lines of a run that publishes nothing: each reason with what may stand there instead, some lines in a file."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from jobs.sources.fit_to_publish import reason_text
from jobs.sources.rejected import write_rejected
from jobs.sources.staged import Staged
from tests.given.send_logs import DAY

ROW = {"source": "sends", "file": "/logs/a\u2028.log", "line": 7, "reason": "not_json",
       "reasons": ["not_json"], "detail": None, "raw": "{"}  # fmt: skip


class Rows:
    """Rows of quarantine that say how they were asked for."""

    def __init__(self, *rows: dict[str, Any]) -> None:
        self.rows = list(rows)

    def select(self, *columns: str) -> Rows:
        return Rows(*({name: row[name] for name in columns} for row in self.rows))

    def orderBy(self, *columns: str) -> Rows:  # noqa: N802 - Spark's name
        return Rows(*sorted(self.rows, key=lambda row: [row[name] for name in columns]))

    def limit(self, most: int) -> Rows:
        return Rows(*self.rows[:most])

    def collect(self) -> list[Any]:
        return [SimpleNamespace(asDict=lambda row=row: row) for row in self.rows]


def _staged(*rows: dict[str, Any]) -> Staged:
    return cast("Staged", SimpleNamespace(quarantine=lambda *_: Rows(*rows)))


def test_the_first_thousand_are_written_in_the_order_of_files(tmp_path: Path) -> None:
    (tmp_path / "_rejected.jsonl").write_text("of an earlier run")
    rows = [{**ROW, "line": number, "run_id": "r"} for number in range(1_001, 0, -1)]
    assert write_rejected(_staged(*rows), DAY, f"file:{tmp_path}") == f"{tmp_path}/_rejected.jsonl"
    lines = (tmp_path / "_rejected.jsonl").read_text(encoding="utf-8").split("\n")
    assert lines[-1] == ""
    assert [json.loads(line) for line in lines[:-1]] == [{**ROW, "line": number} for number in range(1, 1_001)]


def test_without_a_folder_of_the_lake_none_is_written(tmp_path: Path) -> None:
    assert write_rejected(_staged(ROW), DAY, f"{tmp_path}/none") is None
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_written_hides_nothing(tmp_path: Path) -> None:
    (tmp_path / "_rejected.jsonl").mkdir()
    assert write_rejected(_staged(ROW), DAY, str(tmp_path)) is None


@pytest.mark.parametrize(
    ("reason", "example", "text"),
    [
        ("not_json", None, "not_json 3"),
        ("line_too_long", "701 bytes", "line_too_long 3: 701 bytes"),
        ("outcome_unknown", "outcome=OK", "outcome_unknown 3: outcome=OK is not an outcome (nearest: SEND_OK)"),
        ("mode_unknown", "mode=sync", "mode_unknown 3: mode=sync is not one of SYNC, ASYNC, ONEWAY"),
        ("own", "queue_chosen_by=ME", "own 3: queue_chosen_by=ME is not one of CLIENT, CALLER"),
        ("client_version_unknown", "client_version=", "client_version_unknown 3: client_version="),
        ("wrong_type", "seq=x", "wrong_type 3: seq=x is not a whole number"),
        ("latency_out_of_range", "latency_ms=-1", "latency_out_of_range 3: latency_ms=-1"),
        ("body_not_json", "body=x", "body_not_json 3: body=x"),
    ],
)  # fmt: skip
def test_a_reason_has_a_value_and_what_may_stand_there(reason: str, example: str | None, text: str) -> None:
    assert reason_text(reason, 3, example) == text
