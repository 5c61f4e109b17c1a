"""Buckets of equal length, numbered: the key of joins by time."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F


def bucket_of(instant_ms: Column, width_ms: int) -> Column:
    """The number of the instant's bucket of `width_ms`, counted from 1970.

    Returns:
        bigint; null for null.

    Examples:
        >>> frame = spark.createDataFrame([(59999,), (60000,), (-1,), (None,)], "at_ms bigint")
        >>> frame.select(bucket_of(F.col("at_ms"), 60000).alias("minute")).show()
        +------+
        |minute|
        +------+
        |     0|
        |     1|
        |    -1|
        |  NULL|
        +------+
        <BLANKLINE>
    """
    return F.floor(instant_ms / width_ms).cast("bigint")


def minute_of(instant_ms: Column) -> Column:
    """The minute that an instant lies in, counted from 1970."""
    return bucket_of(instant_ms, 60_000)
