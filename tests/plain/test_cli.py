"""The command line without Spark: help, usage, days, settings files and the plan."""

from __future__ import annotations

import datetime as dt
import re
import sys
from pathlib import Path

import pytest

from jobs.cli import main as cli
from jobs.errors import InputMissingError
from jobs.spark.interruption import Interrupted

pytestmark = pytest.mark.usefixtures("own_folder")

DAY = "2026-11-21"


def _plan(capsys: pytest.CaptureFixture[str], *arguments: str, lake: tuple[str, ...] = ("--lake", "lake")) -> str:
    code = cli.main(["plan", "nightly", *lake, *arguments])
    said = capsys.readouterr()
    assert (code, said.err) == (0, "")
    return said.out


def _setting(plan: str, name: str) -> str:
    return next(line for line in plan.splitlines() if line.startswith(f"  {name} = "))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["--help"],
            ["nightly", "fault-latency", "allocation", "plan", "Exit codes: 0 done, 2 usage or settings, 3 input"],
        ),
        (["nightly", "--help"], ["--date", "--from", "--to", "--sends", "--routes", "--lake", "--settings", "--set"]),
        (["nightly", "-h"], ["--allow-empty", "--no-cascade", "--json", "--fail-on", "-v", "--break-lock"]),
        (["what-if", "-h"], ["--break-lock"]),
        (["maintain", "-h"], ["--apply", "dry run", "--break-lock", "--json"]),
        (["plan", "--help"], ["writes nothing", "nightly"]),
        (["register", "--help"], ["Put tables and views into the session's catalog"]),
        (["show", "--help"], ["A question to the published tables, answered in the terminal."]),
        (["explain", "--help"], ["Why an isolation ended when it did, or who should own a queue.", "--at TIME"]),
        (
            ["export", "--help"],
            ["What is published as one file", "duckdb one DuckDB file", "--since"],
        ),
        (["report", "--help"], ["A published day as one HTML page, for a browser without a network."]),
    ],
)
def test_help_names_commands_options_and_exit_codes(
    capsys: pytest.CaptureFixture[str], arguments: list[str], words: list[str]
) -> None:
    assert cli.main(arguments) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert [word for word in words if word not in said] == []


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "a COMMAND is missing; see faultline --help"),
        (["nigthly"], "unknown command 'nigthly' (did you mean 'nightly'?); see faultline --help"),
        (["rain"], "unknown command 'rain'; see faultline --help"),
        (["--verison"], "unknown option '--verison' (did you mean '--version'?); see faultline --help"),
        (["nightly", "--dat", "x"], "unknown option '--dat' (did you mean '--date'?); see faultline nightly --help"),
        (["nightly", "--no-c"], "unknown option '--no-c' (did you mean '--no-cascade'?); see faultline nightly"),
        (["nightly", "--bogus"], "unknown option '--bogus'; see faultline nightly --help"),
        (["nightly", "rain"], "got unexpected extra argument (rain); see faultline nightly --help"),
        (["nightly", "--json=yes"], "option '--json' does not take a value; see faultline nightly --help"),
        (["nightly", "--lake"], "option '--lake' requires an argument; see faultline nightly --help"),
        (
            ["nightly", "--lake", "--json"],
            "argument, and '--json' looks like an option: write --lake=--json if it is meant; see faultline",
        ),
        (["show", "evnts"], "WHAT 'evnts' is none of night, events, findings,"),
        (["show", "evnts"], "rebalances (did you mean 'events'?); see faultline show --help"),
        (["verify-lake"], "unknown command 'verify-lake' (did you mean 'verify'?); see faultline --help"),
        (["plan"], "a COMMAND is missing; see faultline plan --help"),
        (["export", "duckdb"], "--out FILE is missing; see faultline export --help"),
        (["nightly", "--date", "21.11.2026"], "--date '21.11.2026' is not a date; write it like 2026-11-21"),
        (["nightly", "--from", "2026-02-30"], "--from '2026-02-30' is not a date"),
        (["plan", "nightly", "--lake", "x", "--date", DAY, "--from", DAY], "--date and --from/--to exclude each other"),
        (["plan", "nightly", "--lake", "x", "--from", DAY], "--from and --to go together; give both"),
        (["plan", "nightly", "--lake", "x", "--to", DAY], "--from and --to go together; give both"),
        (
            ["plan", "nightly", "--lake", "x", "--from", "2026-11-22", "--to", DAY],
            "--to 2026-11-21 is before --from 2026-11-22; swap them",
        ),
        (["plan", "nightly"], "no lake is named; give --lake DIR or the setting lake"),
        (["plan", "nightly", "--lake", ""], "no lake is named; give --lake DIR or the setting lake"),
        (["check", "--sends", ""], "inputs.sends.path is empty; give a file, a folder or a glob, or leave it out"),
        (["plan", "nightly", "--settings", "none.toml"], "settings file none.toml does not exist"),
        (["plan", "nightly", "--lake", "x", "--set", "clutser=a"], "did you mean 'cluster'?"),
        (["nightly", "--lake", "x", "--fail-on", "rain"], "--fail-on 'rain' is not a condition"),
        (["plan", "nightly", "--lake", "x", "--fail-on", "rain"], "--fail-on 'rain' is not a condition"),
        (
            ["plan", "allocation", "--lake", "x", "--fail-on", "event"],
            "which allocation does not read; leave it out",
        ),
        (["nightly", "--lake", "x", "--recompute"], "fault-latency, whose sends the lake has; nightly needs its input"),
        (["plan", "allocation", "--lake", "x", "--recompute"], "allocation needs its input again, leave it out"),
        (
            ["fault-latency", "--lake", "x", "--recompute", "--client-logs", "y", "--allow-empty"],
            "--recompute reads no input; leave out --client-logs, --allow-empty",
        ),
    ],
)
def test_wrong_usage_is_one_sentence_and_exit_code_2(
    capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
) -> None:
    code = cli.main(arguments)
    said = capsys.readouterr()
    assert (code, said.out) == (2, "")
    assert said.err.startswith("faultline: ")
    assert sentence in said.err
    assert said.err.count("\n") == 1


