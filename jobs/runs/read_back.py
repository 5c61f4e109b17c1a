"""What a run's summary reads back from the lake: several frames by one query."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import reduce
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

Answer = dict[str, Any]
"""A row: column to a text, a whole number, a flag or None."""


def with_each_reason(quarantine: DataFrame) -> DataFrame:
    """One row per rejected line and `reason` of it; of a line that an older release wrote its first alone."""
    reasons = F.coalesce("reasons", F.array("reason"))
    return quarantine.withColumn("reason", F.explode(reasons))


def rows_of_each(frames: Mapping[str, DataFrame]) -> dict[str, list[Answer]]:
    """The rows of each frame, in its own order; for frames of a few rows, as each comes as JSON.

    Spark plans and schedules one query where it would several.
    """
    row = F.to_json(F.struct(F.col("*")), {"ignoreNullFields": "false"})
    numbered = [
        frame.select(F.lit(name).alias("frame"), F.monotonically_increasing_id().alias("number"), row.alias("row"))
        for name, frame in frames.items()
    ]
    found: dict[str, list[Answer]] = {name: [] for name in frames}
    for name, _, text in sorted(map(tuple, reduce(DataFrame.union, numbered).collect())):
        found[name].append(json.loads(text))
    return found
