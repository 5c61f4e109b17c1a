"""Lines of a text log, each parsed by one pattern for the whole line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.settings.line_pattern import LinePattern
from jobs.sources.json_lines import PLACE, text_lines

MISMATCH = "pattern_mismatch"


def matched_lines(spark: SparkSession, paths: Sequence[str], pattern: LinePattern) -> DataFrame:
    """One row per line of `text_lines`, with `values` (a struct of the texts of the groups) and `damage`.

    `values` is null unless the line matches; a group without text is empty. `damage` is null for a line that
    matches, else `blank`, `invalid_utf8` or `pattern_mismatch`. Lines go through Python as whole Arrow columns.
    """
    raw = F.col("raw")
    damage = F.when(~raw.rlike(r"\S"), "blank").when(~F.is_valid_utf8(raw), "invalid_utf8")
    lines = text_lines(spark, paths).select(*PLACE, "raw", damage.alias("damage"))
    groups = ", ".join(f"`{name}`: string" for name in pattern.names)
    schema = f"file string, split bigint, row bigint, raw string, damage string, values struct<{groups}>"

    def match(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow.compute as pc  # noqa: PLC0415 - the task's own

        for batch in batches:
            texts = pc.if_else(pc.is_null(batch["damage"]), batch["raw"], None)
            yield batch.append_column("values", pattern.values(texts))

    mismatch = F.when(F.col("values").isNull(), MISMATCH)
    return lines.mapInArrow(match, schema).withColumn("damage", F.coalesce("damage", mismatch))
