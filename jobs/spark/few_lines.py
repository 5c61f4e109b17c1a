"""Spark's settings for few rows, where a plan costs more than its rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager

from pyspark.sql import SparkSession

FEW_LINES = 100_000
"""Up to this many lines plans under `FOR_FEW_LINES` cost less (bench/TRIED.md)."""

_WHOLE_STAGE, _ADAPTIVE = "spark.sql.codegen.wholeStage", "spark.sql.adaptive.enabled"
FOR_FEW_LINES = {
    _WHOLE_STAGE: "false",  # code is interpreted, not compiled
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    _ADAPTIVE: "false",  # a query is planned once, not again after each shuffle
    "spark.sql.shuffle.partitions": "1",
}
"""Spark's settings for plans over few rows."""


def small_input_conf(spark: SparkSession, lines: int | None, site: Mapping[str, str]) -> AbstractContextManager[None]:
    """Within the block, use interpreted, non-adaptive plans if the input is small.

    Args:
        spark: the session.
        lines: number of lines that the run read; None where it reads rows of the lake instead.
        site: the site's `[spark]` settings, which win.
    """
    is_small = lines is not None and lines <= FEW_LINES and _WHOLE_STAGE not in site and _ADAPTIVE not in site
    return with_conf(spark, FOR_FEW_LINES if is_small else {})


@contextmanager
def with_conf(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Within the block the session has these settings, after it those from before."""
    before = {name: spark.conf.get(name, None) for name in settings}
    try:
        for name, value in settings.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, had in before.items():
            if had is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, had)
