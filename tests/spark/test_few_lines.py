"""A run over few lines plans for few, one over many as Spark does, and the site has the last word."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from conftest import AS_OF_MANY, generating
from jobs.fault_latency.run import FAULT_LATENCY_FLOW, recompute_fault_latency
from jobs.runs import runner
from jobs.runs.run import Run
from jobs.settings.load import load_settings
from jobs.spark import few_lines as few
from jobs.spark.no_rows import no_rows
from jobs.tables.day import Day
from jobs.text.progress import Progress
from tests.given.site import D1, D2, Site, at, send

_WHOLE_STAGE = "spark.sql.codegen.wholeStage"
_ADAPTIVE = "spark.sql.adaptive.enabled"
FOR_FEW = {
    _WHOLE_STAGE: "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    _ADAPTIVE: "false",
    "spark.sql.shuffle.partitions": "1",
}


def _modes(spark: SparkSession) -> dict[str, str | None]:
    return {name: spark.conf.get(name) for name in AS_OF_MANY}


@pytest.fixture
def as_of_many(spark: SparkSession) -> Iterator[SparkSession]:
    """The session as a night has it."""
    with generating(spark):
        yield spark


@pytest.mark.parametrize(
    ("lines", "site", "expected"),
    [
        (few.FEW_LINES, {}, FOR_FEW),
        (few.FEW_LINES + 1, {}, AS_OF_MANY),
        (None, {}, AS_OF_MANY),
        (0, {_WHOLE_STAGE: "true"}, AS_OF_MANY),
        (0, {_ADAPTIVE: "true"}, AS_OF_MANY),
        (0, {"spark.driver.memory": "8g"}, FOR_FEW),
    ],
)
def test_few_lines_are_planned_for_few(
    as_of_many: SparkSession, lines: int | None, site: Mapping[str, str], expected: Mapping[str, str]
) -> None:
    with few.small_input_conf(as_of_many, lines, site):
        assert _modes(as_of_many) == expected
    assert _modes(as_of_many) == AS_OF_MANY


def test_a_failure_leaves_the_session_as_it_was(as_of_many: SparkSession) -> None:
    with pytest.raises(RuntimeError, match="of the day"), few.small_input_conf(as_of_many, 0, {}):
        raise RuntimeError("of the day")
    assert _modes(as_of_many) == AS_OF_MANY


def test_each_day_is_planned_for_its_own_lines(
    as_of_many: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when it is recomputed from the lake; the lines of a run are published as those of all its days ask for."""
    modes: list[tuple[str, dict[str, str | None]]] = []

    def watch(name: str, function: str, day: Callable[..., Day]) -> None:
        called = getattr(runner, function)

        def watched(*arguments: Any, **named: Any) -> Any:
            modes.append((f"{name} {day(*arguments).date.day}", _modes(as_of_many)))
            return called(*arguments, **named)

        monkeypatch.setattr(runner, function, watched)

    watch("lines of", "check_rows", lambda _commit, _rows, day: day)
    watch("from the start of", "opening_of", lambda _flow, _context, day: day)
    monkeypatch.setattr(few, "FEW_LINES", 1)
    # What is derived of a day is of no matter here.
    nothing = {table.name: no_rows(as_of_many, table.schema) for table in FAULT_LATENCY_FLOW.derived}
    flow = dataclasses.replace(FAULT_LATENCY_FLOW, derive=lambda *_: nothing)
    monkeypatch.setattr("jobs.fault_latency.run.FAULT_LATENCY_FLOW", flow)
    site = Site(as_of_many, tmp_path)
    site.log([send(at(D1, "12:00:00"), 10), send(at(D2, "12:00:00"), 10), send(at(D2, "13:00:00"), 10)])
    site.run(D1, D2)
    derived = [("from the start of 1", FOR_FEW), ("from the start of 2", AS_OF_MANY)]
    lines = [("lines of 1", AS_OF_MANY), ("lines of 2", AS_OF_MANY)]
    assert modes == [lines[0], derived[0], lines[1], derived[1]]
    assert _modes(as_of_many) == AS_OF_MANY
    modes.clear()
    settings = load_settings([], [], {"lake": str(site.lake)})
    call = Run("r", "", (D1, D2), allow_empty=False, cascade=True, clock=lambda: dt.datetime(2026, 3, 6, tzinfo=dt.UTC))
    recompute_fault_latency(as_of_many, settings, call, Progress())
    assert modes == derived
    assert _modes(as_of_many) == AS_OF_MANY
