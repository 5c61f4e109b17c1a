"""Writes that isolate under any requested policy, with the isolation that they earn under each."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from jobs.fault_latency.fault_items.updates import updates
from jobs.fault_latency.keys import ITEM
from jobs.what_if.rules import FAILED, NOT_EXIST, TOOK, Rule, earned, earns_from_ms, step_ms, steps_ms
from udfs.ladder import Ladder
from udfs.order_of_events import order_of_writes
from udfs.policy import Policy

_DIRECT, _ASYNC = "DIRECT", "ASYNC"


def calls(attempts: DataFrame) -> DataFrame:
    """One row per write of the attempts, as the producer's own client made it, whatever the policy.

    `ITEM`, `position` (order within the item, from 1), `at_ms`, `next_at_ms` (of the item's next write; null for the
    last), `write_kind`, `current_latency_ms`, `reachable`, `own_policy`.

    Args:
        attempts: attempts that can be replayed, as `attempts_of` returns them.
    """
    # `updates` hands on `policy` and `profile` as they are: here the kind of call, and the producer's own policy.
    kind = F.when(F.col("mode") == "ASYNC", _ASYNC).otherwise(_DIRECT)
    by_kind = attempts.withColumns({"profile": F.col("policy"), "policy": kind})
    written = updates(by_kind, [_reader(_DIRECT), _reader(_ASYNC)], has_async=True)
    in_order = Window.partitionBy(*ITEM).orderBy(*order_of_writes())
    not_exist = F.col("is_failure") & (F.col("policy") == _DIRECT) & (F.col("cause") == "MQClientException")
    return written.select(
        *ITEM,
        F.row_number().over(in_order).alias("position"),
        "at_ms",
        F.lead("at_ms").over(in_order).alias("next_at_ms"),
        F.when(not_exist, NOT_EXIST).when(F.col("is_failure"), FAILED).otherwise(TOOK).alias("write_kind"),
        "current_latency_ms",
        F.coalesce("reachable", F.lit(True)).alias("reachable"),
        F.col("profile").alias("own_policy"),
    )


def _reader(name: str) -> Policy:
    """A policy in place of all others while the writes are made: what they earn is joined later."""
    return Policy(name, name, Ladder((), ()), 0, "LAST_WRITE", reachable_gates=False, not_exist_isolates=True)


def isolating(written: DataFrame, rules: Sequence[Rule]) -> DataFrame:
    """One row per write and rule by which it isolates.

    Grain: `ITEM`, `rule`, `position`. Adds `rule`, `not_available_ms`, `latest_stays`, `gated` (as `earned` gives them)
    to the columns of `calls`.
    """
    from_ms = earns_from_ms(rules)
    took_long = F.lit(False) if from_ms is None else F.col("current_latency_ms") >= from_ms
    any_step = step_ms(F.col("current_latency_ms"), steps_ms(rules))
    may_isolate = written.where((F.col("write_kind") != TOOK) | took_long).withColumn(
        "step_ms", F.when(F.col("write_kind") == FAILED, F.lit(0).cast("bigint")).otherwise(any_step)
    )
    of_producer = F.col("of_policy").isNull() | (F.col("of_policy") == F.col("own_policy"))
    return (
        may_isolate.join(F.broadcast(earned(written.sparkSession, rules)), ["write_kind", "step_ms"])
        .where(of_producer & ((F.col("not_available_ms") > 0) | (F.col("gated") & ~F.col("reachable"))))
        .drop("of_policy", "step_ms", "write_kind", "current_latency_ms", "own_policy")
    )
