"""Generated code of a size that the JVM compiles."""

from __future__ import annotations

from pyspark.sql import DataFrame

_MORE_THAN_ANY = 1_000_000


def compiled_apart(rows: DataFrame) -> DataFrame:
    """The same rows; the code that makes them ends here, and what follows is code of its own.

    Spark makes one method of all operators up to an exchange, and does not use one above
    `spark.sql.codegen.hugeMethodLimit`: then every operator copies every row. Coalescing to more partitions than there
    are moves nothing; on HDFS a few tasks may read another host's blocks.
    """
    return rows.coalesce(_MORE_THAN_ANY)
