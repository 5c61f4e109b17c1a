"""`faultline doctor` on machines that are not well: each fault is a line with its fix, and no line hides another."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from jobs.cli import main as cli
from jobs.doctor.check import Check
from jobs.doctor.examination import as_text
from jobs.doctor.folders import LITTLE_BYTES, TOO_LITTLE_BYTES, room, temporary, writable
from jobs.doctor.inputs import inputs
from jobs.doctor.machine import address, locale, memory, time_zone
from jobs.doctor.software import jars
from jobs.errors import PlatformError
from jobs.settings.load import load_settings
from jobs.spark.delta_jars import Jar

ROOT = Path(__file__).parents[2]
GIB = 2**30


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a settings file, one input and no lake yet."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FAULTLINE_HOME", raising=False)
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf/local.toml").write_text('lake = "../lake"\ninputs.sends = "../sends"\n')
    (tmp_path / "sends").mkdir()
    (tmp_path / "sends/a.jsonl").write_text("{}\n")
    return tmp_path


def examined(capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, dict[str, dict[str, str]]]:
    """Exit code, and the checks by name, of the program's own `--json`."""
    code = cli.main(["doctor", "--json", *options])
    said = json.loads(capsys.readouterr().out)
    assert said["fit"] == (code == 0)
    return code, {check["name"]: check for check in said["checks"]}


