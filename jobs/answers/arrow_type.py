"""Types of published tables as Arrow reads them."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql.types import ArrayType, DataType, StructType

_TYPES = {
    "string": pa.string(),
    "bigint": pa.int64(),
    "int": pa.int32(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
}


def arrow_type(kind: DataType, zone: str | None = "UTC") -> pa.DataType:
    """The Arrow type that a column of a published table is read as; `zone` is that of instants."""
    if isinstance(kind, ArrayType):
        return pa.list_(arrow_type(kind.elementType, zone))
    if isinstance(kind, StructType):
        return pa.struct([(field.name, arrow_type(field.dataType, zone)) for field in kind])
    return _TYPES.get(kind.simpleString()) or pa.timestamp("us", zone)
