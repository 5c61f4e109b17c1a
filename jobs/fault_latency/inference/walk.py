"""The walk through suspicious stretches: plain Python, and the thin Arrow wrapper round it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, fields

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from jobs.fault_latency.fault_items.replay import OWNER
from jobs.fault_latency.inference.fault_item import Write, WriteRules
from jobs.fault_latency.inference.known_route import Routes
from jobs.fault_latency.inference.middle_brokers import middle_brokers
from jobs.fault_latency.inference.producer_process import Attempt, Knowledge, ProducerProcess
from jobs.fault_latency.inference.removed_items import removes
from jobs.fault_latency.inference.stretches import STRETCH
from jobs.fault_latency.inference.write_order import order_proofs

_WRITE = tuple(field.name for field in fields(Write))
_ATTEMPT = tuple(field.name for field in fields(Attempt))
_KNOWN = "written_first"


def inferred_in(process: ProducerProcess) -> list[Write]:
    """The writes that no line of the stretch shows, and those that come in another's place.

    Middle brokers come first; the order of tied writes rests on them, what was removed on both. A write whose item may
    have been removed comes back once, with the order that was inferred before.
    """
    middles = middle_brokers(process)
    ordered = [*middles, *order_proofs(process.with_writes(middles))]
    removed = removes(process.with_writes(ordered))
    corrected = {(write.broker_name, write.first_position) for write in removed if write.first_position is not None}
    return [*(write for write in ordered if (write.broker_name, write.first_position) not in corrected), *removed]


def walked(
    items: DataFrame,
    stretches: DataFrame,
    attempts: DataFrame,
    routes: Routes,
    rules: WriteRules,
) -> DataFrame:
    """The inferred writes of all these stretches, as `replay.replay` takes them, with `first_position`.

    Args:
        items: the first pass with its stretches; `first_position` is its position.
        stretches: those to walk.
        attempts: of each of them, as `stretches.attempts_within` returns them.
        routes: of all topics.
        rules: how a write counts.
    """
    first = F.collect_list(F.struct("broker_name", "at_ms")).alias(_KNOWN)
    written_first = items.where("position = 1").groupBy(*OWNER).agg(first)
    columns = [*OWNER, *_WRITE]
    writes = items.select(*columns, "stretch").join(stretches.join(written_first, list(OWNER)), list(STRETCH))
    schema = StructType([StructField(name, items.schema[name].dataType) for name in columns])
    return writes.groupBy(*STRETCH).cogroup(attempts.groupBy(*STRETCH)).applyInArrow(_walk_with(routes, rules), schema)


def _walk_with(routes: Routes, rules: WriteRules) -> Callable[[pa.Table, pa.Table], pa.Table]:
    def walk(writes: pa.Table, attempts: pa.Table) -> pa.Table:
        owner = {name: writes[name][0].as_py() for name in OWNER}
        first = {each["broker_name"]: each["at_ms"] for each in writes[_KNOWN][0].as_py()}
        knowledge = Knowledge(owner["cluster"], routes, rules, first)
        process = ProducerProcess(
            [Write(**row) for row in writes.select(_WRITE).to_pylist()],
            [Attempt(**row) for row in attempts.select(_ATTEMPT).to_pylist()],
            knowledge,
        )
        schema = pa.schema([writes.schema.field(name) for name in (*OWNER, *_WRITE)])
        return pa.Table.from_pylist([owner | asdict(write) for write in inferred_in(process)], schema=schema)

    return walk
