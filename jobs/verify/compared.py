"""The comparison of all fault items of a day: a thin Arrow wrapper around `comparison.compared`."""

from __future__ import annotations

from dataclasses import asdict, fields

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import LongType, StringType, StructField, StructType

from jobs.kinds import Source
from jobs.verify.comparison import Comparison, Span, Write, compared
from jobs.verify.writers import WRITER
from jobs.verify.writes import CLIENT, ISOLATED, REPLAY, STRETCH

_ITEM = (*WRITER, "broker_name")
_COUNTS = (*(field.name for field in fields(Comparison)), "off_ladder")
_SCHEMA = StructType(
    [*(StructField(name, StringType()) for name in _ITEM), *(StructField(name, LongType()) for name in _COUNTS)]
)
_ARROW = pa.schema([*((name, pa.string()) for name in _ITEM), *((name, pa.int64()) for name in _COUNTS)])


def compared_items(writes: DataFrame) -> DataFrame:
    """One row per writer and broker: the columns of `Comparison`, and `off_ladder`, writes that no ladder gives.

    Args:
        writes: of both sides, as `writes` makes them.
    """
    return writes.groupBy(*_ITEM).applyInArrow(_compare, _SCHEMA)


def _compare(writes: pa.Table) -> pa.Table:
    rows = writes.to_pylist()
    spans_are = STRETCH if rows[0]["source"] == Source.RECORDED else ISOLATED

    def of_side(side: str) -> tuple[list[Write], list[Span]]:
        own = [row for row in rows if row["side"] == side]
        return [
            Write(row["at_ms"], row["what"], row["until_ms"] - row["at_ms"] if row["what"] == ISOLATED else 0)
            for row in own
            if row["what"] != STRETCH
        ], [(row["at_ms"], row["until_ms"]) for row in own if row["what"] == spans_are]

    (written, isolated), (replayed, by_replay) = of_side(CLIENT), of_side(REPLAY)
    comparison = asdict(compared(written, replayed, isolated, by_replay))
    item = {name: rows[0][name] for name in _ITEM}
    return pa.Table.from_pylist(
        [{**item, **comparison, "off_ladder": sum(bool(row["is_off_ladder"]) for row in rows)}], _ARROW
    )
