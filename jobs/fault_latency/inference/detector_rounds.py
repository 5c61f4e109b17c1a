"""The detector of 5.1.4, which finds a broker reachable again: what anybody's sends show of it."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.fault_latency.fault_items.replay import OWNER, REMOVE, UPDATE
from jobs.fault_latency.inference.as_of import written_columns
from jobs.fault_latency.producers.attempts import with_addressed_broker
from udfs.choice import began_at_ms
from udfs.evidence import DETECTOR
from udfs.fault_window import FAR_MS
from udfs.plain_outcome import ANSWERS
from udfs.policy import Policy, gated_by_reachable

_ROUND_MS = 3000
_REFUSAL = "MQBrokerException"
"""The broker's own answer, which leaves the item unreachable all the same."""


def broker_answers(sends: DataFrame, names: DataFrame) -> DataFrame:
    """One row per attempt that a broker answered, if only with a refusal.

    `cluster`, `broker_name` of the broker, `since_ms` (when the attempt began) and `answered_at_ms`.

    Args:
        sends: the day's attempts.
        names: as `attempts.broker_names` returns them.
    """
    answered = F.when(F.col("outcome").isin(*ANSWERS), F.col("result_broker_name")).when(
        F.col("outcome") == _REFUSAL, F.col("error_broker")
    )
    return (
        sends.transform(with_addressed_broker, names)
        .where(answered.isNotNull())
        .select(
            "cluster",
            answered.alias("broker_name"),
            began_at_ms().alias("since_ms"),
            F.col("ended_at_ms").alias("answered_at_ms"),
        )
    )


def detector_rounds(
    items: DataFrame, answers: DataFrame, sends_per_process: DataFrame, policies: Sequence[Policy]
) -> DataFrame:
    """A broker that answered anybody, if only with a refusal, is found reachable by the next round, within 3 s.

    `LatencyFaultToleranceImpl.startDetector` and `detectByOneRound` (5.1.4). Asked once per write that left the
    item unreachable, if no other write came in time.

    Args:
        items: writes as `replay.replay` returns them.
        answers: as `broker_answers` returns them.
        sends_per_process: as `process_sends` returns it.
        policies: every policy that a row may name.
    """
    gated = gated_by_reachable(F.col("policy"), policies)
    detecting = sends_per_process.where("detector").where(gated).select(*OWNER).distinct()
    lasting = F.coalesce("next_at_ms", F.lit(FAR_MS)) - F.col("at_ms") > _ROUND_MS
    unreachable = (
        items.where(F.col("op") != REMOVE)
        .where("NOT reachable")
        .where(gated)
        .where(lasting)
        .join(detecting, list(OWNER), "left_semi")
    )
    of_unreachable = answers.join(
        unreachable.select("cluster", "broker_name").distinct(), ["cluster", "broker_name"], "left_semi"
    )
    unanswered = unreachable.select(
        "cluster",
        "broker_name",
        F.col("at_ms").alias("since_ms"),
        F.when(F.col("cause") == _REFUSAL, F.col("at_ms")).alias("answered_at_ms"),
        F.struct(*items.columns).alias("write"),
    )
    later_first = (
        Window.partitionBy("cluster", "broker_name")
        .orderBy(F.desc("since_ms"), F.col("write").isNotNull(), F.desc("answered_at_ms"))
        .rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    by_the_next_round = F.last("answered_at_ms", ignorenulls=True).over(later_first) + _ROUND_MS
    flipped = (
        of_unreachable.unionByName(unanswered, allowMissingColumns=True)
        .withColumn("found_at_ms", by_the_next_round)
        .where("write IS NOT NULL AND found_at_ms < coalesce(write.next_at_ms, found_at_ms + 1)")
        .select("write.*", "found_at_ms")
    )
    return flipped.withColumns(_round_at(F.col("found_at_ms"))).select(*written_columns(items))


def _round_at(at_ms: Column) -> dict[str, Column]:
    """The write of a round: of no attempt, first in its millisecond, reachable, without isolation."""
    return {
        "at_ms": at_ms,
        "op": F.lit(UPDATE),
        "seq": F.lit(-1).cast("bigint"),
        "started_at_ms": at_ms,
        "step": F.lit(0),
        "current_latency_ms": F.lit(0).cast("bigint"),
        "is_failure": F.lit(False),
        "reachable": F.lit(True),
        "cause": F.lit("DETECTOR"),
        "evidence": F.lit(DETECTOR),
        "not_available_ms": F.lit(0).cast("bigint"),
        **{f"carried_{name}_ms": F.lit(None).cast("bigint") for name in ("until", "earliest", "latest")},
        "carried_extensions": F.lit(0),
        **{name: F.lit(None).cast("string") for name in ("thread", "middle_topic", "middle_after")},
        "first_position": F.lit(None).cast("bigint"),
    }
