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
    "timestamp": pa.timestamp("us", "UTC"),
}


def arrow_type(kind: DataType) -> pa.DataType:
    """The Arrow type that a column of a published table is read as."""
    if isinstance(kind, ArrayType):
        return pa.list_(arrow_type(kind.elementType))
    if isinstance(kind, StructType):
        return pa.struct([(field.name, arrow_type(field.dataType)) for field in kind])
    return _TYPES[kind.simpleString()]
