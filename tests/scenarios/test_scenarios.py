"""Stories with their tables: each folder `given_…/` holds what was logged (`when/`) and what must come of it (`then/`).

All stories are replayed in one run of two days. Each is kept apart by its name before every client id, producer group,
topic and broker name, in its settings and routes too; the name is taken off again before the rows are compared. A text
such as "2026-03-01T12:00:00.000Z" under a name ending in `_ms` stands for its epoch milliseconds. A table of `then/`
is compared whole: every row of the story, in the columns that its lines name.
"""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

import pytest

from tests.given.one_pool import ONE_POOL
from tests.given.site import Site
from tests.given.stories import NAMED, STORIES, Rows, lines_of

FAULTS = {"given_a_clock_that_was_set_back": pytest.mark.fault(13)}


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
    expected = lines_of(story / "then" / f"{table}.jsonl")
    found = _of_story(site, story, table, list(expected[0]))
    assert sorted(found, key=json.dumps) == sorted(expected, key=json.dumps)


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)
def test_a_story_is_told_and_drawn(story: Path) -> None:
    title, *rest = (story / "README.md").read_text(encoding="utf-8").splitlines()
    assert title.startswith("# ")
    assert rest.count("```") == 2
    assert list((story / "then").glob("*.jsonl"))
