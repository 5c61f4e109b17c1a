"""`SelectMessageQueueByHash` on columns: which queue of a list an order key leads to."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from udfs.java_text import INT_MIN
from udfs.releases import holds

_UNSIGNED = 0xFFFFFFFF
_HEX_DIGITS = 4  # of one UTF-16 code unit


def string_hash(text: Column) -> Column:
    """`String.hashCode`, of the UTF-16 code units: a signed 32-bit number as bigint; null for null.

    Examples:
        >>> frame = spark.createDataFrame([("polygenelubricants",), ("",), (None,)], "order_key string")
        >>> [row[0] for row in frame.select(string_hash(F.col("order_key"))).collect()]
        [-2147483648, 0, None]
    """
    digits = F.hex(F.encode(text, "UTF-16BE"))
    begins = F.filter(
        F.sequence(F.lit(1), F.length(digits) + 1, F.lit(_HEX_DIGITS)), lambda begin: begin < F.length(digits)
    )
    units = F.transform(begins, lambda begin: F.conv(F.substring(digits, begin, _HEX_DIGITS), 16, 10).cast("bigint"))
    unsigned = F.aggregate(
        units, F.lit(0).cast("bigint"), lambda value, unit: (value * 31 + unit).bitwiseAND(F.lit(_UNSIGNED))
    )
    return F.when(unsigned > F.lit(2**31 - 1), unsigned - F.lit(2**32)).otherwise(unsigned)


def index_by_hash(code: Column, queues: Column, version_number: Column) -> Column:
    """Index that the selector picks among `queues`.

    Args:
        code: `hashCode` of the order key.
        queues: number of queues to send to.
        version_number: client version by `udfs.version`; null = 4.8.0 or later.

    Returns:
        int; null for null, without queues, and before 4.8.0 where the index is negative and Java throws: for a
        hash of `Integer.MIN_VALUE`, unless the remainder is 0.

    Examples:
        >>> rows = [(-7, 3, 50303), (-(2**31), 3, 40701), (5, 0, 50303)]
        >>> frame = spark.createDataFrame(rows, "code bigint, queues int, version int")
        >>> [row[0] for row in frame.select(index_by_hash(*map(F.col, frame.columns))).collect()]
        [1, None, None]
    """
    remainder = (F.abs(code) % F.nullif(queues, F.lit(0))).cast("int")  # |remainder| = remainder of the magnitude
    throws = (code == INT_MIN) & ~holds("hash_selector_takes_abs_of_remainder", version_number) & (remainder > 0)
    return F.when(~F.coalesce(throws, F.lit(False)), remainder)
