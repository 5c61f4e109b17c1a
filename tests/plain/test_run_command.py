"""What a command says when it runs both flows."""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from jobs.cli.fail_on import Condition
from jobs.cli.publish import RunOptions, run_flows
from jobs.errors import ConditionMetError, FaultlineError, InputMissingError, LakeError, UsageError
from jobs.runs.run import Run, RunResult
from jobs.settings.load import load_settings
from jobs.settings.model import Settings
from jobs.spark.interruption import Interrupted
from jobs.spark.store_folder import StoreFolder
from tests.given.lakes import LiteralLake, publish
from tests.given.quiet_answers import QUIET

RUN = Run("r", "nightly", (dt.date(2026, 3, 1),), allow_empty=False, cascade=True, clock=dt.datetime.now)


def _fails(*_: Any) -> Any:
    raise InputMissingError("no consumers.jsonl.gz; give a path")


@pytest.fixture
def flows(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Both flows without Spark: each only gives its answer."""

    @contextlib.contextmanager
    def running(*_: Any, **__: Any) -> Iterator[Mock]:
        spark = Mock()
        spark.sparkContext.getConf().getAll.return_value = []
        yield spark

    monkeypatch.setattr("jobs.spark.session.running", running)
    monkeypatch.setattr("jobs.check.before.check_before", lambda *_: ["no column costUs"])
    for run in ("jobs.fault_latency.run.run_fault_latency", "jobs.allocation.run.run_allocation"):
        monkeypatch.setattr(run, lambda *_: RunResult(RUN, other_days={dt.date(2026, 3, 2): 5}))
    monkeypatch.setattr("jobs.answers.digest.digests", lambda *_: [QUIET])
    return monkeypatch


def _said(
    said: list[str],
    *,
    as_json: bool = False,
    json_to: str | None = None,
    fail_on: tuple[Condition, ...] = (),
    run: Run = RUN,
    **more: str,
) -> list[str]:
    """What the run says; `more` are settings, their dots as `__`."""
    paths = {"inputs.sends.path": "sends", "inputs.consumers.path": "consumers", "lake": "lake"}
    settings: Settings = load_settings([], [], paths | {name.replace("__", "."): value for name, value in more.items()})
    options = RunOptions(as_json=as_json, json_to=json_to, fail_on=fail_on)
    run_flows(options, settings, run, "2026-03-01", said.append)
    return said


@pytest.mark.usefixtures("flows")
def test_both_flows_are_one_text_or_one_object() -> None:
    (text,) = _said([])
    other = "  5 lines of 2026-03-02: publish them with --date 2026-03-02"
    facts, night, *_ = text.split("\n\n")
    assert facts.split("\n") == ["fault-latency:", other, "allocation:", other]
    assert night.split("\n") == ["2026-11-21, cluster north", "  A quiet night."]
    (text,) = _said([], as_json=True)
    assert [*json.loads(text)["flows"]] == ["fault-latency", "allocation"]


@pytest.mark.parametrize("as_json", [False, True])
def test_the_first_flow_is_said_when_the_second_fails(flows: pytest.MonkeyPatch, *, as_json: bool) -> None:
    flows.setattr("jobs.allocation.run.run_allocation", _fails)
    said: list[str] = []
    with pytest.raises(InputMissingError):
        _said(said, as_json=as_json)
    (text,) = said
    if as_json:
        assert [*json.loads(text)["flows"]] == ["fault-latency"]
    else:
        assert (text.count("publish them"), text.count("A quiet night.")) == (1, 1)


def test_who_interrupts_a_run_does_not_wait_for_its_night(flows: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> None:
        raise Interrupted(signal.SIGTERM)

    flows.setattr("jobs.allocation.run.run_allocation", interrupted)
    flows.setattr("jobs.answers.digest.digests", lambda *_: pytest.fail("read"))
    said: list[str] = []
    with pytest.raises(Interrupted):
        _said(said, as_json=True)
    told = json.loads(said[0])
    assert ([*told["flows"]], told["nights"]) == (["fault-latency"], None)


def test_nothing_is_said_when_the_first_flow_fails(flows: pytest.MonkeyPatch) -> None:
    flows.setattr("jobs.fault_latency.run.run_fault_latency", _fails)
    said: list[str] = []
    with pytest.raises(InputMissingError):
        _said(said)
    assert said == []


def test_the_answer_is_also_written_as_json_to_a_file(flows: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What one flow published is in it, also when the other fails; a file of the night before is replaced."""
    file = tmp_path / "night.json"
    (text,) = _said([], json_to=f"{file}")
    told = json.loads(file.read_text())
    assert ([*told["flows"]], len(told["nights"]), "A quiet night." in text) == (
        ["fault-latency", "allocation"],
        1,
        True,
    )
    flows.setattr("jobs.allocation.run.run_allocation", _fails)
    with pytest.raises(InputMissingError):
        _said([], json_to=file.as_uri())
    assert [*json.loads(file.read_text())["flows"]] == ["fault-latency"]
    assert [path.name for path in tmp_path.iterdir()] == ["night.json"]


@pytest.mark.parametrize(
    ("fails", "error"), [(False, LakeError), (True, InputMissingError)], ids=["published", "the second flow fails"]
)
def test_an_answer_that_no_store_takes_is_printed_and_ends_with_1_unless_a_flow_failed(
    flows: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: type[FaultlineError], *, fails: bool
) -> None:
    def full(_: StoreFolder, name: str, __: bytes) -> None:
        raise OSError(28, f"no room for {name}")

    flows.setattr(StoreFolder, "replace", full)
    if fails:
        flows.setattr("jobs.allocation.run.run_allocation", _fails)
    said: list[str] = []
    with pytest.raises(error) as ended:
        _said(said, as_json=True, json_to="s3a://out/tonight/night.json")
    sentence = "published, but the answer cannot be written to s3a://out/tonight/night.json: no room for night.json;"
    assert sentence in (capsys.readouterr().err if fails else str(ended.value))
    assert json.loads(said[0])["nights"] is not None


@pytest.mark.parametrize("name", ["", "nowhere/night.json"])
def test_a_file_for_the_answer_that_cannot_be_is_refused_before_a_night_is_spent(
    flows: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    flows.setattr("jobs.spark.session.running", lambda *_, **__: pytest.fail("started"))
    with pytest.raises(UsageError, match=r"--json-to .* cannot be a file; name one in a folder that exists"):
        _said([], json_to=f"{tmp_path}/{name}")


def test_a_night_ends_with_its_metrics_also_when_a_condition_holds(flows: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Not one that failed, whose file stays as it was; nor another command."""
    written: list[Path] = []

    def writes(lake: str, file: Path, *_: Any) -> str:
        assert lake.endswith("/lake")
        written.append(file)
        return "wrote it"

    flows.setattr("jobs.answers.metrics.export_metrics", writes)
    flows.setattr("jobs.answers.digest.digests", lambda *_: [replace(QUIET, contradictions=1)])
    file = f"{tmp_path}/night.prom"
    _said([], export__metrics=file)
    with pytest.raises(ConditionMetError):
        _said([], export__metrics=f"file:{file}", fail_on=(Condition("contradictions"),))
    assert written == [Path(file)] * 2
    _said([], export__metrics=file, run=replace(RUN, command="fault-latency"))
    flows.setattr("jobs.allocation.run.run_allocation", _fails)
    with pytest.raises(InputMissingError):
        _said([], export__metrics=file)
    assert len(written) == 2


@pytest.mark.usefixtures("flows")
def test_metrics_that_cannot_be_written_are_one_sentence_and_no_failure(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    LiteralLake(tmp_path / "lake")
    publish(tmp_path / "lake", dt.date(2026, 3, 1))
    assert _said([], lake=f"{tmp_path}/lake", export__metrics=f"{tmp_path}/no/night.prom")
    assert capsys.readouterr().err.splitlines()[-1] == (
        f"faultline: published, but not exported: {tmp_path}/no/night.prom cannot be written: No such"
        " file or directory; name a file in a folder that takes it; then run faultline export metrics"
    )


def test_a_webhook_is_told_of_what_a_run_refuses(flows: pytest.MonkeyPatch) -> None:
    """As of logs that did not arrive, which is known before Spark starts."""
    told: list[bytes] = []
    flows.setattr("jobs.cli.notify._post", lambda _, body, __: told.append(body))
    flows.setattr("jobs.check.before.check_before", _fails)
    with pytest.raises(InputMissingError):
        _said([], notify__url="http://chat/hook")
    assert "exit code 3: no consumers.jsonl.gz; give a path" in json.loads(told[0])["text"]
