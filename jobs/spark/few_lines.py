"""Spark's settings for few rows, where a plan costs more than its rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

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


@contextmanager
def small_input_conf(spark: SparkSession, lines: int | None, site: Mapping[str, str]) -> Iterator[None]:
    """Within the block, use interpreted, non-adaptive plans if the input is small.

    Args:
        spark: the session.
        lines: number of lines that the run read; None where it reads rows of the lake instead.
        site: the site's `[spark]` settings, which win.
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
