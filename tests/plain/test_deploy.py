"""What sites copy from deploy/ and docs/cluster.md fits the program and the systems that start it."""

from __future__ import annotations

import configparser
import json
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import jsonschema
import pytest
import yaml

from jobs.cli.program import NAME, faultline
from jobs.errors import LakeBusyError
from jobs.settings.load import load_settings
from jobs.spark.delta_jars import locked_jars

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
CLUSTER = (ROOT / "docs/cluster.md").read_text(encoding="utf-8")
MANIFEST = DEPLOY / "kubernetes/sparkapplication.yaml"
SCHEMA = json.loads((ROOT / "tests/given/scheduled_spark_application.json").read_text(encoding="utf-8"))
SERVICE = DEPLOY / "systemd/faultline.service"
NO_TRY_HELPS = {2, 3, 4, 6, 7}
"""Exit codes after which the same command ends alike: of wrong usage, input or counts, or after publishing."""


def _commands(text: str) -> list[list[str]]:
    """The arguments of each command of the program in a text, also below spark-submit."""
    joined = text.replace("\\\n", " ")
    found = re.findall(r"(?:^|/)(?:faultline|submit\.py|spark-submit-cluster\.sh) (\w.*)$", joined, re.MULTILINE)
    return [shlex.split(re.split(r" +[>#]", each)[0]) for each in found]


def _check(arguments: list[str]) -> None:
    name, *rest = arguments
    with faultline.make_context(NAME, [name]) as context:
        faultline.commands[name].make_context(name, rest, parent=context)


def _documents() -> tuple[dict[str, Any], dict[str, Any]]:
    """The manifest's settings and application."""
    configured, application = yaml.safe_load_all(MANIFEST.read_text(encoding="utf-8"))
    return configured, application


