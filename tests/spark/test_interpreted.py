"""A run over few lines has its plans interpreted, one over many has them compiled, and the site has the last word."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from conftest import GENERATED, generating
from jobs.runs import runner
from jobs.spark import interpreted as few
from tests.given.site import D1, Site, at, send

_WHOLE_STAGE = "spark.sql.codegen.wholeStage"
INTERPRETED = {_WHOLE_STAGE: "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}


def _modes(spark: SparkSession) -> dict[str, str | None]:
    return {name: spark.conf.get(name) for name in GENERATED}


@pytest.fixture
def compiling(spark: SparkSession) -> Iterator[SparkSession]:
    """The session as a night has it."""
    with generating(spark):
        yield spark


@pytest.mark.parametrize(
    ("lines", "site", "expected"),
    [
        (few.FEW_LINES, {}, INTERPRETED),
        (few.FEW_LINES + 1, {}, GENERATED),
        (0, {_WHOLE_STAGE: "true"}, GENERATED),
        (0, {"spark.driver.memory": "8g"}, INTERPRETED),
    ],
)
def test_few_lines_are_interpreted(
    compiling: SparkSession, lines: int, site: Mapping[str, str], expected: Mapping[str, str]
) -> None:
    with few.interpreted(compiling, lines, site):
        assert _modes(compiling) == expected
    assert _modes(compiling) == GENERATED


def test_a_failure_leaves_the_session_as_it_was(compiling: SparkSession) -> None:
    with pytest.raises(RuntimeError, match="of the day"), few.interpreted(compiling, 0, {}):
        raise RuntimeError("of the day")
    assert _modes(compiling) == GENERATED


@pytest.mark.parametrize(("most", "expected"), [(1, INTERPRETED), (0, GENERATED)])
def test_a_run_counts_the_lines_that_it_read(
    compiling: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    most: int,
    expected: Mapping[str, str],
) -> None:
    modes: list[dict[str, str | None]] = []
    derive = runner.derive

    def observed(*arguments: Any, **named: Any) -> Any:
        modes.append(_modes(compiling))
        return derive(*arguments, **named)

    monkeypatch.setattr(runner, "derive", observed)
    monkeypatch.setattr(few, "FEW_LINES", most)
    site = Site(compiling, tmp_path)
    site.log([send(at(D1, "12:00:00"), 10)])
    site.run(D1)
    assert modes == [expected]
    assert _modes(compiling) == GENERATED
