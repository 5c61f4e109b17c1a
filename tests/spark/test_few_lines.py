"""A run over few lines plans for few, one over many as Spark does, and the site has the last word."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from conftest import AS_OF_MANY, generating
from jobs.runs import runner
from jobs.spark import few_lines as few
from tests.given.site import D1, Site, at, send

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
    with few.suited_to(as_of_many, lines, site):
        assert _modes(as_of_many) == expected
    assert _modes(as_of_many) == AS_OF_MANY


def test_a_failure_leaves_the_session_as_it_was(as_of_many: SparkSession) -> None:
    with pytest.raises(RuntimeError, match="of the day"), few.suited_to(as_of_many, 0, {}):
        raise RuntimeError("of the day")
    assert _modes(as_of_many) == AS_OF_MANY


@pytest.mark.parametrize(("most", "expected"), [(1, FOR_FEW), (0, AS_OF_MANY)])
def test_a_run_counts_the_lines_that_it_read(
    as_of_many: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    most: int,
    expected: Mapping[str, str],
) -> None:
    modes: list[dict[str, str | None]] = []
    derive = runner.derive

    def observed(*arguments: Any, **named: Any) -> Any:
        modes.append(_modes(as_of_many))
        return derive(*arguments, **named)

    monkeypatch.setattr(runner, "derive", observed)
    monkeypatch.setattr(few, "FEW_LINES", most)
    site = Site(as_of_many, tmp_path)
    site.log([send(at(D1, "12:00:00"), 10)])
    site.run(D1)
    assert modes == [expected]
    assert _modes(as_of_many) == AS_OF_MANY
