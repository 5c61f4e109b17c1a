"""The recipes without Spark run as they are printed, with what their own `pip install` brings and nothing else."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.given.commands import command
from tests.given.send_logs import DATE, NOON_MS, line, write
from tests.given.site import write_lines
from tests.given.snapshot_site import connection, route

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "sql.md").read_text(encoding="utf-8")
DUCKDB, DELTA_RS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
EXAMPLE = ROOT / "docs" / "examples" / "isolations.py"
INSTALL = re.compile(r"`pip install ([^`]+)`")

Python = Callable[..., str]
"""Runs a Python of its own with the arguments in a folder and gives what it printed."""


def _python_with(folder: Path, text: str) -> Python:
    """A Python that has what the text's one `pip install` names."""
    (packages,) = INSTALL.findall(text)
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = folder / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", *shlex.split(packages)], check=True)

    def run(checkout: Path, *arguments: str) -> str:
        done = subprocess.run([python, "-I", *arguments], cwd=checkout, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture(scope="module")
def python_of_the_page(tmp_path_factory: pytest.TempPathFactory) -> Python:
    return _python_with(tmp_path_factory.mktemp("page") / "venv", PAGE.partition("## In a catalog")[0])


@pytest.fixture(scope="module")
def first_flow(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder like the checkout's, in whose lake the first flow ran, and what the run printed."""
    folder = tmp_path_factory.mktemp("first_flow")
    (folder / "jobs").symlink_to(ROOT / "jobs")
    slow = [
        line(seq=n, latency_ms=4_000, ended_at_ms=NOON_MS + 10_000 * n, fault_latency_enabled=True) for n in range(3)
    ]
    sends = write(folder / "sends", {"a.jsonl": b"\n".join(slow)})
    said = command(spark, "fault-latency", "--sends", sends, "--lake", folder / "lake", "--date", DATE)
    assert said.code == 0, said.err
    return folder


@pytest.fixture(scope="module")
def both_flows(spark: SparkSession, first_flow: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same folder after a run of the second flow."""
    folder = tmp_path_factory.mktemp("both_flows")
    shutil.copytree(first_flow, folder, symlinks=True, dirs_exist_ok=True)
    write_lines(folder / "consumers" / "c.jsonl", [connection(NOON_MS + n * 10_000, ["c1", "c2"]) for n in range(3)])
    write_lines(folder / "routes" / "r.jsonl", [route(NOON_MS + n * 10_000, a=4) for n in range(3)])
    inputs = ("--consumers", folder / "consumers", "--routes", folder / "routes")
    said = command(spark, "allocation", *inputs, "--lake", folder / "lake", "--date", DATE)
    assert said.code == 0, said.err
    return folder


def test_the_views_open_on_a_lake_of_one_flow(python_of_the_page: Python, first_flow: Path) -> None:
    said = python_of_the_page(first_flow, "-c", DUCKDB)
    assert sorted(re.findall(r"^no (\w+):", said, re.MULTILINE)) == ["flapping_groups", "queue_owners"]
    assert re.search(r"│ +1 │ broker-a +│ +\d", said)
    assert re.match(r"2 events of runs, at version [12]; ", python_of_the_page(first_flow, "-c", DELTA_RS))


def test_every_view_opens_on_a_lake_of_both_flows(python_of_the_page: Python, both_flows: Path) -> None:
    owners = (
        'print(lake.sql("SELECT client_id, count(*) FROM queue_owners WHERE is_current GROUP BY ALL ORDER BY ALL"))'
    )
    said = python_of_the_page(both_flows, "-c", f"{DUCKDB}{owners}")
    assert not re.findall(r"^no (\w+):", said, re.MULTILINE)
    assert re.search(r"│ c1 +│ +2 │\n│ c2 +│ +2 │", said)


def test_the_example_draws_with_what_it_says_it_needs(first_flow: Path, tmp_path: Path) -> None:
    python = _python_with(tmp_path / "venv", EXAMPLE.read_text(encoding="utf-8"))
    assert re.match(r"isolations.html: \d isolations of 1 brokers", python(first_flow, str(EXAMPLE)))
