"""What a command says when it runs both flows."""

from __future__ import annotations

import contextlib
import datetime as dt
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from jobs.cli.publish import RunOptions, run_flows
from jobs.errors import InputMissingError
from jobs.runs.run import Run
from jobs.settings.load import load_settings
from jobs.settings.model import Settings

RUN = Run("r", "nightly", (dt.date(2026, 3, 1),), allow_empty=False, cascade=True, clock=dt.datetime.now)


@dataclass
class Answer:
    """What one flow found."""

    found: str


def _fails(*_: Any) -> Any:
    raise InputMissingError("no consumers.jsonl.gz; give a path")


@pytest.fixture
def flows(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Both flows without Spark: each only gives its answer."""

    @contextlib.contextmanager
    def running(*_: Any, **__: Any) -> Iterator[None]:
        yield None

    monkeypatch.setattr("jobs.spark.session.running", running)
    monkeypatch.setattr("jobs.check.before.check_before", lambda *_: ["no column costUs"])
    monkeypatch.setattr("jobs.fault_latency.run.run_fault_latency", lambda *_: None)
    monkeypatch.setattr("jobs.fault_latency.summary.summarize", lambda *_: Answer("two incidents"))
    monkeypatch.setattr("jobs.fault_latency.summary_text.as_text", lambda answer: answer.found)
    monkeypatch.setattr("jobs.allocation.run.run_allocation", lambda *_: None)
    monkeypatch.setattr("jobs.allocation.summary.summarize_allocation", lambda *_: Answer("one orphan"))
    monkeypatch.setattr("jobs.allocation.summary_text.allocation_text", lambda answer: answer.found)
    monkeypatch.setattr("jobs.cli.publish.check_conditions", lambda *_: None)
    return monkeypatch


def _said(said: list[str], *, as_json: bool = False) -> list[str]:
    paths = {"inputs.sends.path": "sends", "inputs.consumers.path": "consumers", "lake": "lake"}
    settings: Settings = load_settings([], [], paths)
    options = RunOptions(as_json=as_json)
    run_flows(options, settings, RUN, "2026-03-01", said.append)
    return said


@pytest.mark.usefixtures("flows")
def test_both_answers_are_one_text_or_one_object() -> None:
    assert _said([]) == ["two incidents\n\none orphan"]
    (text,) = _said([], as_json=True)
    assert json.loads(text) == {"found": "two incidents", "allocation": {"found": "one orphan"}}


@pytest.mark.parametrize("as_json", [False, True])
def test_the_first_answer_is_said_when_the_second_flow_fails(flows: pytest.MonkeyPatch, *, as_json: bool) -> None:
    flows.setattr("jobs.allocation.run.run_allocation", _fails)
    said: list[str] = []
    with pytest.raises(InputMissingError):
        _said(said, as_json=as_json)
    assert said == ['{\n "found": "two incidents"\n}' if as_json else "two incidents"]


def test_nothing_is_said_when_the_first_flow_fails(flows: pytest.MonkeyPatch) -> None:
    flows.setattr("jobs.fault_latency.run.run_fault_latency", _fails)
    said: list[str] = []
    with pytest.raises(InputMissingError):
        _said(said)
    assert said == []