@pytest.mark.fault(24)
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--date", "0001-01-01"], "--date is 0001-01-01; give a day from 2015-01-01 to 2099-12-31, the range of logs"),
        (["--date", "9999-12-31"], "--date is 9999-12-31; give a day"),
        (["--from", "0001-01-01", "--to", DAY], "--from is 0001-01-01; give a day"),
        (
            ["--from", "2020-01-01", "--to", "2047-05-18"],
            "2020-01-01 to 2047-05-18 are 10,000 days; ask for 1,000",
        ),
        (["--from", DAY, "--to", "2026-11-20"], "--to 2026-11-20 is before --from 2026-11-21; swap them"),
    ],
)
@pytest.mark.parametrize("command", ["nightly", "fault-latency", "what-if", "plan"])
def test_days_that_no_log_has_are_refused_before_spark_starts(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: str, arguments: list[str], told: str
) -> None:
    monkeypatch.setattr("jobs.spark.session.open_session", lambda *_, **__: pytest.fail("Spark was started"))
    planned = ["nightly"] if command == "plan" else []
    assert cli.main([command, *planned, "--lake", "lake", *arguments]) == 2
    said = capsys.readouterr()
    assert said.err.startswith(f"faultline: {told}")
    assert len(said.err.splitlines()) == 1


@pytest.mark.fault(41)
def test_a_long_name_is_shortened_in_the_plan_and_in_errors(capsys: pytest.CaptureFixture[str]) -> None:
    name = "x" * 10_000
    plan = _plan(capsys, "--set", f"cluster={name}", "--set", f"producers.{name}.client_version=5.3.3")
    assert max(map(len, plan.splitlines())) < 700
    assert "xxx…xxx" in _setting(plan, "cluster")
    assert cli.main(["plan", "nightly", "--lake", "lake", "--set", f"{name}=1"]) == 2
    said = capsys.readouterr().err
    assert re.match("faultline: unknown setting 'x+…x+'; known here: avoided_too_long_ms, client_logs", said)
    assert len(said) < 700


@pytest.mark.fault(37)
def test_wrong_usage_starts_no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr("jobs.spark.session.open_session", fail)
    assert cli.main(["nightly", "--lake", "x", "--date", DAY, "--fail-on", "rain"]) == 2
    assert cli.main(["nightly", "--lake", "x", "--date", DAY, "--set", "max_bad_fraction=2"]) == 2


