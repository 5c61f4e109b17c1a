"""A command over both flows: conditions are asked when all is said, and a lock is broken once."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime as dt
import json
from collections.abc import Iterator, Mapping
from typing import Any
from unittest.mock import Mock

import pytest

from jobs.cli.fail_on import parse_condition
from jobs.cli.publish import RunOptions, run_flows
from jobs.errors import ConditionMetError, LakeError
from jobs.runs.run import Run, RunResult
from jobs.settings.load import load_settings
from tests.given.quiet_answers import QUIET

RUN = Run(
    "r", "nightly", (dt.date(2026, 3, 1),), allow_empty=False, cascade=True, clock=dt.datetime.now, break_lock=True
)
SENDS, CONSUMERS = {"inputs.sends.path": "sends"}, {"inputs.consumers.path": "consumers"}


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, bool]]:
    """Both flows without Spark, of a night with two contradictions: which ran, and whether it was to break a lock."""
    runs: list[tuple[str, bool]] = []

    @contextlib.contextmanager
    def running(*_: Any, **__: Any) -> Iterator[Mock]:
        spark = Mock()
        spark.sparkContext.getConf().getAll.return_value = []
        yield spark

    def result_of(flow: str, run: Run) -> RunResult:
        runs.append((flow, run.break_lock))
        return RunResult(run, clusters=["north"])

    def runs_as(flow: str) -> Any:
        return lambda _, __, run, ___: result_of(flow, run)

    monkeypatch.setattr("jobs.check.before.check_before", lambda *_: [])  # there are no files
    monkeypatch.setattr("jobs.spark.session.running", running)
    monkeypatch.setattr("jobs.fault_latency.run.run_fault_latency", runs_as("fault-latency"))
    recomputes = lambda *given, cluster: result_of(f"recompute {cluster}", given[2])  # noqa: E731
    monkeypatch.setattr("jobs.fault_latency.run.recompute_fault_latency", recomputes)
    monkeypatch.setattr("jobs.allocation.run.run_allocation", runs_as("allocation"))
    monkeypatch.setattr("jobs.answers.digest.digests", lambda *_: [dataclasses.replace(QUIET, contradictions=2)])
    return runs


def _run(given: Mapping[str, object], *fail_on: str, as_json: bool = False, command: str = "nightly") -> list[str]:
    said: list[str] = []
    options = RunOptions(as_json=as_json, fail_on=tuple(map(parse_condition, fail_on)))
    settings = load_settings([], [], {**given, "lake": "/the/lake"})
    try:
        run_flows(options, settings, dataclasses.replace(RUN, command=command), "a day", said.append)
    except ConditionMetError as error:
        said.append(str(error))
    return said


@pytest.mark.parametrize("as_json", [False, True])
def test_a_condition_is_asked_when_both_flows_are_published_and_said(
    ran: list[tuple[str, bool]], *, as_json: bool
) -> None:
    text, error = _run(SENDS | CONSUMERS, "contradictions>1", as_json=as_json)
    assert error == "--fail-on held: contradictions 2; the tables are published"
    assert [flow for flow, _ in ran] == ["fault-latency", "allocation"]
    if as_json:
        told = json.loads(text)
        assert (told["run_id"], told["lake"], [*told["flows"]]) == ("r", "/the/lake", ["fault-latency", "allocation"])
        assert told["nights"] == [dataclasses.asdict(dataclasses.replace(QUIET, contradictions=2))]
    else:
        assert "2026-11-21, cluster north\n  A quiet night.\n" in text
        assert "\nTables are in /the/lake (Delta); ask them with " in text


@pytest.mark.parametrize("conditions", [(), ("event",)])
@pytest.mark.parametrize(
    "fails",
    [
        ImportError("No module named deltalake"),
        LakeError("cannot open lake: no route to s3://key:hunter22@bucket"),
        OSError("secret.key = hunter22"),
    ],
)
def test_a_night_that_cannot_be_read_back_is_published_all_the_same(
    ran: list[tuple[str, bool]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    fails: Exception,
    conditions: tuple[str, ...],
) -> None:
    """One sentence on stderr, facts on stdout, exit 0; only what was asked of it is an exit code."""

    def digests(*_: object) -> None:
        raise fails

    monkeypatch.setattr("jobs.answers.digest.digests", digests)
    text, *error = _run(SENDS | CONSUMERS, *conditions, as_json=True)
    assert (
        error
        == ["--fail-on could not be judged, as the published tables cannot be read; the tables are published"][
            : len(conditions)
        ]
    )
    assert len(ran) == 2
    told = json.loads(text)
    assert (told["nights"], [*told["flows"]]) == (None, ["fault-latency", "allocation"])
    said = [line for line in capsys.readouterr().err.splitlines() if line.startswith("faultline: ")]
    assert len(said) == 1
    assert said[0].startswith("faultline: published, but the night cannot be read back: ")
    assert "hunter22" not in said[0]


@pytest.mark.usefixtures("ran")
def test_a_condition_that_does_not_hold_says_nothing() -> None:
    assert len(_run(SENDS | CONSUMERS, "contradictions>2", "event", "missing-producer")) == 1


def test_the_first_flow_breaks_the_lock_and_the_second_respects_a_later_holder(ran: list[tuple[str, bool]]) -> None:
    _run(SENDS | CONSUMERS)
    assert ran == [("fault-latency", True), ("allocation", False)]


def test_the_second_flow_alone_breaks_the_lock(ran: list[tuple[str, bool]]) -> None:
    _run(CONSUMERS)
    _run(SENDS | CONSUMERS, command="allocation")
    assert ran == [("allocation", True), ("allocation", True)]


@pytest.mark.parametrize(
    ("command", "conditions", "ends"),
    [
        ("nightly", (), 1),
        ("nightly", ("contradictions>1",), 1),
        ("fault-latency", (), 0),
        ("allocation", (), 0),
    ],
)
def test_a_night_that_cannot_be_exported_ends_as_it_would(
    ran: list[tuple[str, bool]],
    capsys: pytest.CaptureFixture[str],
    command: str,
    conditions: tuple[str, ...],
    ends: int,
) -> None:
    """Nothing is at /the/lake. It is tried last, when all is said; the flows alone export nothing."""
    text, *error = _run(SENDS | CONSUMERS | {"export.duckdb": "/F.duckdb"}, *conditions, command=command)
    assert "\nTables are in /the/lake (Delta)" in text
    assert [each.partition(":")[0] for each in error] == ["--fail-on held"] * len(conditions)
    assert ran
    said = [line for line in capsys.readouterr().err.splitlines() if line.startswith("faultline: ")]
    assert len(said) == ends
    for each in said:
        assert each.startswith("faultline: published, but not exported: /the/lake is not a lake: it holds no run log; ")
        assert each.endswith("; then run faultline export duckdb")


@pytest.mark.usefixtures("ran")
@pytest.mark.parametrize(
    ("command", "how", "opened"),
    [
        ("nightly", RunOptions(), ["s3a://a/sends", "s3a://b/consumers"]),
        ("allocation", RunOptions(), ["s3a://b/consumers"]),
        ("fault-latency", RunOptions(recompute=True), []),
    ],
)
def test_only_the_stores_of_inputs_that_are_read_are_opened(
    monkeypatch: pytest.MonkeyPatch, command: str, how: RunOptions, opened: list[str]
) -> None:
    asked: list[str] = []
    monkeypatch.setattr("jobs.spark.store_jars.check_stores", lambda _, uris: asked.extend(filter(None, uris)))
    paths = {"inputs.sends.path": "s3a://a/sends", "inputs.consumers.path": "s3a://b/consumers"}
    settings = load_settings([], [], {**paths, "lake": "/the/lake"})
    run_flows(how, settings, dataclasses.replace(RUN, command=command), "a day", lambda _: None)
    assert asked == opened


@pytest.mark.parametrize("cluster", [None, "north"])
def test_a_recompute_reads_no_input(
    ran: list[tuple[str, bool]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    cluster: str | None,
) -> None:
    """Nor is any looked for: its files may be gone, or be in the lake's own folder."""
    asked: list[str] = []
    monkeypatch.setattr("jobs.check.before.check_before", lambda *_: asked.append("files"))
    settings = load_settings([], [], {"inputs.sends.path": "/the/lake/x", "lake": "/the/lake"})
    command = dataclasses.replace(RUN, command="fault-latency")
    run_flows(RunOptions(recompute=True), settings, command, "a day", asked.append, cluster=cluster)
    assert ran == [(f"recompute {cluster}", True)]
    assert ["A quiet night." in each for each in asked] == [True]  # the answer alone
    of = f"cluster {cluster}" if cluster else "each cluster"
    assert f"faultline fault-latency --recompute: a day, {of}, lake /the/lake\n" in capsys.readouterr().err
