"""`faultline doctor`: each fault, made for real, is a line with its fix, and hides no other."""

from __future__ import annotations

import datetime as dt
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import deltalake
import pytest

from jobs.cli import main as cli
from jobs.doctor import examination
from jobs.doctor.examination import TOO_LITTLE_BYTES, Check, as_text, examine
from jobs.errors import PlatformError
from jobs.settings.load import load_settings
from jobs.tables import PRODUCER_DAYS, RUN_LOG
from tests.given.lakes import LiteralLake

ROOT = Path(__file__).parents[2]
TABLE = PRODUCER_DAYS.name


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lake = LiteralLake(tmp_path_factory.mktemp("doctor") / "lake", (PRODUCER_DAYS, RUN_LOG))
    for day in (20, 21, 22):
        lake.add(TABLE, dt.date(2026, 11, day), {"client_id": "c1"})
    return lake.folder


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    """A copy to damage."""
    return Path(shutil.copytree(whole, tmp_path / "lake"))


def checks_of(lake: Path, environ: dict[str, str] | None = None) -> dict[str, Check]:
    checks = examine(load_settings([], [], {"lake": str(lake)}), environ or {})
    return {check.name: check for check in checks}


def wrong(lake: Path, environ: dict[str, str] | None = None) -> dict[str, str]:
    return {name: check.found for name, check in checks_of(lake, environ).items() if not check.is_ok}


def test_a_machine_and_a_lake_that_are_fit(folder: Path) -> None:
    checks = checks_of(folder)
    assert [check for check in checks.values() if not check.is_ok] == []
    assert {"python", "java", "pyspark", "temporary", "lake", "lock", TABLE} <= checks.keys()
    assert checks["java"].found.split(".")[0] in {"17", "21"}
    assert (checks[TABLE].found, checks["sends"].found) == ("3 rows", "0 rows")


def test_a_lake_that_does_not_exist_yet_is_fit_and_is_not_created(tmp_path: Path) -> None:
    assert wrong(tmp_path / "lake") == {}
    assert list(tmp_path.iterdir()) == []


def test_it_starts_no_jvm(folder: Path) -> None:
    code = "import sys; from jobs.cli.main import main; code = main(sys.argv[1:]); "
    code += "from pyspark import SparkContext; assert SparkContext._gateway is None; sys.exit(code)"
    command = [sys.executable, "-c", code, "doctor", "--lake", str(folder)]
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_every_fault_is_reported_at_once(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    monkeypatch.setenv("SPARK_HOME", "/nowhere")
    monkeypatch.setenv("SPARK_LOCAL_DIRS", "/proc")
    assert cli.main(["doctor", "--json", "--lake", "/proc/lake"]) == 2
    said = json.loads(capsys.readouterr().out)
    assert {each["name"]: each["found"] for each in said["checks"] if not each["is_ok"]} == {
        "spark": "/nowhere/jars holds no Spark, but pyspark is 4.2.0",
        "java": "JAVA_HOME is /nowhere, which has no bin/java",
        "temporary": "/proc cannot be written: No such file or directory",
        "lake": "/proc cannot be written: No such file or directory",
    }
    assert said["fit"] is False
    assert all(bool(each["fix"]) != each["is_ok"] for each in said["checks"])


def _log(lake: Path, version: int) -> Path:
    return lake / TABLE / "_delta_log" / f"{version:020}.json"


def _data_file(lake: Path) -> Path:
    return next((lake / TABLE).glob("event_date=2026-11-20/*.parquet"))


def _cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-40])


