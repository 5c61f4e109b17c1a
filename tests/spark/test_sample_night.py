"""The night that the pages show is the one that the first command of the README prints."""

from __future__ import annotations

from pathlib import Path

import deltalake
import pytest
from pyspark.sql import SparkSession

from tests.given.commands import Said, command
from tests.given.spark_work import OPENING, SparkWork, recorded

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sample") / "lake"


@pytest.fixture(scope="module")
def asked(spark: SparkSession, lake: Path) -> tuple[Said, SparkWork]:
    """`bin/faultline nightly`, but for where its tables lie, and what it asks of Spark."""
    with recorded(spark, lake.parent / "night") as found:
        said = command(spark, "nightly", "--settings", ROOT / "conf/local.toml", "--lake", lake)
    return said, found[0]


@pytest.fixture(scope="module")
def night(asked: tuple[Said, SparkWork]) -> Said:
    return asked[0]


def _shown() -> str:
    page = (ROOT / "data_samples/README.md").read_text(encoding="utf-8")
    _, _, rest = page.partition("<!-- sample output -->\n```text\n")
    return rest.partition("\n```\n<!-- end of sample output -->")[0]


def test_the_samples_page_shows_all_that_is_printed_but_where_the_tables_are(lake: Path, night: Said) -> None:
    assert night.code == 0, night.err
    first, tables, second = night.out.partition(f"Tables are in {lake} (Delta).")
    _, _, allocation = second.partition("\n\n")
    assert tables
    assert (first + allocation).rstrip("\n").replace(f"{lake}/", "lake/").split("\n") == _shown().split("\n")


def test_the_send_that_the_architecture_follows_is_in_the_tables_as_it_says(lake: Path, night: Said) -> None:
    assert night.code == 0, night.err
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    block = text.partition("<!-- one send in the tables -->\n```text\n")[2].partition("\n```")[0].split("\n")
    assert len(block) >= 8
    for line in block:
        table, *pairs = line.split()
        shown = dict(pair.split("=") for pair in pairs)
        rows = deltalake.DeltaTable(str(lake / table)).to_pyarrow_table(columns=list(shown)).to_pylist()
        assert shown in [{name: str(value) for name, value in row.items()} for row in rows], line


def test_each_step_is_named_while_it_runs(night: Said) -> None:
    assert [line.partition(":")[0] for line in night.err.splitlines()[1:]] == [
        "starting Spark",
        "opening the lake",
        "reading send attempts",
        "publishing lines of 2026-11-21",
        "replaying fault items of 2026-11-21",
        "reading the answers",
        "opening the lake",
        "reading snapshots",
        "publishing lines of 2026-11-21",
        "allocating queues of 2026-11-21",
        "reading the answers",
    ]


# What a day of both flows, and of the first alone, may ask of Spark: executions that are their own root. Whoever goes
# over it says why in the same commit.
BOTH_FLOWS, FIRST_FLOW = 64, 40


def _is_within(work: SparkWork) -> None:
    first = work.of(lambda part: part.startswith("1. "))
    print(f"executions and Spark jobs\n{work}\nthe first flow alone:\n{first}")
    assert work.executions.total() <= BOTH_FLOWS, f"{work}"
    assert first.executions.total() <= FIRST_FLOW, f"{first}"


def test_a_new_day_asks_no_more_of_spark_than_its_budget(asked: tuple[Said, SparkWork]) -> None:
    """The goal is 65, and 40 for the first flow. What creating the tables asks, once in a lake, is left out."""
    said, work = asked
    assert said.code == 0, said.err
    later = work.of(lambda part: OPENING not in part)
    assert work.executions.total() > later.executions.total() > 0
    _is_within(later)


def test_a_rerun_asks_no_more_of_spark_than_its_budget(spark: SparkSession, lake: Path, night: Said) -> None:
    """The goal is 65, and 40 for the first flow; opening the lake is part of it. Delta knows nothing of the tables."""
    spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()  # type: ignore[union-attr]
    with recorded(spark, lake.parent / "again") as found:
        again = command(spark, "nightly", "--settings", ROOT / "conf/local.toml", "--lake", lake)
    assert (again.code, again.out) == (night.code, night.out)
    _is_within(found[0])
