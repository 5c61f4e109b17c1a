"""Published allocations against the process-queue tables of real consumers."""

from __future__ import annotations

import datetime as dt
import io
from pathlib import Path

import pytest
from allocation_agreement import RECORDINGS, agreement
from pyspark.sql import SparkSession

from jobs.allocation_run import run_allocation
from jobs.progress import Progress
from jobs.run_record import Run
from jobs.settings import load_settings

DAY = dt.date(2026, 11, 21)


@pytest.fixture(scope="module", params=["4.7.1-mini", "4.9.8", "5.3.3"])
def published(request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake with the recording's day; its parent is the recording's name."""
    name: str = request.param
    recording, lake = RECORDINGS / name, tmp_path_factory.mktemp("lake") / name
    paths = {
        f"inputs.{kind}.path": [str(recording / f"{kind}.jsonl.gz")] for kind in ("consumers", "routes", "running_info")
    }
    settings = load_settings([recording / "groups.toml"], [], {**paths, "lake": str(lake)})
    run = Run("truth", "allocation", (DAY,), False, True, lambda: dt.datetime(2026, 11, 22, tzinfo=dt.UTC))
    run_allocation(spark, settings, run, Progress(io.StringIO()))
    return lake


def test_what_is_allocated_is_what_is_held(published: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = agreement(RECORDINGS / published.name, published, quiet_ms=55_000)
    total = found.matched + found.explained
    samples = sum(total.values()) + len(found.unexplained)
    with capsys.disabled():
        print(
            f"\n{published.name}, unchanged for 55 s: matched {sum(found.matched.values())} / {samples},"
            f" explained {sum(found.explained.values())}, unexplained {len(found.unexplained)}"
            f" (not determinable: {dict(found.not_determinable)})"
        )
        for group, count in sorted(total.items()):
            print(f"  {group:<14}{found.matched[group]} / {count}")
    figures = f"{sum(found.matched.values())} / {samples} | {sum(found.explained.values())} | {len(found.unexplained)}"
    assert f"| {published.name} | {figures} |" in (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    assert not found.unexplained, "\n".join(found.unexplained[:5])
    assert {group.rsplit("_", 1)[0] for group in found.explained} <= {"g_config"}
    assert {group.rsplit("_", 1)[0] for group in found.not_determinable} <= {"g_pop", "g_brk"}
    assert sum(found.matched.values()) > 300
