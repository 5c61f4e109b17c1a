"""The stories of `tests/scenarios`, read so that each is apart from the others by its name."""

from __future__ import annotations

import datetime as dt
import json
import tomllib
from pathlib import Path
from typing import Any

from jobs.settings.model import Settings
from jobs.settings.toml_dataclass import typed

STORIES = sorted((Path(__file__).parents[1] / "scenarios").glob("given_*"))
NAMED = ("client_id", "producer_group", "broker_name", "result_broker_name", "topic", "first_producer", "last_producer")
Rows = list[dict[str, Any]]


def lines_of(file: Path) -> Rows:
    """The file's rows, times of day as epoch milliseconds."""
    rows: Rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return [{name: _epoch_ms(name, value) for name, value in row.items()} for row in rows]


def _epoch_ms(name: str, value: object) -> object:
    if name.endswith("_ms") and isinstance(value, str):
        return round(dt.datetime.fromisoformat(value).timestamp() * 1000)
    return value


def named(story: Path, row: dict[str, Any]) -> dict[str, Any]:
    """The row, its names under that of the story."""
    return {name: f"{story.name}/{value}" if name in NAMED else value for name, value in row.items()}


def route_of(story: Path, row: dict[str, Any]) -> dict[str, Any]:
    """A route as the name server answers it: its body is text, its brokers are the story's."""
    body = row["body"]
    for part in (*body["brokerDatas"], *body["queueDatas"]):
        part["brokerName"] = f"{story.name}/{part['brokerName']}"
    return named(story, row) | {"body": json.dumps(body)}


def settings_of(routes: Path) -> Settings:
    """Those of all stories."""
    producers = {
        f"{story.name}/{producer}": told
        for story in STORIES
        if (file := story / "when" / "settings.toml").is_file()
        for producer, told in tomllib.loads(file.read_text(encoding="utf-8"))["producers"].items()
    }
    return typed(
        Settings, {"producers": producers, "inputs": {"routes": {"path": [str(routes)]}}, "max_bad_fraction": 0.1}
    )
