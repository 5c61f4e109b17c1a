"""The facts of each consumer group in one frame; from here on groups are independent."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def group_facts(facts: Mapping[str, DataFrame]) -> DataFrame:
    """`consumer_group` and, of each row, one struct that is not null, named after its kind.

    Args:
        facts: rows by attribute of `group.known.GroupFacts`: `consumer_group` and the kind's attributes.
    """
    of_kinds = (
        rows.select(
            "consumer_group", F.struct(*(name for name in rows.columns if name != "consumer_group")).alias(kind)
        )
        for kind, rows in facts.items()
    )
    return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), of_kinds)