def test_verbose_adds_the_trace(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["nightly", "-v", "--date", "x"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("Traceback")
    assert said.endswith("faultline: --date 'x' is not a date; write it like 2026-11-21\n")


@pytest.mark.parametrize(
    ("error", "code", "sentence"),
    [
        (InputMissingError("no file in /x; give another"), 3, "faultline: no file in /x; give another\n"),
        (Interrupted(15), 143, "faultline: interrupted by SIGTERM; run it again, other days stay whole\n"),
        (
            ValueError("first line\nsecond line"),
            1,
            "faultline: unexpected ValueError: first line; run it with -v and report it\n",
        ),
    ],
)
def test_every_end_has_its_exit_code_and_its_sentence(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    code: int,
    sentence: str,
) -> None:
    def fail(*_: object) -> int:
        raise error

    monkeypatch.setattr(cli, "_run", fail)
    assert cli.main(["nightly"]) == code
    assert capsys.readouterr().err == sentence


def test_arguments_are_taken_from_the_command_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["faultline", "plan", "nightly", "--lake", "lake", "--date", DAY])
    assert cli.main() == 0
    assert "publish  2026-11-21 (--date)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--date", DAY], "publish  2026-11-21 (--date), cluster main"),
        (["--from", DAY, "--to", DAY], "publish  2026-11-21 (--from/--to), cluster main"),
        (["--from", "2026-02-27", "--to", "2026-03-01"], "publish  2026-02-27, 2026-02-28, 2026-03-01 (--from/--to)"),
        (["--from", "2028-02-28", "--to", "2028-03-01"], "publish  2028-02-28, 2028-02-29, 2028-03-01 (--from/--to)"),
        (["--from", "2026-11-01", "--to", "2026-11-30"], "2026-11-07 … (--from/--to)"),
    ],
)
def test_the_days_are_those_asked_for(capsys: pytest.CaptureFixture[str], arguments: list[str], line: str) -> None:
    assert line in _plan(capsys, *arguments)


def test_without_a_date_it_is_yesterday_in_utc(capsys: pytest.CaptureFixture[str]) -> None:
    before = dt.datetime.now(dt.UTC).date()
    plan = _plan(capsys)
    yesterdays = [day - dt.timedelta(days=1) for day in (before, dt.datetime.now(dt.UTC).date())]
    assert any(f"publish  {day} (yesterday, as no --date was given)" in plan for day in yesterdays)


@pytest.mark.parametrize("sends", ['[inputs.sends]\npath = "logs"', 'inputs.sends = "logs"'])
def test_the_date_of_a_settings_file_counts_for_the_sends_it_names(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, sends: str
) -> None:
    tmp_path.joinpath("site.toml").write_text(f"date = 2026-11-21\n{sends}\n")
    assert "publish  2026-11-21 (date in site.toml)" in _plan(capsys, "--settings", "site.toml")
    assert "yesterday" in _plan(capsys, "--settings", "site.toml", "--sends", "mine")
    assert "publish  2026-11-22 (--date)" in _plan(capsys, "--settings", "site.toml", "--date", "2026-11-22")


