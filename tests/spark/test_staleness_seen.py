"""How long an answer of a snapshot holds: `max_staleness_ms`, in every table that rests on answers."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from jobs.settings.load import load_settings
from tests.given.site import D1, at
from tests.given.snapshot_site import SnapshotSite, connection, route, running_info

NOON, MINUTE = at(D1, "12:00:00"), 60_000
SETTINGS = [f"max_staleness_ms={MINUTE}"]


@pytest.fixture(scope="module")
def site(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SnapshotSite:
    """Answers at noon, one millisecond more than a minute later, and again exactly a minute after that."""
    made = SnapshotSite(spark, tmp_path_factory.mktemp("stale"), load_settings([], SETTINGS, {}))
    times = (NOON, NOON + MINUTE + 1, NOON + 2 * MINUTE + 1)
    made.log("consumers", [connection(at_ms, ["c1"]) for at_ms in times])
    made.log("routes", [route(at_ms, a=1) for at_ms in times])
    made.log("running_info", [running_info(at_ms, "c1", "AllocateMessageQueueAveragely") for at_ms in times])
    made.run(D1)
    return made


@pytest.mark.parametrize("table", ["group_members", "topic_queues", "queue_allocation", "queue_ownership"])
def test_an_answer_holds_for_so_long_and_no_longer(site: SnapshotSite, table: str) -> None:
    stretches = site.rows(table, "start_ms", "end_ms")
    print(table, [{name: value - NOON for name, value in row.items()} for row in stretches])
    assert stretches[0] == {"start_ms": NOON, "end_ms": NOON + MINUTE}
    assert stretches[1]["start_ms"] == NOON + MINUTE + 1
    assert len(stretches) == 2
