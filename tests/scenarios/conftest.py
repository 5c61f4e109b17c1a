"""One lake of all stories, and of the producers whose clients recorded their fault items."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tests.given.one_pool import warned_of_windows
from tests.given.recorded_producers import BAD, SENDS, UPDATES
from tests.given.site import D1, D2, Site, write_lines
from tests.given.stories import STORIES, lines_of, named, route_of, settings_of


@pytest.fixture(scope="session")
def site(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Site:
    """All of them, in one run of two days."""
    folder = tmp_path_factory.mktemp("scenarios")
    answers = [
        route_of(story, row)
        for story in STORIES
        for file in (story / "when").glob("routes.jsonl")
        for row in lines_of(file)
    ]
    write_lines(folder / "routes.jsonl", answers)
    told = Site(spark, folder, settings_of(folder / "routes.jsonl"))
    for story in STORIES:
        told.log((named(story, row) for row in lines_of(story / "when" / "sends.jsonl")), f"{story.name}.jsonl")
        if (recorded := story / "when" / "fault_item_updates.jsonl").is_file():
            lines = (named(story, row) for row in lines_of(recorded))
            write_lines(folder / "fault_item_updates" / f"{story.name}.jsonl", lines)
    told.log(SENDS, "recorded.jsonl")
    write_lines(folder / "fault_item_updates" / "recorded.jsonl", [*UPDATES, *UPDATES[:1], *BAD])
    with warned_of_windows(spark) as warned:
        told.counts = [done.counts for done in told.run(D1, D2).days]  # type: ignore[attr-defined]
        told.warned = warned()  # type: ignore[attr-defined]
    return told
