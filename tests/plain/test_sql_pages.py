"""What docs/sql.md shows is so: each view is listed, and the recipes without Spark run over a lake."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from jobs.serving.views import VIEWS, read_view
from tests.given.lakes import LiteralLake, in_duckdb
from tests.given.site import D1, at

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/sql.md").read_text(encoding="utf-8")
DUCKDB, DELTA_RS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one night in its lake, and the file that the page's command writes."""
    folder = tmp_path_factory.mktemp("checkout")
    lake = LiteralLake(folder / "lake")
    start = at(D1, "01:00:00")
    lake.add("run_log", D1, {"run_id": "r", "flow": "FAULT_LATENCY", "status": "SUCCEEDED"})
    lake.add("broker_windows", D1, {"broker_name": "broker-a", "isolated_ms": 90_000, "window_start_ms": start})
    isolation = {"client_id": "p1", "broker_name": "broker-a", "start_ms": start, "end_ms": start + 90_000}
    hostile = {"client_id": "</script><script>alert(1)</script>", "broker_name": "broker-b"}
    lake.add("isolation_intervals", D1, isolation | {"enforced": True}, isolation | hostile | {"enforced": True})
    in_duckdb(folder / "lake")
    return folder


def _run(checkout: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments], cwd=checkout, env=dict(os.environ), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_each_view_is_listed_with_its_question() -> None:
    listed = dict(re.findall(r"^\| \[`(\w+)`\]\(\S+/\1\.sql\) \| (.+\?) \|$", PAGE, re.MULTILINE))
    assert listed == {name: read_view(name).question for name in VIEWS}


def test_the_recipes_without_spark_run(checkout: Path) -> None:
    assert re.search(r"1 │ broker-a +│ +1\.5 ", _run(checkout, "-c", DUCKDB))
    assert _run(checkout, "-c", DELTA_RS) == "1 events of runs, at version 1; 0 at version 0\n"


def test_the_example_goes_from_the_lake_to_a_picture(checkout: Path) -> None:
    said = _run(checkout, str(ROOT / "docs/examples/isolations.py"))
    assert said == "isolations.html: 2 isolations of 2 brokers\n"
    picture = (checkout / "isolations.html").read_text(encoding="utf-8")
    assert "broker-a" in picture
    assert "<script>alert" not in picture
