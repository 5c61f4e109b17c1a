"""`faultline plan`: which flows a command runs, what they read and what they write."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from jobs.cli import main as cli
from jobs.runs.flow_tables import FLOW_TABLES
from jobs.tables import TABLES

pytestmark = pytest.mark.usefixtures("own_folder", "no_cloud")

ROOT = Path(__file__).parents[2]
DAY = "2026-11-21"


_INPUTS = ("sends", "routes", "consumers", "running-info", "client-logs")


@pytest.mark.parametrize(
    ("command", "named", "flows", "read"),
    [
        ("fault-latency", _INPUTS, ["fault-latency"], ["sends", "routes"]),
        ("allocation", _INPUTS, ["allocation"], ["routes", "consumers", "running_info", "client_logs"]),
        ("nightly", ("sends", "routes"), ["fault-latency"], ["sends", "routes"]),
        ("nightly", ("consumers", "routes"), ["allocation"], ["routes", "consumers"]),
        (
            "nightly",
            _INPUTS,
            ["fault-latency", "allocation"],
            ["sends", "routes", "consumers", "running_info", "client_logs"],
        ),
        ("nightly", (), ["fault-latency"], []),
    ],
)
def test_the_plan_shows_the_flows_and_only_what_they_read_and_write(
    capsys: pytest.CaptureFixture[str], command: str, named: tuple[str, ...], flows: list[str], read: list[str]
) -> None:
    given = [f"--{name}=s3a://bucket/{name}" for name in named]
    assert cli.main(["plan", command, "--lake", "lake", "--date", DAY, *given]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[:2] == [f"faultline {command} would", f"  run      {', '.join(flows)}"]
    assert [line.split()[1].rstrip(":") for line in said if line.startswith("  read ")] == read
    written = [line.strip() for line in said[: said.index("")] if line.startswith("   ")]
    assert [line.partition(":")[0] for line in written] == flows
    assert [line.endswith("; later days that start from them") for line in written] == [
        flow == "fault-latency" for flow in flows
    ]


def test_without_a_cascade_the_plan_shows_no_later_days(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["plan", "nightly", "--lake", "lake", "--no-cascade"]) == 0
    plan = capsys.readouterr().out
    assert "isolation_intervals" in plan
    assert "later days" not in plan


def test_the_plan_of_a_recompute_reads_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    given = ("--lake", "lake", "--date", DAY, "--set", "inputs.sends.path=lake/sends")
    assert cli.main(["plan", "fault-latency", "--recompute", *given]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[:3] == [
        "faultline fault-latency would", "  run      fault-latency",
        f"  recompute {DAY} (--date), each cluster of the lake",
    ]  # fmt: skip
    (written,) = [line.strip() for line in said[4 : said.index("")] if line]
    tables = ", ".join(FLOW_TABLES["fault-latency"].derived)
    assert written == (
        f"fault-latency: the days above whose sends the lake has of {tables} and run_log; later days that start from"
        " them"
    )


def test_the_plan_names_the_file_that_set_a_value(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = tmp_path / "first.toml", tmp_path / "second.toml"
    first.write_text('[inputs.sends.fields]\nseq = { column = "a" }\ntopic = { column = "b" }\nmode = "m"\n')
    second.write_text('[inputs.sends.fields]\nseq = "c"\n[inputs.sends.values.mode]\n"0" = "SYNC"\n')
    given = ("--settings", str(first), "--settings", str(second), "--lake", "lake", "--cluster", "own")
    assert cli.main(["plan", "nightly", *given, "--date", DAY]) == 0
    said = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert f"inputs.sends.fields.seq.column = 'c'  ({second})" in said
    assert f"inputs.sends.fields.topic.column = 'b'  ({first})" in said
    assert f"inputs.sends.fields.mode.column = 'm'  ({first})" in said
    assert f"inputs.sends.values.mode.0 = 'SYNC'  ({second})" in said
    assert "cluster = 'own'  (command line)" in said
    assert "slow_ms = 550  (default)" in said


def test_the_plan_hides_the_address_of_a_webhook(capsys: pytest.CaptureFixture[str]) -> None:
    url = "https://hooks.example.com/services/T0/s3cr3t"
    assert cli.main(["plan", "nightly", "--lake", "lake", "--set", f"notify.url={url}"]) == 0
    plan = capsys.readouterr().out
    assert "\n  notify.url = '…'  (--set)\n" in plan
    assert "hooks.example.com" not in plan


def test_a_cluster_alone_still_means_the_samples(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAULTLINE_HOME", str(tmp_path))
    samples = tmp_path / "conf" / "local.toml"
    samples.parent.mkdir()
    samples.write_text('lake = "of-the-samples"\ncluster = "theirs"\n')
    assert cli.main(["plan", "nightly", "--cluster", "own", "--date", DAY]) == 0
    said = capsys.readouterr().out
    assert "of-the-samples" in said
    assert f"publish  {DAY} (--date), cluster own" in said


@pytest.mark.fault(38)
def test_the_plan_names_what_is_not_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "a.jsonl").write_bytes(bytes(1000))
    (logs / ".b.jsonl").touch()
    (logs / "self").symlink_to(".")
    (logs / "pipe").symlink_to("/dev/zero")
    no_file = "is not a regular file; remove it, or select the files with a glob"
    given = ["--sends", str(logs), "--sends", f"{logs}/*.jsonl", "--sends", f"{logs}/none"]
    assert cli.main(["plan", "nightly", "--lake", "lake", "--date", DAY, *given]) == 0
    said = capsys.readouterr().out.splitlines()
    start = next(place for place, line in enumerate(said) if line.startswith("  read "))
    assert said[start : start + 6] == [
        f"  read     sends: {logs} (1 files, 0.0 MB)",
        f"  read     sends: {logs}/*.jsonl (1 files, 0.0 MB)",
        f"  read     sends: {logs}/none (MISSING)",
        f"           left out: {logs}/.b.jsonl is hidden or half-copied",
        f"           WRONG: input {logs}/none does not exist; give a file, a folder or a glob that matches",
        f"           WRONG: {logs}/pipe {no_file}",
    ]


def test_every_table_but_records_of_runs_and_answers_to_questions_is_some_flows() -> None:
    written = [name for tables in FLOW_TABLES.values() for name in (*tables.published, *tables.derived)]
    assert sorted([*written, "policy_outcomes", "quarantine", "replay_checks", "run_log"]) == sorted(
        table.name for table in TABLES
    )


def test_a_plan_needs_no_spark() -> None:
    code = "import sys; sys.modules['pyspark'] = None; from jobs.cli.main import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, "plan", "nightly", "--lake", "lake", "--fail-on", "event"]
    done = subprocess.run(command, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
