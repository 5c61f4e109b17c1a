"""Times that are written as text, as epoch milliseconds."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from udfs.plain_written_time import FORM


def written_ms(text: Column, time_zone: str | None = None) -> Column:
    """The instant, epoch ms, cut to whole ms; null for no time. Without a zone it is of `time_zone`, else UTC.

    A time of day that a place's clocks skip counts by the offset before, one that they repeat is the first.

    Examples:
        >>> frame = spark.createDataFrame([("2026-11-21 08:26:51,006",), ("2026-11-21 08:26:51 +08",)], "at string")
        >>> at = F.col("at")
        >>> frame.select(written_ms(at).alias("utc"), written_ms(at, "Asia/Tokyo").alias("tokyo")).show()
        +-------------+-------------+
        |          utc|        tokyo|
        +-------------+-------------+
        |1795249611006|1795217211006|
        |1795220811000|1795220811000|
        +-------------+-------------+
        <BLANKLINE>
    """
    written = _zone(text)
    zone = F.when(written == "", time_zone or "Z").when(F.length(written) == 1, "Z").otherwise(written)
    local = F.regexp_replace(text, FORM, r"$1-$3-$4T$5.$6\0")
    return F.when(text.rlike(FORM), F.unix_millis(F.try_to_timestamp(F.concat(local, F.lit(" "), zone))))


def lacks_zone(text: Column) -> Column:
    """Whether the text is a time without a zone; null for null."""
    return text.rlike(FORM) & (_zone(text) == "")


def _zone(text: Column) -> Column:
    return F.regexp_replace(text, FORM, "$7")
