"""How Spark plans and runs where rows are few: a plan costs more than its rows then."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyspark.sql import SparkSession

FEW_LINES = 100_000
"""The plans of this many lines, and fewer, cost less as `FOR_FEW_LINES` says (bench/TRIED.md)."""

_WHOLE_STAGE, _ADAPTIVE = "spark.sql.codegen.wholeStage", "spark.sql.adaptive.enabled"
FOR_FEW_LINES = {
    _WHOLE_STAGE: "false",  # code is interpreted, not compiled
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    _ADAPTIVE: "false",  # a query is planned once, not again after each shuffle
    "spark.sql.shuffle.partitions": "1",
}
"""Spark's settings for plans over few rows."""


@contextmanager
def suited_to(spark: SparkSession, lines: int | None, site: Mapping[str, str]) -> Iterator[None]:
    """In the block Spark plans for few rows when the lines are few; otherwise the session stays as it is.

    Args:
        spark: the session.
        lines: that the run has read; None where it read none, but perhaps many rows of the lake.
        site: the site's `[spark]` settings; where one says how plans run, they stay so.
    """
    if lines is None or lines > FEW_LINES or _WHOLE_STAGE in site or _ADAPTIVE in site:
        yield
        return
    before = {name: str(spark.conf.get(name)) for name in FOR_FEW_LINES}
    try:
        for name, value in FOR_FEW_LINES.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)
