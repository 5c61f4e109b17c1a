"""Stories with their tables: each folder `given_…/` holds what was logged (`when/`) and what must come of it (`then/`).

All stories are replayed in one run of two days. Each is kept apart by its name before every client id, producer group,
topic and broker name, in its settings and routes too; the name is taken off again before the rows are compared. A text
such as "2026-03-01T12:00:00.000Z" under a name ending in `_ms` stands for its epoch milliseconds. A table of `then/`
is compared whole: every row of the story, in the columns that its lines name.
"""

from __future__ import annotations

import datetime as dt
import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from jobs.settings.model import Settings
from jobs.settings.toml_dataclass import typed
from tests.given.one_pool import ONE_POOL, warned_of_windows
from tests.given.site import D1, D2, Site, write_lines

STORIES = sorted(Path(__file__).parent.glob("given_*"))
NAMED = ("client_id", "producer_group", "broker_name", "result_broker_name", "topic", "first_producer", "last_producer")
FAULTS = {"given_a_clock_that_was_set_back": pytest.mark.fault(13)}
Rows = list[dict[str, Any]]


def _lines(file: Path) -> Rows:
    rows: Rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return [{name: _epoch_ms(name, value) for name, value in row.items()} for row in rows]


def _epoch_ms(name: str, value: object) -> object:
    if name.endswith("_ms") and isinstance(value, str):
        return round(dt.datetime.fromisoformat(value).timestamp() * 1000)
    return value


def _named(story: Path, row: dict[str, Any]) -> dict[str, Any]:
    return {name: f"{story.name}/{value}" if name in NAMED else value for name, value in row.items()}


def _route(story: Path, row: dict[str, Any]) -> dict[str, Any]:
    """A route as the name server answers it: its body is text, its brokers are the story's."""
    body = row["body"]
    for part in (*body["brokerDatas"], *body["queueDatas"]):
        part["brokerName"] = f"{story.name}/{part['brokerName']}"
    return _named(story, row) | {"body": json.dumps(body)}


def _settings(routes: Path) -> Settings:
    producers = {
        f"{story.name}/{producer}": told
        for story in STORIES
        if (file := story / "when" / "settings.toml").is_file()
        for producer, told in tomllib.loads(file.read_text(encoding="utf-8"))["producers"].items()
    }
    return typed(Settings, {"producers": producers, "inputs": {"routes": {"path": [str(routes)]}}})


@pytest.fixture(scope="module")
def site(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Site:
    folder = tmp_path_factory.mktemp("scenarios")
    answers = [
        _route(story, row)
        for story in STORIES
        for file in (story / "when").glob("routes.jsonl")
        for row in _lines(file)
    ]
    write_lines(folder / "routes.jsonl", answers)
    told = Site(spark, folder, _settings(folder / "routes.jsonl"))
    for story in STORIES:
        told.log((_named(story, row) for row in _lines(story / "when" / "sends.jsonl")), f"{story.name}.jsonl")
        if (recorded := story / "when" / "fault_item_updates.jsonl").is_file():
            lines = (_named(story, row) for row in _lines(recorded))
            write_lines(folder / "fault_item_updates" / f"{story.name}.jsonl", lines)
    with warned_of_windows(spark) as warned:
        told.run(D1, D2)
        told.warned = warned()  # type: ignore[attr-defined]
    return told


@pytest.mark.fault(18)
def test_no_window_goes_over_all_rows(site: Site) -> None:
    assert ONE_POOL not in site.warned  # type: ignore[attr-defined]


def _of_story(site: Site, story: Path, table: str, columns: list[str]) -> Rows:
    """The story's rows, as its lines name them."""
    prefix = f"{story.name}/"
    rows = [row for row in site.rows(table) if any(str(row.get(name)).startswith(prefix) for name in NAMED)]
    return [{name: _plain(row[name], prefix) for name in columns} for row in rows]


def _plain(value: object, prefix: str) -> object:
    if isinstance(value, dt.date):
        return value.isoformat()
    return value.replace(prefix, "") if isinstance(value, str) else value


@pytest.mark.parametrize(
    ("story", "table"),
    [pytest.param(story, file.stem, id=f"{story.name}-{file.stem}", marks=FAULTS.get(story.name, ()))
     for story in STORIES for file in sorted((story / "then").glob("*.jsonl"))],
)  # fmt: skip
def test_story(site: Site, story: Path, table: str) -> None:
    expected = _lines(story / "then" / f"{table}.jsonl")
    found = _of_story(site, story, table, list(expected[0]))
    assert sorted(found, key=json.dumps) == sorted(expected, key=json.dumps)


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)
def test_a_story_is_told_and_drawn(story: Path) -> None:
    title, *rest = (story / "README.md").read_text(encoding="utf-8").splitlines()
    assert title.startswith("# ")
    assert rest.count("```") == 2
    assert list((story / "then").glob("*.jsonl"))