@pytest.mark.fault(33)
@pytest.mark.parametrize(
    ("damage", "found"),
    [
        (lambda lake: _log(lake, 0).unlink(), "No table metadata or protocol found"),
        (lambda lake: _log(lake, 1).unlink(), "Expected contiguous commit files"),
        (lambda lake: _log(lake, 2).write_text(""), f"_delta_log/{2:020}.json is empty or not JSON"),
        (lambda lake: _log(lake, 3).write_text(""), f"_delta_log/{3:020}.json is empty or not JSON"),
        (lambda lake: _cut(_log(lake, 3)), f"_delta_log/{3:020}.json is empty or not JSON"),
        (lambda lake: _data_file(lake).unlink(), "Failed to open local file"),
        (lambda lake: _cut(_data_file(lake)), "Could not open Parquet input source"),
        (lambda lake: shutil.rmtree(lake / TABLE / "_delta_log"), "it has files, but no _delta_log"),
    ],
    ids=["first commit", "lost commit", "empty commit", "empty end", "cut end", "lost file", "cut file", "no log"],
)
def test_a_damaged_table_is_wrong_and_the_others_are_checked(
    folder: Path, damage: Callable[[Path], None], found: str
) -> None:
    damage(folder)
    (problem,) = wrong(folder).items()
    assert problem[0] == TABLE
    assert found in problem[1]


def test_a_table_of_another_version_is_wrong(folder: Path) -> None:
    table = deltalake.DeltaTable(str(folder / TABLE))
    table.alter.set_table_properties({"faultline.tableVersion": "99"}, raise_if_not_exists=False)
    check = checks_of(folder)[TABLE]
    assert f"has version 99, this program reads {PRODUCER_DAYS.version}" in check.found
    assert check.fix == "use the program that made it, or another --lake"


def test_the_holder_of_the_lock_is_reported(folder: Path) -> None:
    assert checks_of(folder)["lock"].found == "free"
    (folder / "_lock").write_text(
        '{"run_id": "r1", "host": "h1", "process": 17, "since": "2026-03-01T12:00:00+00:00",'
        ' "lease_until": "2026-03-01T12:02:00+00:00"}'
    )
    held = "held by run r1 (process 17 on host h1), unless it was killed; lease until 2026-03-01 12:02:00 UTC"
    assert checks_of(folder)["lock"].found == held


@pytest.mark.parametrize(("free", "is_ok"), [(TOO_LITTLE_BYTES, True), (TOO_LITTLE_BYTES - 1, False)])
def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, *, is_ok: bool) -> None:
    usage = shutil.disk_usage(tmp_path)._replace(free=free)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    assert checks_of(tmp_path)["lake"].is_ok is is_ok


def test_without_deltalake_it_says_that_it_did_not_look(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "deltalake", None)
    monkeypatch.delitem(sys.modules, "jobs.answers.delta_table", raising=False)
    check = checks_of(folder)["tables"]
    assert not check.is_ok
    assert "deltalake" in check.found
    assert check.fix == "install deltalake"


@pytest.mark.fault(42)
@pytest.mark.parametrize("form", [(), ("--json",)])
def test_the_values_of_secrets_are_hidden(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, form: tuple[str, ...]
) -> None:
    """What another program says of them has no name beside it that could give it away."""

    def fail() -> str:
        raise PlatformError("it does not start at hush-of-settings; not even hush-of-environment helps")

    monkeypatch.setattr(examination, "environment_checks", lambda: {"java": fail})
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hush-of-environment")
    secret = "spark.hadoop.fs.s3a.secret.key=hush-of-settings"
    assert cli.main(["doctor", "--lake", str(tmp_path), "--set", secret, *form]) == 2
    said = capsys.readouterr().out
    assert "hush" not in said
    assert "it does not start at" in said
    assert "not even" in said


def test_the_fix_stands_below_its_check_and_nothing_reaches_the_terminal() -> None:
    checks = [Check("java", is_ok=True, found="17"), Check("lock", is_ok=False, found="\x1b[2J\nok", fix="ask \r them")]
    assert as_text(checks).splitlines() == [
        "ok     java  17",
        "WRONG  lock  \\x1b[2J\\nok",
        "             → ask \\r them",
    ]
