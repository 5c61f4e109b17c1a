"""Parquet files whose columns differ: which file, and which column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from jobs.errors import InputUnreadableError
from jobs.spark.failures import root_cause


def misfit(spark: SparkSession, names: Mapping[str, str]) -> InputUnreadableError | None:
    """The error of files that Spark could not read together; None when they agree.

    Args:
        names: path for Spark's reader to the name that a user knows.
    """
    known: dict[str, tuple[str, str]] = {}
    for path, name in names.items():
        try:
            schema = spark.read.option("recursiveFileLookup", "true").parquet(path).schema
        except (Py4JJavaError, PySparkException) as error:
            return InputUnreadableError(
                f"{name} cannot be read as Parquet ({root_cause(error)}); replace it with a complete copy"
            )
        for column, kind in _columns(schema):
            first_kind, first = known.setdefault(column.lower(), (kind, name))
            if kind != first_kind:
                return InputUnreadableError(
                    f"{name} has the column {column} as {kind}, {first} as {first_kind}; write both with one type"
                )
    return None


def _columns(kind: DataType, name: str = "") -> Iterator[tuple[str, str]]:
    """Each column, and what is nested in it, with its type."""
    if name:
        yield name, kind.typeName() if isinstance(kind, StructType | ArrayType | MapType) else kind.simpleString()
    if isinstance(kind, StructType):
        for field in kind.fields:
            yield from _columns(field.dataType, f"{name}.{field.name}" if name else field.name)
    elif isinstance(kind, ArrayType):
        yield from _columns(kind.elementType, f"{name}[]")
    elif isinstance(kind, MapType):
        yield from _columns(kind.keyType, f"{name}.key")
        yield from _columns(kind.valueType, f"{name}.value")
