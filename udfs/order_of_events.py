"""The total order of a producer's attempts and of their writes, independent of files."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

_AFTER_SEQ = ("started_at_ms", "invoke_id", "attempt", "row_hash")


def order_of_attempts() -> list[Column]:
    """Sort keys of the attempts of one producer: their end, `seq` with nulls last, then tie-breakers."""
    return [F.col("ended_at_ms"), F.asc_nulls_last("seq"), *map(F.col, _AFTER_SEQ)]


def order_of_writes() -> list[Column]:
    """Sort keys of the writes of one fault item: their time, the order of their attempts, the step within one."""
    return [F.col("at_ms"), F.asc_nulls_last("seq"), *map(F.col, _AFTER_SEQ), F.col("step")]
