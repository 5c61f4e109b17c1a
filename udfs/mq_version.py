"""Client versions as connections have them: ordinals of `MQVersion.Version`."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

_V4_0_0_SNAPSHOT = 212
"""From here on a snapshot, then its release; ten patches a minor, ten minors a major (5.3.3)."""


def release_of(ordinal: Column) -> Column:
    """Release of the number on a connection; older than 4.0.0 counts as 3.9.9, newer than 5.9.9 as 5.9.9; null of null.

    Examples:
        >>> ordinals = [(211,), (212,), (355,), (409,), (412,), (479,), (611,), (612,), (None,)]
        >>> frame = spark.createDataFrame(ordinals, "ordinal int")
        >>> [row[0] for row in frame.select(release_of(F.col("ordinal"))).collect()]
        ['3.9.9', '4.0.0', '4.7.1', '4.9.8', '5.0.0', '5.3.3', '5.9.9', '5.9.9', None]
    """
    release = F.greatest(F.least(F.floor((ordinal - _V4_0_0_SNAPSHOT) / 2), F.lit(199)), F.lit(-1))
    minor, patch = F.pmod(F.floor(release / 10), F.lit(10)), F.pmod(release, F.lit(10))
    return F.when(ordinal.isNotNull(), F.format_string("%d.%d.%d", 4 + F.floor(release / 100), minor, patch))
