"""What a kept night's folder says of attempts that another hand than the recorder's saw."""

from __future__ import annotations

import json
from pathlib import Path

from tests.lab.night import Night


def write(file: Path, *rows: dict[str, object]) -> None:
    file.parent.mkdir(parents=True)
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")


def update(broker: str, at_ms: int, end_ms: int | None) -> dict[str, object]:
    return {"client_id": "p", "broker_name": broker, "updated_at_ms": at_ms, "available_at_ms": end_ms}


def attempt(broker: str, end_ms: int, outcome: str, *, is_on: bool) -> dict[str, object]:
    return {"broker_name": broker, "ended_at_ms": end_ms, "outcome": outcome, "fault_latency_enabled": is_on}


def call(at_ms: int, error: str) -> dict[str, object]:
    return {"at_ms": at_ms, "error": error}


def test_bad_attempts_are_seen_by_clients_with_the_switch_on_and_logged_by_applications_without(tmp_path: Path) -> None:
    write(tmp_path / "producers/on/sends/a.jsonl", attempt("a", 5_000, "X", is_on=True))  # the recorder alone says so
    write(tmp_path / "watched/on/1/truth_updates.jsonl", update("a", 1_000, 3_000), update("a", 2_000, 0))
    write(
        tmp_path / "producers/off/sends/a.jsonl",
        *(attempt("b", end_ms, "X", is_on=False) for end_ms in (4_000, 6_000)),
        attempt("b", 4_020, "SEND_OK", is_on=False),
        attempt("c", 4_030, "SENT", is_on=False),
    )
    write(tmp_path / "watched/off/1/truth_calls.jsonl", call(4_001, "X"), call(6_000, ""))
    assert Night(tmp_path, tmp_path / "lake").seen_bad == {"a": [1_000], "b": [4_000]}
