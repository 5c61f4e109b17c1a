"""`faultline what-if` on a lake: what it publishes, what it leaves alone, what it says, and what it refuses."""

from __future__ import annotations

import datetime as dt
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from jobs.cli import main as cli
from jobs.errors import LakeBusyError
from jobs.fault_latency.replayed_day import DayOfProducers, replayed
from jobs.lake.tables_io import Lake
from jobs.settings.client_profiles import released_profiles
from jobs.settings.load import load_settings
from jobs.tables import FAULT_ITEM_STATE, PRODUCER_DAYS, RUN_LOG, SENDS, TOPIC_BROKERS
from jobs.tables.day import Day
from jobs.what_if.job import what_if
from jobs.what_if.requested_policies import AS_RUN, requested_policies
from tests.given.lakes import write_rows
from tests.given.published_sends import ROWS, frame
from tests.given.send_logs import stage
from tests.given.site import D1, D2, D3, published_rows

SAMPLES = Path(__file__).parents[2] / "data_samples"
HOSTILE = "x'; DROP TABLE sends -- </script><b>\x1b[31m"
LADDER = f"{HOSTILE}=100/1000@P5"
P5 = {"client_version": "5.3.3", "policy": "P5"}
FIGURES = ("event_date", "policy", "profile", "latency_max_ms", "not_available_ms", "broker_name", "producers", "sends",
           "bad_sends", "isolations", "isolated_ms", "all_isolated_ms", "steered", "hits", "false_alarms", "missed",
           "unavoidable")  # fmt: skip


