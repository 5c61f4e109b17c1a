"""Frames without rows, visible in their plan: writing or joining them needs no job to find out."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType


def no_rows(spark: SparkSession, schema: StructType | str) -> DataFrame:
    """A frame of these columns without rows; `createDataFrame([], schema)` is an RDD, opaque to plans.

    >>> may_hold_rows(no_rows(spark, StructType())), may_hold_rows(spark.range(1))
    (False, True)
    >>> no_rows(spark, "a int").columns
    ['a']
    """
    columns = StructType.fromDDL(schema) if isinstance(schema, str) else schema
    java = spark._jvm.java.util.ArrayList()  # type: ignore[union-attr]
    parsed = spark._jsparkSession.parseDataType(columns.json())
    return DataFrame(spark._jsparkSession.createDataFrame(java, parsed), spark)


def may_hold_rows(frame: DataFrame) -> bool:
    """Whether the plan may produce rows; no job runs."""
    most = frame._jdf.queryExecution().analyzed().maxRows()  # noqa: SLF001 - Python does not know
    return bool(most.isEmpty() or most.get() > 0)
