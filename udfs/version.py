"""Client versions as comparable numbers."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from udfs.plain_version import FORM


def is_version(client_version: Column) -> Column:
    """Whether the text is a version that `version_number` reads; null for null."""
    return client_version.rlike(FORM)


def highest_version(client_version: Column) -> Column:
    """The highest version of a group; an invalid text only where there is no other.

    Examples:
        >>> frame = spark.createDataFrame([("5.9.0",), ("5.10.0",), ("latest",), (None,)], "client_version string")
        >>> frame.select(highest_version(F.col("client_version")).alias("highest")).show()
        +-------+
        |highest|
        +-------+
        | 5.10.0|
        +-------+
        <BLANKLINE>
    """
    return F.max(F.struct(version_number(client_version), client_version.alias("version")))["version"]


def version_number(client_version: Column) -> Column:
    """`5.1.4` → 50104, so that versions compare as numbers.

    `V5_1_4`, as `MQVersion.getVersionDesc` returns it, and a `-SNAPSHOT` suffix count as the release.

    Returns:
        int; null for null and for an invalid text.

    Examples:
        >>> frame = spark.createDataFrame([("4.9.8",), ("V5_1_4",), ("latest",), (None,)], "client_version string")
        >>> frame.select(version_number(F.col("client_version")).alias("number")).show()
        +------+
        |number|
        +------+
        | 40908|
        | 50104|
        |  NULL|
        |  NULL|
        +------+
        <BLANKLINE>
    """

    def part(group: int) -> Column:
        return F.regexp_extract(client_version, FORM, group).cast("int")

    number = part(1) * 10_000 + part(2) * 100 + part(3)
    return F.when(is_version(client_version), number)
