"""How many spans stand at a time."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F


def levels(spans: DataFrame, keys: Sequence[str], counted: Sequence[str]) -> DataFrame:
    """The counts that hold from each moment at which a span of the key starts or ends to the next one.

    Grain: the keys and `at_ms`; `until_ms` (null after the last moment), and each of `counted`.

    Args:
        spans: the keys, `from_ms`, `until_ms` (exclusive), and the columns counted: how much the span adds to each.
        keys: what is counted by.
        counted: columns to add up.
    """
    moves = F.explode(F.array(_move("from_ms", 1), _move("until_ms", -1))).alias("move")
    steps = (
        spans.select(*keys, *counted, moves)
        .groupBy(*keys, "move.at_ms")
        .agg(*(F.sum(F.col(name) * F.col("move.sign")).alias(name) for name in counted))
    )
    in_time = Window.partitionBy(*keys).orderBy("at_ms")
    so_far = in_time.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    return steps.withColumns(
        {**{name: F.sum(name).over(so_far) for name in counted}, "until_ms": F.lead("at_ms").over(in_time)}
    )


def _move(at: str, sign: int) -> Column:
    return F.struct(F.col(at).alias("at_ms"), F.lit(sign).alias("sign"))