def test_without_settings_conf_local_is_read_here_or_at_home(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, here = tmp_path / "home", tmp_path / "here"
    for folder in (home, here):
        folder.joinpath("conf").mkdir(parents=True)
        folder.joinpath("conf/local.toml").write_text(f'cluster = "{folder.name}"\nlake = "lake"')
    tmp_path.joinpath("own.toml").write_text('lake = "lake"')
    monkeypatch.setenv("FAULTLINE_HOME", str(home))
    assert "cluster home" in _plan(capsys, lake=())
    monkeypatch.chdir(here)
    assert "cluster here" in _plan(capsys, lake=())
    assert "cluster main" in _plan(capsys, "--settings", str(tmp_path / "own.toml"), lake=())  # it replaces both


@pytest.mark.parametrize(
    "named",
    [
        ("--lake", "mine"),
        ("--sends", "mine", "--set", "lake=own"),
        ("--set", "lake=own", "--set", "inputs.sends.path=mine"),
        ("--set", "inputs = {sends = 'mine'}", "--set", "lake=own"),
        ("--set", "lake=own"),
    ],
)
def test_who_names_a_lake_or_input_gets_nothing_of_the_samples(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, named: tuple[str, ...]
) -> None:
    tmp_path.joinpath("conf").mkdir()
    tmp_path.joinpath("conf/local.toml").write_text('cluster = "LabCluster"\ninputs.consumers = "samples"')
    plan = _plan(capsys, *named, lake=())
    assert "cluster main" in plan
    assert "samples" not in plan


def test_the_plan_shows_where_each_setting_was_set(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    tmp_path.joinpath("site.toml").write_text('cluster = "c"\n[producers."PG.a"]\nclient_version = "4.9.8"\n')
    plan = _plan(capsys, "--settings", "site.toml", "--set", "slow_ms=7", "--set", "spark.sql.shuffle.partitions=8")
    assert _setting(plan, "cluster") == "  cluster = 'c'  (site.toml)"
    assert _setting(plan, "slow_ms") == "  slow_ms = 7  (--set)"
    assert _setting(plan, "lake") == f"  lake = '{tmp_path}/lake'  (command line)"
    assert _setting(plan, "max_bad_fraction") == "  max_bad_fraction = 0.01  (default)"
    assert _setting(plan, "producers.PG.a.client_version") == "  producers.PG.a.client_version = '4.9.8'  (site.toml)"
    assert _setting(plan, "spark.sql.shuffle.partitions") == "  spark.sql.shuffle.partitions = '8'  (--set)"


@pytest.mark.fault(42)
@pytest.mark.parametrize(
    "name",
    [
        "spark.hadoop.fs.s3a.secret.key",
        "spark.hadoop.fs.s3a.access.key",
        "spark.hadoop.fs.s3a.session.token",
        "spark.hadoop.fs.azure.account.key.site.dfs.core.windows.net",
        "spark.hadoop.fs.azure.sas.container.site",
        "spark.hadoop.fs.gs.auth.service.account.private.key",
        "spark.ssl.keyPassword",
    ],
)
def test_the_plan_shows_no_secret(capsys: pytest.CaptureFixture[str], name: str) -> None:
    plan = _plan(capsys, "--set", f"{name}=hush")
    assert _setting(plan, name) == f"  {name} = '…'  (--set)"
    assert "hush" not in plan


def test_the_name_of_a_group_is_never_a_secret(capsys: pytest.CaptureFixture[str]) -> None:
    plan = _plan(capsys, "--set", "producers.PG_password_token.client_version=5.1.4")
    assert "  producers.PG_password_token.client_version = '5.1.4'  (--set)" in plan


@pytest.mark.usefixtures("no_cloud")
def test_the_plan_shows_what_a_run_would_read_and_write(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for name in ("a/1.gz", "a/deep/2.gz", "b/3.gz", "c/4.gz", "d[1]/5.gz"):
        file = tmp_path / "logs" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"x" * 50_000)
    paths = ["logs/a", "logs/b/3.gz", "logs/*/4.gz", "logs/{b,c}/*", "logs/d[1]", f"file:{tmp_path}/logs/b", "none"]
    plan = _plan(capsys, *(f"--sends={path}" for path in paths), "--routes", "s3a://bucket/routes")
    reads = [line.removeprefix("  read     ") for line in plan.splitlines() if line.startswith("  read ")]
    assert reads == [
        f"sends: {tmp_path}/logs/a (2 files, 0.1 MB)",
        f"sends: {tmp_path}/logs/b/3.gz (1 files, 0.1 MB)",
        f"sends: {tmp_path}/logs/*/4.gz (1 files, 0.1 MB)",
        f"sends: {tmp_path}/logs/{{b,c}}/* (2 files, 0.1 MB)",
        f"sends: {tmp_path}/logs/d[1] (1 files, 0.1 MB)",
        f"sends: file:{tmp_path}/logs/b (1 files, 0.1 MB)",
        f"sends: {tmp_path}/none (MISSING)",
        "routes: s3a://bucket/routes (not looked at: neither the environment nor [spark] has a key to look with)",
    ]
    assert f"  write    {tmp_path}/lake (would be made)" in plan
    assert not (tmp_path / "lake").exists()
    (tmp_path / "lake").mkdir()
    assert f"  write    {tmp_path}/lake (exists)" in _plan(capsys)
