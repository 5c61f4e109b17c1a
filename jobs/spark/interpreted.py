"""Plans over few rows are interpreted: compiling them costs more than they take."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyspark.sql import SparkSession

FEW_LINES = 200_000
"""A day's plans over this many lines, and fewer, cost less interpreted (bench/TRIED.md)."""

_WHOLE_STAGE = "spark.sql.codegen.wholeStage"
INTERPRETED = {_WHOLE_STAGE: "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
"""Spark's settings that do it."""


@contextmanager
def interpreted(spark: SparkSession, lines: int, site: Mapping[str, str]) -> Iterator[None]:
    """Spark interprets the plans of the block when they read few lines; it compiles them otherwise, as it does anyway.

    Args:
        spark: the session.
        lines: that the run has read.
        site: the site's `[spark]` settings; one that says how plans run wins.
    """
    if lines > FEW_LINES or _WHOLE_STAGE in site:
        yield
        return
    before = {name: str(spark.conf.get(name)) for name in INTERPRETED}
    try:
        for name, value in INTERPRETED.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)