@pytest.fixture(scope="module")
def two_days(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Two days of sends; of the third only that there were some."""
    lake = Lake(spark, str(tmp_path_factory.mktemp("what_if") / "lake"))
    lake.create_tables((SENDS, TOPIC_BROKERS, PRODUCER_DAYS, RUN_LOG))
    rows = frame(spark, ROWS)
    for day in (D1, D2):
        lake.publish_day(SENDS, rows.where(rows.event_date == day), "main", day, {})
    producers = [
        {"event_date": D1, "client_id": "on", "producer_group": "PG", "enforced": True, "sends": 30} | P5,
        {"event_date": D1, "client_id": "on", "producer_group": "PG", "enforced": False} | P5,
        {"event_date": D1, "client_id": "on", "producer_group": "PB"} | P5,
        {"event_date": D1, "client_id": "old", "producer_group": "PB", "policy": "P2"},
        {"event_date": D1, "client_id": "go", "producer_group": "PG", "sends": 10, "not_replayed": "NOT_A_JAVA_CLIENT"},
        {"event_date": D3, "client_id": "p1", "producer_group": "PG", "sends": 5},
    ]
    write_rows(Path(lake.root), PRODUCER_DAYS, producers)
    return lake


@pytest.fixture
def lake(spark: SparkSession, two_days: Lake, tmp_path: Path) -> Lake:
    """A test's own copy: what another test published or locked is not in it."""
    return Lake(spark, shutil.copytree(two_days.root, str(tmp_path / "lake")))


def called(capsys: pytest.CaptureFixture[str], lake: Lake, *arguments: str) -> str:
    code = cli.main(["what-if", "--lake", lake.root, *arguments])
    said = capsys.readouterr()
    assert code == 0, said.err
    return said.out


def table(lake: Lake, *columns: str, **equal: object) -> list[dict[str, Any]]:
    return published_rows(Path(lake.root) / "policy_outcomes", columns, equal)


@pytest.mark.usefixtures("same_session")
def test_the_command_publishes_its_policies_and_leaves_the_others(
    lake: Lake, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    both = ("--from", str(D1), "--to", str(D2))
    told = json.loads(called(capsys, lake, *both, "--policy", "P5", "--ladder", LADDER, "--json"))
    assert (told["sends"], told["bad_sends"], told["unavoidable"], told["clusters"]) == (21, 5, 2, ["main"])
    assert (told["switch_on_share"], told["not_replayed"]) == (0.75, {"NOT_A_JAVA_CLIENT": 1})
    assert told["starts_empty"]
    assert told["in_use"] == [
        P5 | {"producers": 2, "groups": ["PB", "PG"]},
        {"client_version": None, "policy": "P2", "producers": 1, "groups": ["PB"]},
    ]
    assert {each["policy"]: (each["since"], each["failure_ms"]) for each in told["policies"]} == {
        HOSTILE: (None, 1_000), "P5": ("5.2.0", 10_000),
    }  # fmt: skip
    assert {each["policy"]: (each["hits"], each["false_alarms"], each["is_best"]) for each in told["policies"]} == {
        HOSTILE: (3, 5, True), "P5": (0, 0, True),
    }  # fmt: skip
    first = table(lake, *FIGURES)
    assert len(first) == 2 * (6 + 2)  # brokers of the first day and of the second, per policy

    called(capsys, lake, *both, "--ladder", LADDER, "--policy", "P5", "--json")
    assert table(lake, *FIGURES) == first
    alone = json.loads(called(capsys, lake, "--date", str(D2), "--ladder", LADDER, "--policy", "P5", "--json"))
    assert table(lake, *FIGURES) == first  # the evening before isolates until after midnight, asked for or not
    assert (alone["starts_empty"], alone["switch_on_share"]) == (False, None)

    text = called(capsys, lake, "--date", str(D1), "--policy", "P2", "--picture", "picture.html")
    assert [row for row in table(lake, *FIGURES) if row["policy"] != "P2"] == first
    assert {row["event_date"] for row in table(lake, policy="P2")} == {D1}
    assert "A log cannot show how the other brokers would have answered" in text
    assert "the day before is not in the lake: the first day starts with no isolation" in text
    assert "P2" in (tmp_path / "picture.html").read_text(encoding="utf-8")


@pytest.mark.usefixtures("same_session")
def test_another_run_s_lock_is_kept_unless_it_is_to_be_broken(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    left = {"run_id": "far", "host": "host-b", "process": 7, "since": "2026-03-05T03:00:00+00:00",
            "lease_until": "2999-03-05T23:00:00+00:00"}  # fmt: skip
    Path(lake.root, "_lock").write_text(json.dumps(left), encoding="utf-8")
    day = ("what-if", "--lake", lake.root, "--date", str(D1), "--policy", "P1")
    assert cli.main([*day]) == LakeBusyError.exit_code
    assert "run far (process 7 on host host-b)" in capsys.readouterr().err
    assert not Path(lake.root, "policy_outcomes").exists()
    assert cli.main([*day, "--break-lock"]) == 0
    assert len(table(lake, policy="P1")) > 0


@pytest.mark.usefixtures("same_session")
@pytest.mark.parametrize(
    ("day", "sentence"),
    [
        (D3, "no longer has sends of it (retention.sends_days)"),
        (D3 + dt.timedelta(days=1), "has no sends of it; publish it with faultline nightly --date 2026-03-04"),
    ],
)
def test_a_day_without_sends_is_refused(
    lake: Lake, capsys: pytest.CaptureFixture[str], day: dt.date, sentence: str
) -> None:
    assert cli.main(["what-if", "--lake", lake.root, "--date", str(day)]) == 3
    assert sentence in capsys.readouterr().err


@pytest.mark.usefixtures("same_session")
def test_one_cluster_is_replayed_alone(spark: SparkSession, lake: Lake, capsys: pytest.CaptureFixture[str]) -> None:
    south = frame(spark, [row | {"cluster": "south"} for row in ROWS if row["event_date"] == D1])
    lake.publish_day(SENDS, south, "south", D1, {})
    day = ("--date", str(D1), "--policy", "P5")
    both = json.loads(called(capsys, lake, *day, "--json"))
    assert (both["clusters"], both["switch_on_share"]) == (["main", "south"], 0.75)
    told = json.loads(called(capsys, lake, *day, "--cluster", "south", "--json"))
    assert (told["clusters"], told["sends"] * 2) == (["south"], both["sends"])
    assert (told["switch_on_share"], told["not_replayed"]) == (None, {})  # its producers have no row
    assert cli.main(["what-if", "--lake", lake.root, *day, "--cluster", "north"]) == 3
    refused = f"cluster 'north' has no sends of {D1} to {D1} in lake {lake.root}; name another with --cluster:"
    assert f"{refused} 'main', 'south'" in capsys.readouterr().err


@pytest.mark.usefixtures("same_session")
def test_a_lake_that_is_none_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["what-if", "--lake", str(tmp_path / "none"), "--date", str(D1)]) == 3
    assert "holds no published day; run faultline nightly first" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()


@pytest.mark.slow  # a lake of its own
def test_each_producer_under_its_own_policy_isolates_as_published(spark: SparkSession, tmp_path: Path) -> None:
    settings = load_settings([SAMPLES.parent / "conf/local.toml"], [], {"lake": str(tmp_path)})
    day = Day(dt.date(2026, 11, 21), "LabCluster")
    (tmp_path / "in").symlink_to(SAMPLES)
    staged = stage(spark, tmp_path / "in", "sends", settings=settings)
    sends, no_routes = staged.sends(day).localCheckpoint(), staged.topic_brokers(day).where("false")
    asked = requested_policies(released_profiles(), names=[AS_RUN])
    isolated, _ = what_if(
        sends, [day], settings, asked, topic_brokers=no_routes, made_once=lambda rows: rows.localCheckpoint()
    )
    of = DayOfProducers(sends, spark.createDataFrame([], FAULT_ITEM_STATE.schema), no_routes)
    published = replayed(of, day, settings, lambda frame, rows: frame.columns_of(rows).localCheckpoint())
    columns = ("client_id", "producer_group", "process", "broker_name", "start_ms", "end_ms")
    ours = {tuple(row) for row in isolated.select(*columns).collect()}
    theirs = {tuple(row) for row in published.isolations.where("end_ms > start_ms").select(*columns).collect()}
    print(f"isolations as published: {len(ours & theirs)} of {len(theirs)}, {len(ours - theirs)} others")
    assert len(theirs) > 150
    assert ours == theirs
