"""What is read back from a lake after a run, of literal rows."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

from pyspark.sql import SparkSession

from jobs.fault_latency.summary import summarize
from jobs.runs.run import Run, RunResult
from jobs.settings.load import load_settings
from tests.given.lakes import LiteralLake
from tests.given.site import D1, D2

GROUPS = [f"PG_{number:03}" for number in range(150)]


def _summary_of_missing(spark: SparkSession, lake: LiteralLake, *clusters: str) -> list[str]:
    run = Run("r", "nightly", (D2,), allow_empty=False, cascade=True, clock=dt.datetime.now)
    settings = load_settings([], [], {"lake": str(lake.folder)})
    return summarize(spark, settings, RunResult(run, clusters=list(clusters))).missing_producers


def test_every_group_that_no_longer_sends_is_missing(spark: SparkSession, tmp_path: Path) -> None:
    """PG_000 still sends in the south alone, where it did not before; PG_001 in both as ever."""
    lake = LiteralLake(tmp_path)
    before = [{"cluster": "north", "producer_group": group, "client_id": "p"} for group in GROUPS]
    again = {"cluster": "south", "producer_group": "PG_001", "client_id": "q"}
    lake.add("producer_days", D1, *before, again)
    now = [("north", "PG_001"), ("south", "PG_001"), ("south", "PG_000")]
    lake.add("producer_days", D2, *({"cluster": cluster, "producer_group": group} for cluster, group in now))
    missing = [group for group in GROUPS if group != "PG_001"]
    assert _summary_of_missing(spark, lake, "north", "south") == missing
    assert _summary_of_missing(spark, lake, "south") == []
