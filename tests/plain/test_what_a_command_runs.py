"""What each command hands to its run: the days, and what its options ask for."""

from __future__ import annotations

import contextlib
import datetime as dt
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from jobs.cli import main as cli
from jobs.runs.run import Run
from jobs.what_if.requested_policies import RequestedPolicies

D1, D2 = dt.date(2026, 3, 1), dt.date(2026, 3, 2)
FLOWS = ("nightly", "fault-latency", "allocation")


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Run]:
    """The runs that were started; nothing else happens."""
    found: list[Run] = []

    def starts(*given: Any, **_: Any) -> str:
        found.extend(each for each in given if isinstance(each, Run))
        return ""

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("jobs.spark.environment.check_environment", lambda: None)
    monkeypatch.setattr("jobs.cli.publish.run_flows", starts)
    monkeypatch.setattr("jobs.what_if.run.run_what_if", starts)
    monkeypatch.setattr("jobs.what_if.summary.summarize_what_if", lambda *_: None)
    monkeypatch.setattr("jobs.what_if.summary_text.what_if_text", lambda _: "")
    monkeypatch.setattr("jobs.upkeep.maintain.run_maintain", starts)
    monkeypatch.setattr("jobs.upkeep.maintain_text.upkeep_text", lambda _: "")
    monkeypatch.setattr("jobs.spark.session.running", lambda *_, **__: contextlib.nullcontext())
    monkeypatch.setattr("jobs.verify.run.run_verify", starts)
    monkeypatch.setattr("jobs.verify.summary.summarize_verify", lambda *_: SimpleNamespace(differing=0, causes={}))
    monkeypatch.setattr("jobs.verify.summary_text.verify_text", lambda _: "")
    return found


def _run(runs: list[Run], *arguments: str) -> Run:
    assert cli.main([*arguments, "--lake", "lake"]) == 0
    return runs.pop()


@pytest.mark.parametrize("name", FLOWS)
def test_each_option_of_a_run_is_asked_for_alone(runs: list[Run], name: str) -> None:
    asked = {
        option: _run(runs, name, "--date", f"{D1}", *([option] if option else []))
        for option in ("", "--allow-empty", "--no-cascade", "--break-lock")
    }
    assert {option: (run.allow_empty, run.cascade, run.break_lock) for option, run in asked.items()} == {
        "": (False, True, False),
        "--allow-empty": (True, True, False),
        "--no-cascade": (False, False, False),
        "--break-lock": (False, True, True),
    }
    assert {run.command for run in asked.values()} == {name}
    assert len({run.run_id for run in asked.values()}) == len(asked)
    assert abs(asked[""].clock() - dt.datetime.now(dt.UTC)) < dt.timedelta(minutes=1)


@pytest.mark.parametrize("name", [*FLOWS, "what-if", "verify"])
def test_the_days_of_a_run_are_those_asked_for(runs: list[Run], name: str) -> None:
    assert _run(runs, name, "--date", f"{D1}").days == (D1,)
    assert _run(runs, name, "--from", f"{D1}", "--to", f"{D2}").days == (D1, D2)


@pytest.mark.parametrize("name", ["what-if", "verify", "maintain"])
def test_a_command_that_writes_breaks_a_lock_when_asked_to(runs: list[Run], name: str) -> None:
    day = [] if name == "maintain" else ["--date", f"{D1}"]
    assert not _run(runs, name, *day).break_lock
    assert _run(runs, name, *day, "--break-lock").break_lock


def test_each_way_to_name_a_policy_is_asked(runs: list[Run], monkeypatch: pytest.MonkeyPatch) -> None:
    """Released, own, swept; of none given all that are released, and each producer as it is."""
    asked: list[RequestedPolicies] = []

    def answers(*given: Any, **_: Any) -> str:
        asked.extend(each for each in given if isinstance(each, RequestedPolicies))
        return "the answer"

    monkeypatch.setattr("jobs.what_if.run.run_what_if", answers)
    day = ["--date", f"{D1}"]
    for options in (
        [], ["--policy", "P2", "--policy", "AS_RUN"], ["--ladder", "short=550/1000@P5"],
        ["--sweep", "P5/1/2"],
    ):  # fmt: skip
        assert cli.main(["what-if", *day, *options, "--lake", "lake"]) == 0
    assert [tuple(each.names) for each in asked] == [
        ("AS_RUN", "P1", "P2", "P3", "P4", "P5"), ("AS_RUN", "P2"), ("short",), ("P5 x1/x2",),
    ]  # fmt: skip
    assert runs == []