def _unit(path: Path) -> configparser.ConfigParser:
    unit = configparser.ConfigParser(interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read_string(path.read_text(encoding="utf-8"))
    return unit


def test_each_command_of_the_page_is_one_that_the_program_takes() -> None:
    commands = _commands("\n".join(re.findall(r"```sh\n(.*?)```", CLUSTER, re.DOTALL)))
    assert len(commands) >= 5
    for command in commands:
        _check(command)


def test_the_page_has_a_place_on_each_store_for_each_path_of_a_run() -> None:
    rows = dict(re.findall(r"^\| `(--[\w-]+)` \| (.*) \|$", CLUSTER, re.MULTILINE))
    of_a_run = {each.opts[0] for each in faultline.commands["nightly"].params if each.metavar in {"PATH", "DIR"}}
    of_a_run.add("--json-to")
    assert len(of_a_run) == 8
    assert of_a_run <= set(rows)
    for option in of_a_run:
        s3, hdfs = re.findall(r"`(\w+)://", rows[option])
        assert (s3, hdfs) == ("s3a", "hdfs")


@pytest.mark.parametrize("place", ["cron/faultline", "systemd/faultline.service"])
def test_each_command_of_a_scheduler_is_one_that_the_program_takes(place: str) -> None:
    (command,) = _commands((DEPLOY / place).read_text(encoding="utf-8"))
    _check(command)


def test_the_manifest_is_one_that_the_operator_takes() -> None:
    _, application = _documents()
    jsonschema.validate(application, SCHEMA)
    application["spec"]["template"]["driver"]["core"] = 2
    with pytest.raises(jsonschema.ValidationError, match="'core' was unexpected"):
        jsonschema.validate(application, SCHEMA)


def test_the_manifest_runs_what_the_image_holds(tmp_path: Path) -> None:
    configured, application = _documents()
    template = application["spec"]["template"]
    assert template["image"] == f"faultline:{VERSION}"
    jars = [Path(jar).name for jar in template["deps"]["jars"]]
    image = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
    assert set(jars) == {jar.file_name for jar in locked_jars()} | set(re.findall(r"  jars/(\S+\.jar)'", image))
    _check(template["arguments"])
    folder = template["driver"]["configMaps"][0]["path"]
    assert template["arguments"][2] == f"{folder}/site.toml"
    (tmp_path / "site.toml").write_text(configured["data"]["site.toml"], encoding="utf-8")
    settings = load_settings([tmp_path / "site.toml"], [], {})
    assert settings.lake.startswith("s3a://")
    assert settings.inputs.sends.path


def test_the_image_is_built_from_what_is_here_and_does_not_run_as_root() -> None:
    steps = (DEPLOY / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    copied = [name for line in re.findall(r"^COPY (?!--)(.*) \S+$", steps, re.MULTILINE) for name in line.split()]
    assert {"bin", "conf", "jobs", "udfs"} <= set(copied)
    assert [name for name in copied if not (ROOT / name).exists()] == []
    (python,) = re.findall(r"^FROM python:(3\.\d+)-", steps, re.MULTILINE)
    assert set(re.findall(r"python(3\.\d+)/", steps)) == {python}
    assert int(re.findall(r"^USER (\d+)$", steps, re.MULTILINE)[-1]) > 0


def test_systemd_tries_again_only_where_that_can_help() -> None:
    service = _unit(SERVICE)["Service"]
    assert service["Restart"] == "on-failure"
    assert set(map(int, service["RestartPreventExitStatus"].split())) == NO_TRY_HELPS
    assert int(service["TimeoutStopSec"]) >= 60
    assert service["ExecStart"].startswith("/opt/faultline/bin/faultline ")


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd here")
@pytest.mark.parametrize("name", ["faultline.service", "faultline.timer"])
def test_systemd_takes_its_units(name: str, tmp_path: Path) -> None:
    for unit in SERVICE.parent.iterdir():
        text = unit.read_text(encoding="utf-8").replace("/opt/faultline/", f"{ROOT}/")
        (tmp_path / unit.name).write_text(text, encoding="utf-8")
    asked = ["systemd-analyze", "verify", "--man=no", str(tmp_path / name)]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


class _FailedError(Exception):
    """Airflow's failure, after which it tries again."""


class _FinalError(_FailedError):
    """Airflow's failure, after which it does not."""


class _Operator:
    """Airflow's operator, as far as it is used."""

    def __init__(self, **given: Any) -> None:
        self.given = given


class _Hook:
    """A process that ends with the code that its command names."""

    def run_command(self, command: list[str]) -> SimpleNamespace:
        return SimpleNamespace(exit_code=int(command[0]))


class _Dag:
    """A DAG that nothing schedules."""

    def __init__(self, *_: object, **__: object) -> None:
        """Take what Airflow takes."""

    def __enter__(self) -> None:
        """Hold tasks, as Airflow does."""

    def __exit__(self, *_: object) -> None:
        """Hold no more."""


@pytest.fixture
def airflow(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the DAG's file holds, with stand-ins for Airflow, which is not among the packages of the tests."""
    path = DEPLOY / "airflow/faultline_night.py"
    stand_in = ModuleType("airflow")
    stand_in.DAG, stand_in.BaseOperator, stand_in.SubprocessHook = _Dag, _Operator, _Hook  # type: ignore[attr-defined]
    stand_in.AirflowException, stand_in.AirflowFailException = _FailedError, _FinalError  # type: ignore[attr-defined]
    stand_in.CronDataIntervalTimetable = lambda *_, **__: None  # type: ignore[attr-defined]
    for name in re.findall(r"^from (airflow\S+) import", path.read_text(encoding="utf-8"), re.MULTILINE):
        parts = name.split(".")
        for length in range(1, len(parts) + 1):
            monkeypatch.setitem(sys.modules, ".".join(parts[:length]), stand_in)
    return runpy.run_path(str(path))


def test_airflow_runs_a_command_that_the_program_takes(airflow: dict[str, Any]) -> None:
    script, *arguments = airflow["COMMAND"]
    assert (ROOT / "bin" / Path(script).name).is_file()
    _check([each.replace("{{ data_interval_start | ds }}", "2026-11-21") for each in arguments])


def test_airflow_tries_again_only_where_that_can_help(airflow: dict[str, Any]) -> None:
    outcomes: dict[int, type[Exception] | None] = {}
    for code in range(8):
        try:
            airflow["FaultlineOperator"](command=[f"{code}"]).execute({})
            outcomes[code] = None
        except _FailedError as failed:
            outcomes[code] = type(failed)
    assert outcomes == {0: None, 1: _FailedError, LakeBusyError.exit_code: _FailedError} | dict.fromkeys(
        NO_TRY_HELPS, _FinalError
    )
