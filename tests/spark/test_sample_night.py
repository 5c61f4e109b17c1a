"""The night that the pages show is the one that the first command of the README prints."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
import re
from pathlib import Path
from typing import Any

import deltalake
import pytest
from pyspark.sql import SparkSession

from jobs.answers.digest import digests
from jobs.answers.digest_text import night_text
from jobs.answers.published import open_published
from jobs.answers.report import render
from tests.given.commands import Said, command
from tests.given.lakes import in_duckdb
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


@pytest.fixture(scope="module")
def rerun(spark: SparkSession, lake: Path, night: Said) -> tuple[Said, SparkWork]:
    """The same again, its answer as JSON, and what it asks of Spark. Delta knows nothing of the tables."""
    assert night.code == 0, night.err
    spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()  # type: ignore[union-attr]
    with recorded(spark, lake.parent / "again") as found:
        again = command(spark, "nightly", "--settings", ROOT / "conf/local.toml", "--lake", lake, "--json")
    return again, found[0]


def _shown() -> str:
    page = (ROOT / "data_samples/README.md").read_text(encoding="utf-8")
    _, _, rest = page.partition("<!-- sample output -->\n```text\n")
    return rest.partition("\n```\n<!-- end of sample output -->")[0]


def test_the_samples_page_shows_all_that_is_printed(lake: Path, night: Said) -> None:
    assert night.code == 0, night.err
    assert night.out.rstrip("\n").replace(str(lake), "lake").split("\n") == _shown().split("\n")


def test_it_is_what_show_night_says(lake: Path, night: Said, rerun: tuple[Said, SparkWork]) -> None:
    (digest,) = digests(str(lake), ["LabCluster"], [dt.date(2026, 11, 21)])
    assert f"\n\n{night_text(digest)}\n\nTables are in " in night.out
    told = json.loads(rerun[0].out)
    assert told["nights"] == [json.loads(json.dumps(dataclasses.asdict(digest)))]
    assert [day["rows_read"] for flow in told["flows"].values() for day in flow["days"]] == [15_832, 48_812]


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
        "opening the lake",
        "reading snapshots",
        "publishing lines of 2026-11-21",
        "allocating queues of 2026-11-21",
        "reading the answers",
    ]


# What a day of both flows, and of the first alone, may ask of Spark: executions that are their own root. Whoever goes
# over it says why in the same commit.
# Beyond 42 and 24: `group_events` is a table more; WITHOUT_BROKER, written once, spares findings four plans of it.
BOTH_FLOWS, FIRST_FLOW = 45, 25


def _is_within(work: SparkWork) -> None:
    first = work.of(lambda part: part.startswith("1. "))
    print(f"executions and Spark jobs\n{work}\nthe first flow alone:\n{first}")
    assert work.executions.total() <= BOTH_FLOWS, f"{work}"
    assert first.executions.total() <= FIRST_FLOW, f"{first}"


def test_a_new_day_asks_no_more_of_spark_than_its_budget(asked: tuple[Said, SparkWork]) -> None:
    """What opening a new lake asks is left out: its tables may be copied."""
    said, work = asked
    assert said.code == 0, said.err
    later = work.of(lambda part: OPENING not in part)
    assert later.executions.total() > 0
    _is_within(later)


def test_a_rerun_asks_no_more_of_spark_than_its_budget(rerun: tuple[Said, SparkWork]) -> None:
    """Opening the lake is part of it."""
    again, work = rerun
    assert again.code == 0, again.err
    _is_within(work)


def test_a_count_is_the_same_in_the_terminal_in_json_on_the_page_and_in_sql(
    lake: Path, night: Said, rerun: tuple[Said, SparkWork]
) -> None:
    """What each counts, docs/report.md says. The JSON is that of a rerun: it says what the first one said."""
    counts = {
        "terminal": _in_the_terminal(night),
        "json": _in_json(json.loads(rerun[0].out)),
        "page": _on_the_page(lake),
        "sql": _in_sql(lake),
    }
    print("\n".join(f"{where:9} {found}" for where, found in counts.items()))
    assert min(counts["sql"].values()) > 0
    for where, found in counts.items():
        assert found == counts["sql"], where


def _in_the_terminal(night: Said) -> dict[str, int]:
    def column(title: str, name: str) -> list[int]:
        """The numbers below a heading, which no cell before them is longer than its column."""
        _, header, *rows = night.section(title)
        at = header.index(name)
        return [int(re.split(r"\s", row[at:])[0].replace(",", "")) for row in rows if row[at:].strip()[:1].isdigit()]

    (producers,) = re.findall(r"(\d+) isolations\)", night.out)
    ((changes, rebalances, moved, findings),) = re.findall(
        r"(\d+) events; (\d+) rebalances moved (\d+) queues; ([\d,]+) findings about them", night.out
    )
    (isolating,) = re.findall(r"longest \((\d+) of 23", night.out)
    events = night.section("Events:")
    of_events = [count for line in events if "    findings: " in line for count in re.findall(r"[A-Z] ([\d,]+)", line)]
    return {
        "send attempts": sum(column("Brokers", "sends")),
        "failed": sum(column("Brokers", "failures")),
        "isolations": int(producers),
        "isolating producers": int(isolating),
        "events": sum(line.startswith("  broker-") for line in events),
        "findings about producers": sum(int(count.replace(",", "")) for count in of_events),
        "events of groups": int(changes),
        "findings about groups": int(findings.replace(",", "")),
        "rebalances": int(rebalances),
        "queues moved": int(moved),
    }


def _in_json(answer: dict[str, Any]) -> dict[str, int]:
    (night,) = answer["nights"]
    counts = night["counts"]
    names = {
        "send attempts": "sends", "failed": "failures", "isolations": "isolations", "events": "events",
        "isolating producers": "isolating_producers", "findings about groups": "group_findings",
        "events of groups": "group_events", "rebalances": "rebalances", "queues moved": "moved",
    }  # fmt: skip
    return {
        **{name: counts[count] for name, count in names.items()},
        "findings about producers": sum(night["kinds"].values()),
    }


def _on_the_page(lake: Path) -> dict[str, int]:
    page = render(open_published(str(lake), None, None, None))
    tiles = {name: re.sub("<[^>]*>", "", text) for name, text in re.findall(r"<dt>([^<]*)</dt><dd>(.*?)</dd>", page)}
    numbers = {
        name: [int(each.replace(",", "")) for each in re.findall(r"[\d,]+", text)] for name, text in tiles.items()
    }
    (isolations, producers), (rebalances, moved) = numbers["isolations"], numbers["rebalances"]
    whole = ("send attempts", "events", "findings about producers", "events of groups", "findings about groups")
    return {
        **{name: numbers[name][0] for name in whole},
        "failed": numbers["attempts failed"][0],
        "isolations": isolations,
        "isolating producers": producers,
        "rebalances": rebalances,
        "queues moved": moved,
    }


def _in_sql(lake: Path) -> dict[str, int]:
    file = in_duckdb(lake)

    def ask(what: str, view: str) -> int:
        answer = file.sql(f"SELECT {what} FROM {view} WHERE last_night").fetchall()
        return int(answer[0][0])

    ((group_findings,),) = file.sql("SELECT count(*) FROM allocation_findings").fetchall()
    ((group_events,),) = file.sql("SELECT count(*) FROM group_events").fetchall()
    return {
        "send attempts": ask("sum(sends)", "worst_brokers"),
        "failed": ask("sum(failures)", "worst_brokers"),
        "events": ask("sum(events)", "worst_brokers"),
        "isolations": ask("count(*)", "broker_isolations"),
        "isolating producers": ask("count(DISTINCT (client_id, producer_group))", "broker_isolations"),
        "findings about producers": ask("count(*)", "night_findings"),
        "events of groups": group_events,
        "findings about groups": group_findings,
        "rebalances": ask("sum(rebalances)", "flapping_groups"),
        "queues moved": ask("sum(queues_moved)", "flapping_groups"),
    }
