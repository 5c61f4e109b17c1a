"""Runs of rows at most a minute apart: what happens again within a minute is one finding."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame

from jobs.intervals.coalesce import coalesce_overlapping

CLOSE_MS = 60_000


def sessions(rows: DataFrame, keys: Sequence[str], evidence: Sequence[Column]) -> DataFrame:
    """One row per run of rows at most a minute apart, as `coalesce_overlapping` returns them."""
    return coalesce_overlapping(rows, keys, evidence, gap_ms=CLOSE_MS)


def moment(at_ms: Column) -> tuple[Column, Column]:
    """An instant as `start_ms` and `end_ms` of a row for `sessions`."""
    return at_ms.alias("start_ms"), (at_ms + 1).alias("end_ms")