def test_a_machine_that_is_well(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, checks = examined(capsys)
    wrong = {name: check for name, check in checks.items() if check["verdict"] == "wrong"}
    assert (code, wrong) == (0, {})
    assert checks["java"]["found"].split(".")[0] in {"17", "21"}
    assert checks["input sends"]["found"] == f"{site / 'sends'}: 1 files, 0.0 MB"
    assert {"python", "pyspark", "pyarrow", "delta-storage", "memory", "cores", "locale", "time zone"} <= checks.keys()
    assert {"java.io.tmpdir", "spark.local.dir", "driver address", "lake", "lock", "tables"} <= checks.keys()


def test_it_takes_no_spark(site: Path) -> None:
    """In a process of its own, as a user calls it; text, and no colour in a pipe."""
    code = "import sys; from jobs.cli.main import main; code = main(['doctor']); "
    code += "from pyspark import SparkContext; assert SparkContext._gateway is None; sys.exit(code)"
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=site, env=environ, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout
    assert done.stdout.splitlines()[-1].partition(" ok")[0].isdecimal()


@pytest.mark.usefixtures("site")
def test_every_fault_is_named_at_once(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    monkeypatch.setenv("SPARK_HOME", "/nowhere")
    monkeypatch.setenv("LC_ALL", "C")
    monkeypatch.setenv("FAULTLINE_CACHE", str(tmp_path / "cache"))
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache/delta-storage-4.4.0.jar").write_bytes(b"PK")
    options = ["--sends", "nothing-here", "--set", 'spark.driver.memory="900t"', "--lake", "/proc/lake"]
    code, checks = examined(capsys, *options, "--set", "spark.driver.bindAddress=203.0.113.7")
    assert code == 2
    wrong = {name: check["found"] for name, check in checks.items() if check["verdict"] == "wrong"}
    assert wrong == {
        "spark": "/nowhere/jars holds no Spark, but pyspark is 4.2.0",
        "java": "JAVA_HOME is /nowhere, which has no bin/java",
        "delta-storage": wrong["delta-storage"],
        "memory": wrong["memory"],
        "driver address": "127.0.0.1, bound to 203.0.113.7: Cannot assign requested address",
        "input sends": f"input {tmp_path / 'nothing-here'} does not exist",
        "lake": "/proc cannot be written: No such file or directory",
    }
    assert wrong["memory"].startswith("spark.driver.memory 900t of ")
    assert all(check["fix"] for check in checks.values() if check["verdict"] != "ok")
    warned = [name for name, check in checks.items() if check["verdict"] == "warning"]
    assert warned == ["delta-spark_4.2_2.13", "locale"]


@pytest.mark.usefixtures("site")
@pytest.mark.parametrize(
    ("options", "found"),
    [
        (["--set", "clutser=a"], "unknown setting 'clutser'"),
        (["--settings", "none.toml"], "settings file none.toml does not exist"),
        (["--set", 'lake=""'], "no lake is named"),
    ],
)
def test_settings_that_do_not_load_are_one_line_beside_the_others(
    capsys: pytest.CaptureFixture[str], options: list[str], found: str
) -> None:
    code, checks = examined(capsys, *options)
    assert (code, checks["settings"]["verdict"], checks["settings"]["found"]) == (2, "wrong", found)
    assert checks["settings"]["fix"]
    assert checks["java"]["verdict"] == "ok"


@pytest.mark.usefixtures("site")
def test_a_session_that_does_not_start_is_a_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise PlatformError("Spark does not start: no heap; run again with -v for all it says")

    monkeypatch.setattr("jobs.spark.session.open_session", fail)
    code, checks = examined(capsys, "--session")
    assert (code, checks["session"]["found"]) == (2, "Spark does not start: no heap")
    code, checks = examined(capsys)
    assert (code, "session" in checks) == (0, False)


@pytest.mark.fault(42)
@pytest.mark.usefixtures("site")
@pytest.mark.parametrize("form", [(), ("--json",)])
def test_the_values_of_secrets_are_hidden_wherever_they_stand(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, form: tuple[str, ...]
) -> None:
    """What another program says of them has no name beside it that could tell."""

    def fail(*_: object) -> None:
        raise PlatformError("Spark does not start at hush-of-settings; not even hush-of-environment helps")

    monkeypatch.setattr("jobs.spark.session.open_session", fail)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hush-of-environment")
    secret = "spark.hadoop.fs.s3a.secret.key=hush-of-settings"
    assert cli.main(["doctor", "--session", "--set", secret, *form]) == 2
    said = capsys.readouterr().out
    assert "hush" not in said
    assert "Spark does not start at" in said
    assert "not even" in said


JAR = Jar("g", "thing", "1.0", hashlib.sha256(b"as published").hexdigest())


@pytest.mark.parametrize(
    ("content", "verdict", "found"),
    [
        (b"as published", "ok", "1.0 in {folder}, sha256 as locked"),
        (b"as publishee", "wrong", "{folder}/thing-1.0.jar has sha256 7"),
        (None, "warning", "{folder}/thing-1.0.jar is not fetched yet"),
    ],
    ids=["whole", "one byte changed", "missing"],
)
def test_a_jar(tmp_path: Path, content: bytes | None, verdict: str, found: str) -> None:
    if content is not None:
        (tmp_path / JAR.file_name).write_bytes(content)
    (check,) = jars([JAR], tmp_path)
    assert (check.name, check.verdict) == ("thing", verdict)
    assert check.found.startswith(found.format(folder=tmp_path).removesuffix("7"))
    assert ("-m jobs.spark.delta_jars" in check.fix) == (verdict != "ok")


@pytest.mark.parametrize(
    ("asked", "there", "verdict"),
    [("4g", 8 * GIB, "ok"), ("7g", 8 * GIB, "warning"), ("9000m", 8 * GIB, "wrong"), ("much", 8 * GIB, "wrong")],
)
def test_memory(asked: str, there: int, verdict: str) -> None:
    check = memory(asked, there)
    assert check.verdict == verdict
    assert ("6g" in check.fix or "like" in check.fix) == (verdict != "ok")


def test_an_address_that_does_not_resolve_or_is_not_ours() -> None:
    assert address("127.0.0.1", "127.0.0.1").verdict == "ok"
    for host, bind in (("no-such-host.invalid", "127.0.0.1"), ("127.0.0.1", "203.0.113.7")):
        check = address(host, bind)
        assert check.verdict == "wrong"
        assert '"127.0.0.1"' in check.fix


@pytest.mark.parametrize(
    ("environ", "verdict"),
    [
        ({"LANG": "en_US.UTF-8"}, "ok"),
        ({"LANG": "tr_TR.utf8"}, "ok"),
        ({"LANG": "en_US.UTF-8", "LC_ALL": "C"}, "warning"),
        ({"LANG": "en_US.UTF-8", "LC_ALL": ""}, "ok"),
        ({}, "warning"),
    ],
)
def test_a_locale_in_which_java_cannot_open_every_file(environ: dict[str, str], verdict: str) -> None:
    assert locale(environ).verdict == verdict


def test_any_time_zone_is_well() -> None:
    check = time_zone({"TZ": "Asia/Shanghai", "JAVA_TOOL_OPTIONS": "-Duser.timezone=America/St_Johns"})
    assert check.verdict == "ok"
    assert "TZ Asia/Shanghai, Java's America/St_Johns; results are the same in any" in check.found


@pytest.mark.parametrize(
    ("free", "verdict"),
    [
        (LITTLE_BYTES, "ok"),
        (LITTLE_BYTES - 1, "warning"),
        (TOO_LITTLE_BYTES, "warning"),
        (TOO_LITTLE_BYTES - 1, "wrong"),
    ],
)
def test_room(tmp_path: Path, free: int, verdict: str) -> None:
    assert room("lake", tmp_path, free).verdict == verdict


def test_a_folder_is_tried_and_nothing_stays_in_it(tmp_path: Path) -> None:
    assert writable("lake", tmp_path / "not" / "there", "fix").found.startswith(f"{tmp_path} can be written, ")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").touch()
    assert writable("lake", tmp_path / "file" / "lake", "mend it") == Check(
        "lake", "wrong", f"{tmp_path / 'file'} cannot be written: Not a directory", "mend it"
    )


def test_temporary_folders_are_the_ones_that_spark_and_java_use(tmp_path: Path) -> None:
    java = {"spark.driver.extraJavaOptions": f"-Xss4m -Djava.io.tmpdir={tmp_path}"}
    assert [check.found.partition(" ")[0] for check in temporary(java, {})] == [str(tmp_path)] * 2
    disks = {"spark.local.dir": f"{tmp_path},/proc"}
    assert [check.verdict for check in temporary(disks, {})] == ["ok", "wrong", "ok"]
    assert [check.verdict for check in temporary(disks, {"SPARK_LOCAL_DIRS": str(tmp_path)})] == ["ok", "ok"]


def test_a_temporary_folder_that_libraries_cannot_be_loaded_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.statvfs(tmp_path)
    noexec = os.statvfs_result((*real[:8], real.f_flag | os.ST_NOEXEC, real[9]))
    monkeypatch.setattr(os, "statvfs", lambda _: noexec)
    *_, check = temporary({"spark.local.dir": "/nowhere"}, {"JAVA_TOOL_OPTIONS": f"-Djava.io.tmpdir={tmp_path}"})
    assert (check.name, check.verdict) == ("java.io.tmpdir", "wrong")
    assert check.found == f"{tmp_path} is mounted noexec: Java cannot load its compression libraries from it"


def test_inputs(tmp_path: Path) -> None:
    for name in ("a.jsonl", "b.jsonl.gz"):
        (tmp_path / name).write_bytes(bytes(1000))
    paths = [str(tmp_path / "{a,b}.*"), "s3a://bucket/x", str(tmp_path / "none-*")]
    checks = list(inputs(load_settings([], [], {"inputs.sends.path": paths})))
    assert [check.verdict for check in checks] == ["ok", "ok", "wrong"]
    assert checks[0].found == f"{tmp_path}/{{a,b}}.*: 2 files, 0.0 MB"
    assert checks[2].found == f"input {tmp_path}/none-* does not exist"
    (check,) = inputs(load_settings([], [], {}))
    assert (check.verdict, check.found) == ("warning", "the settings name none")


@pytest.mark.fault(38)
def test_each_thing_in_the_input_that_is_no_file_is_a_line(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs/a.jsonl").write_bytes(bytes(1000))
    (tmp_path / "logs/.b.jsonl").touch()
    (tmp_path / "logs/self").symlink_to(".")
    (tmp_path / "logs/gone").symlink_to("nowhere")
    os.mkfifo(tmp_path / "logs/pipe")
    mixed = "what is read and what is written must not mix"
    given = {"inputs.sends.path": f"{tmp_path}/logs", "lake": f"{tmp_path}/logs/lake"}
    assert [(check.verdict, check.found, check.fix) for check in inputs(load_settings([], [], given))] == [
        (
            "wrong",
            f"the lake {tmp_path}/logs/lake lies in the input sends {tmp_path}/logs: {mixed}",
            "give the lake another folder",
        ),
        ("wrong", f"{tmp_path}/logs/gone is a link to nowhere, which does not exist", "remove it or mend it"),
        (
            "wrong",
            f"{tmp_path}/logs/pipe is a FIFO, no file, and was not opened",
            "remove it, or name the files by a glob",
        ),
        (
            "ok",
            f"{tmp_path}/logs: 1 files, 0.0 MB; 2 left out, such as {tmp_path}/logs/.b.jsonl is hidden or half-copied",
            "",
        ),
    ]


def test_text_has_a_line_per_check_its_fix_below_and_colour_only_when_asked() -> None:
    checks = [Check("a", "ok", "here"), Check("lake", "wrong", "gone", "find it")]
    assert as_text(checks, colour=False).splitlines() == [
        "ok       a     here",
        "wrong    lake  gone",
        "               → find it",
        "1 ok, 1 wrong",
    ]
    assert "\x1b[31mwrong  \x1b[0m  lake" in as_text(checks, colour=True)


def test_hostile_names_do_not_reach_the_terminal() -> None:
    said = as_text([Check("lock", "wrong", "held by \x1b[2J\nok  all is well", "ask \r them")], colour=False)
    assert said.splitlines() == [
        "wrong    lock  held by \\x1b[2J\\nok  all is well",
        "               → ask \\r them",
        "1 wrong",
    ]
