"""The thin Arrow wrapper around `jobs.allocation.group`: walks each group's day once and returns rows of tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from jobs.allocation.frames import GROUP_DAYS
from jobs.allocation.group.day import group_day
from jobs.allocation.group.known import KINDS, GroupFacts
from jobs.settings.model import Settings
from jobs.tables import Table
from jobs.tables.day import Day


def group_days(facts: DataFrame, day: Day, settings: Settings) -> DataFrame:
    """GROUP_DAYS: rows of all tables that are of groups.

    Args:
        facts: frame of `group_facts`.
        day: the day.
        settings: groups' strategies, staleness.
    """
    groups, stale_ms, schema = settings.groups, settings.max_staleness_ms, StructType(list(GROUP_DAYS.columns))
    arrow_schema = to_arrow_schema(schema)

    def walk(key: tuple[pa.Scalar, ...], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        consumer_group = key[0].as_py()
        rows = group_day(consumer_group, _facts(batches), groups.get(consumer_group), day, stale_ms)
        for table, of_table in vars(rows).items():
            if of_table:
                yield _batch(consumer_group, table, of_table, arrow_schema)

    # Few bytes that take long: Spark would put all groups into one task.
    tasks = int(facts.sparkSession.conf.get("spark.sql.shuffle.partitions") or 1)
    return facts.repartition(tasks, "consumer_group").groupBy("consumer_group").applyInArrow(walk, schema)


def rows_of(table: Table, days: DataFrame) -> DataFrame:
    """The rows of one table, without day and cluster.

    Args:
        table: one of `OF_GROUPS`.
        days: frame GROUP_DAYS.
    """
    return days.where(F.col(table.name).isNotNull()).select("consumer_group", f"{table.name}.*")


def _facts(batches: Iterator[pa.RecordBatch]) -> GroupFacts:
    rows: dict[str, list[dict[str, Any]]] = {}
    for batch in batches:
        for kind in KINDS.keys() & set(batch.schema.names):
            rows.setdefault(kind, []).extend(batch.column(kind).drop_null().to_pylist())
    return GroupFacts.from_rows(rows)


def _batch(consumer_group: str, table: str, rows: Sequence[object], schema: pa.Schema) -> pa.RecordBatch:
    fields = list(schema.field(table).type)
    columns = [pa.array([getattr(row, field.name) for row in rows], field.type) for field in fields]
    of_table = {
        "consumer_group": pa.array([consumer_group] * len(rows), pa.string()),
        table: pa.StructArray.from_arrays(columns, fields=fields),
    }
    return pa.RecordBatch.from_arrays(
        [of_table.get(field.name, pa.nulls(len(rows), field.type)) for field in schema], schema=schema
    )
