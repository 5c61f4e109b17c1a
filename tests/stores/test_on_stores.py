"""A lake on a real S3 server and on a real HDFS, by the program itself: its tables are those of a lake in a folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.given.corrected_day import said_by
from tests.given.site import D1
from tests.stores.night import DAY, ends, open_table, rows_in, run_log_of, write_settings
from tests.stores.programs import WarmProgram, program
from tests.stores.s3 import S3, spark_settings

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3_600)]  # whole programs: `make test-stores`
HELD = "is held by run "


@dataclass(frozen=True)
class Lake:
    """A lake on a store with the night.

    Attributes:
        uri: of the lake.
        settings: of its site.
        spark: of these, what is said to Spark.
    """

    uri: str
    settings: Path
    spark: dict[str, str]

    @property
    def rows(self) -> dict[str, list[str]]:
        return rows_in(self.uri, self.spark)

    @property
    def log(self) -> list[tuple[str, str, str, str]]:
        return run_log_of(self.uri, self.spark)


@pytest.fixture(scope="module", params=["s3a", "hdfs"])
def lake(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, s3: S3, warm: WarmProgram) -> Lake:
    root = s3.uri if request.param == "s3a" else request.getfixturevalue("hdfs").uri
    spark = spark_settings(s3.port)
    folder = tmp_path_factory.mktemp("site")
    settings = write_settings(folder / "site.toml", f"{root}/lake", f"{root}/night", spark)
    ends(warm, 0, "nightly", *DAY, "--settings", settings)
    return Lake(f"{root}/lake", settings, spark)


def test_a_rerun_changes_nothing(lake: Lake, expected: dict[str, list[str]], warm: WarmProgram) -> None:
    assert lake.rows == expected
    before = len(lake.log)
    ends(warm, 0, "nightly", *DAY, "--settings", lake.settings)
    assert lake.rows == expected
    assert sorted(row[2] for row in lake.log[before:]) == ["STARTED"] * 2 + ["SUCCEEDED"] * 2


def test_a_second_writer_exits_5_and_harms_nothing(
    lake: Lake, expected: dict[str, list[str]], warm: WarmProgram, tmp_path: Path
) -> None:
    with program(tmp_path / "first", "fault-latency", *DAY, "--settings", lake.settings) as first:
        first.wait_until_said("opening the lake")
        second = ends(warm, 5, "fault-latency", *DAY, "--settings", lake.settings)
        assert f"faultline: lake {lake.uri} {HELD}" in second["complaint"]
        assert first.ended().code == 0
    assert lake.rows == expected
    assert [status for *_, status, _ in lake.log[-2:]] == ["STARTED", "SUCCEEDED"]
    assert len({run for *_, run in lake.log[-2:]}) == 1


def test_a_killed_run_is_made_good_by_the_next(
    lake: Lake, expected: dict[str, list[str]], warm: WarmProgram, tmp_path: Path
) -> None:
    """Its lock outlives it by two minutes at most: who cannot wait breaks it."""
    again = ("fault-latency", *DAY, "--settings", lake.settings)
    with program(tmp_path / "killed", *again) as killed:
        killed.wait_until_said(f"publishing lines of {D1}")
        killed.kill()
    run = lake.log[-1][3]
    assert [row[2] for row in lake.log if row[3] == run] == ["STARTED"]
    assert f"{HELD}{run}" in ends(warm, 5, *again)["complaint"]
    ends(warm, 0, *again, *(("--wait", 4) if lake.uri.startswith("s3a") else ("--break-lock",)))
    assert lake.rows == expected


@pytest.mark.parametrize(("command", "table"), [("what-if", "policy_outcomes"), ("verify", "replay_checks")])
def test_what_if_and_verify_find_what_they_find_in_a_folder(
    lake: Lake, in_folder: Path, warm: WarmProgram, command: str, table: str
) -> None:
    found = []
    for settings, place, spark in (
        (in_folder, str(in_folder.parent / "lake"), {}),
        (lake.settings, lake.uri, lake.spark),
    ):
        ends(warm, 0, command, *DAY, "--settings", settings)
        found.append(said_by({table: open_table(place, table, spark)}))
    assert found[0] == found[1]


def test_maintain_changes_no_row(lake: Lake, expected: dict[str, list[str]], warm: WarmProgram) -> None:
    ends(warm, 0, "maintain", "--settings", lake.settings)
    ends(warm, 0, "maintain", "--apply", "--settings", lake.settings)
    assert lake.rows == expected


def test_show_and_report_answer_as_from_a_folder(
    lake: Lake, in_folder: Path, warm: WarmProgram, tmp_path: Path
) -> None:
    asked = (*DAY, "--settings")
    folder = str(in_folder.parent / "lake")
    for settings in (in_folder, lake.settings):  # `show night` also says what was verified
        ends(warm, 0, "verify", *DAY, "--settings", settings)
    for question in ("night", "isolations", "owners"):
        here, there = (ends(warm, 0, "show", question, *asked, each)["answer"] for each in (in_folder, lake.settings))
        assert there == here.replace(folder, lake.uri)
    page = tmp_path / "night.html"
    ends(warm, 0, "report", *asked, lake.settings, "--output", page)
    assert "broker-a" in page.read_text(encoding="utf-8")
