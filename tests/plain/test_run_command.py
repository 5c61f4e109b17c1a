"""What a command says when it runs both flows."""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import signal
from collections.abc import Iterator
from typing import Any
from unittest.mock import Mock

import pytest

from jobs.cli.publish import RunOptions, run_flows
from jobs.errors import InputMissingError
from jobs.runs.run import Run, RunResult
from jobs.settings.load import load_settings
from jobs.settings.model import Settings
from jobs.spark.interruption import Interrupted
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


def _said(said: list[str], *, as_json: bool = False) -> list[str]:
    paths = {"inputs.sends.path": "sends", "inputs.consumers.path": "consumers", "lake": "lake"}
    settings: Settings = load_settings([], [], paths)
    options = RunOptions(as_json=as_json)
    run_flows(options, settings, RUN, "2026-03-01", said.append)
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
