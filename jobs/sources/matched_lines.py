"""Lines of a text log, each taken apart by one pattern that stands for the whole line."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from jobs.settings.line_pattern import LinePattern
from jobs.sources.json_lines import PLACE, text_lines

MISMATCH = "pattern_mismatch"
_END = "\n"  # no line holds one


def matched_lines(
    spark: SparkSession, paths: Sequence[str], pattern: LinePattern, counted: Observation | None = None
) -> DataFrame:
    """One row per line as of `text_lines`, with `values` (an array of the texts of the groups) and `damage`.

    `values` is null unless the line fits; a group without a text has an empty one. `damage` is null for a line that
    fits, else `blank`, `invalid_utf8` or `pattern_mismatch`. Each line is matched once, in time that
    grows with its length alone.
    """
    raw = F.col("raw")
    is_text = raw.rlike(r"\S") & F.is_valid_utf8(raw)
    groups = "".join(f"{_END}${place}" for place in range(1, len(pattern.names) + 1))
    matched = F.regexp_replace(F.when(is_text, raw), pattern.regex, groups)
    lines = text_lines(spark, paths, counted).withColumn("matched", matched)
    fits = F.contains("matched", F.lit(_END))
    damage = F.when(~raw.rlike(r"\S"), "blank").when(~F.is_valid_utf8(raw), "invalid_utf8").when(~fits, MISMATCH)
    texts = F.split(F.substring(F.col("matched"), 2, 2**31 - 1), _END)
    return lines.select(*PLACE, "raw", damage.alias("damage"), F.when(fits, texts).alias("values"))
