"""The second pass: writes that no attempt logs, told by where the sends went and what the routes said.

Each inference names its evidence. Without routes, or with `infer = false`, the first pass stands as it is.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from jobs.fault_latency.fault_items.replay import ITEM, REMOVE, UPDATE
from jobs.fault_latency.inference.as_of import (
    OWNER,
    first_attempts,
    last_write_wins,
    replayed_with,
    synthetic_write,
    write_in_place,
)
from jobs.fault_latency.inference.middle_retries import middle_brokers
from jobs.fault_latency.inference.removed_items import removes
from jobs.fault_latency.inference.write_order import order_proofs
from jobs.spark.materialize import Materialize
from udfs.evidence import DETECTOR
from udfs.fault_window import FAR_MS
from udfs.outcome import ANSWERS
from udfs.policy import Policy, gated_by_reachable
from udfs.releases import holds

_DETECTOR_ROUND_MS = 3000
_REFUSAL = "MQBrokerException"
"""The broker's own answer, which leaves the item unreachable all the same."""


def with_inferences(
    items: DataFrame,
    attempts: DataFrame,
    sent: DataFrame,
    hosts: DataFrame,
    policies: Sequence[Policy],
    unordered_within_ms: int,
    materialize: Materialize,
) -> DataFrame:
    """The first pass with all that follows from it: `items` again, with the inferred writes in their places.

    Nothing is inferred for clients from 5.3.0 on. Middle brokers come first; detector (5.1.4) and order (to 5.1.3)
    then touch different fault items; what was removed rests on the order. Only fault items that get a write are
    replayed again.

    Args:
        items: the first pass, as `replay.replay` returns it.
        attempts: the day's attempts with their rules and process.
        sent: as `process_sends.process_sends` returns it.
        hosts: as `hosts.topic_hosts` returns them; empty = nothing but the detector is inferred.
        policies: every policy that a row may name.
        unordered_within_ms: as for the first pass.
        materialize: for the first pass, which is read many times, and for what is inferred at each step.
    """
    retries_blindly, last_wins, detects = _kinds(sent, policies)
    has_routes = not hosts.isEmpty()
    if not (retries_blindly and (has_routes or detects)):
        return items
    first_pass = materialize("first-pass", items.withColumn("first_position", F.col("position")))

    def again(name: str, writes: DataFrame) -> DataFrame:
        if writes.isEmpty():
            return first_pass
        return materialize(name, replayed_with(first_pass, writes, policies, unordered_within_ms))

    inferred = materialize("middle-brokers", middle_brokers(first_pass, hosts, policies))
    known = again("with-middle-brokers", inferred)
    if detects:
        inferred = inferred.unionByName(materialize("detector-rounds", detector_rounds(known, attempts, policies)))
    if last_wins and has_routes:
        chosen = first_attempts(attempts, policies)
        proved = order_proofs(known, chosen, hosts, policies, materialize)
        inferred = inferred.unionByName(materialize("order-proofs", proved))
        removed = materialize(
            "removes", removes(again("with-order-proofs", inferred), chosen, hosts, policies, materialize)
        )
        corrected = [*ITEM, "first_position"]
        inferred = inferred.join(removed.select(*corrected), corrected, "left_anti").unionByName(removed)
    return again("second-pass", inferred).drop("first_position")


def _kinds(sent: DataFrame, policies: Sequence[Policy]) -> tuple[bool, bool, bool]:
    """Whether the day has enforced producers before 5.3.0, under last-write-wins, and with 5.1.4's detector on."""
    gated = gated_by_reachable(F.col("policy"), policies)
    kinds = sent.where("enforced AND not_replayed IS NULL").agg(
        F.bool_or(~holds("connects_asynchronously", F.col("version_number"))),
        F.bool_or(last_write_wins(policies)),
        F.bool_or(F.col("detector") & gated),
    )
    retries_blindly, last_wins, detects = kinds.collect()[0]
    return bool(retries_blindly), bool(last_wins), bool(detects)


def detector_rounds(items: DataFrame, attempts: DataFrame, policies: Sequence[Policy]) -> DataFrame:
    """A broker that answered anybody, if only with a refusal, is found reachable by the next round, within 3 s.

    `LatencyFaultToleranceImpl.startDetector` and `detectByOneRound` (5.1.4). Asked once per write that left the
    item unreachable, if no other write came in time.

    Args:
        items: writes as `replay.replay` returns them.
        attempts: the day's attempts with their rules and process.
        policies: every policy that a row may name.
    """
    gated = gated_by_reachable(F.col("policy"), policies)
    detecting = attempts.where("detector").where(gated).select(*OWNER).distinct()
    lasting = F.coalesce("next_at_ms", F.lit(FAR_MS)) - F.col("at_ms") > _DETECTOR_ROUND_MS
    unreachable = (
        items.where(F.col("op") != REMOVE)
        .where("NOT reachable")
        .where(gated)
        .where(lasting)
        .join(detecting, list(OWNER), "left_semi")
    )
    answered = F.when(F.col("outcome").isin(*ANSWERS), F.col("result_broker_name")).when(
        F.col("outcome") == _REFUSAL, F.col("error_broker")
    )
    answers = (
        attempts.where(answered.isNotNull())
        .select(
            "cluster",
            answered.alias("broker_name"),
            F.col("started_at_ms").alias("since_ms"),
            F.col("ended_at_ms").alias("answered_at_ms"),
        )
        .join(unreachable.select("cluster", "broker_name").distinct(), ["cluster", "broker_name"], "left_semi")
    )
    asked = unreachable.select(
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
    found = F.last("answered_at_ms", ignorenulls=True).over(later_first) + _DETECTOR_ROUND_MS
    flipped = (
        answers.unionByName(asked, allowMissingColumns=True)
        .withColumn("found_at_ms", found)
        .where("write IS NOT NULL AND found_at_ms < coalesce(write.next_at_ms, found_at_ms + 1)")
        .select("write.*", "found_at_ms")
    )
    return write_in_place(flipped, items, synthetic_write(F.col("found_at_ms"), UPDATE, "DETECTOR", DETECTOR))
