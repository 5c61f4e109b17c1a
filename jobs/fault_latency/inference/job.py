"""The second pass: writes that no attempt logs, as the sends' brokers and the routes show them.

Each inference names its evidence. Without routes, or with `infer = false`, the first pass stands as it is.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.fault_latency.inference.as_of import first_attempts, replayed_with, written_columns
from jobs.fault_latency.inference.detector_rounds import broker_answers, detector_rounds
from jobs.fault_latency.inference.fault_item import WriteRules
from jobs.fault_latency.inference.known_route import Routes, routes_by_topic
from jobs.fault_latency.inference.stretches import (
    attempts_within,
    revealing_times,
    suspicious,
    with_stretch,
    with_whole_processes,
)
from jobs.fault_latency.inference.walk import walked
from jobs.fault_latency.producers.senders import Senders
from jobs.spark.materialize import Materialize
from udfs.policy import Policy


def with_inferences(
    items: DataFrame,
    attempts: DataFrame,
    senders: Senders,
    known_routes: DataFrame,
    policies: Sequence[Policy],
    unordered_within_ms: int,
    materialize: Materialize,
) -> DataFrame:
    """The first pass with all that follows from it: `items` again, with the inferred writes in their places.

    Nothing is inferred for clients from 5.3.0 on. What one process shows comes from a walk through its suspicious
    stretches; the detector (5.1.4) touches other fault items than the order of writes (to 5.1.3) and rests on the walk.
    Only fault items that get a write are replayed again.

    Args:
        items: the first pass, as `replay.replay` returns it.
        attempts: those near an isolation, as `attempts_of` returns them.
        senders: the day's attempts, counted by who made them.
        known_routes: as `known_routes_of` returns them; empty = nothing but the detector is inferred.
        policies: every policy that a row may name.
        unordered_within_ms: as for the first pass.
        materialize: for the first pass, which is read many times, and for what is inferred.
    """
    producers = senders.at_work
    routes = routes_by_topic(known_routes.collect()) if producers.retries_blindly else {}
    if not routes and not producers.detects:
        return items
    in_stretches = materialize("first-pass", _in_stretches(items))
    first_pass = in_stretches.drop("stretch")
    inferred = first_pass.select(*written_columns(first_pass)).where("false")
    if routes:
        last_wins = any(policy.write_rule == "LAST_WRITE" for policy in producers.enforced_policies)
        chosen = first_attempts(attempts if last_wins else attempts.where("false"), policies)
        to_walk = with_whole_processes(in_stretches, known_routes)
        inferred = materialize("walk", infer_by_walk(to_walk, chosen, routes, policies, unordered_within_ms))
    if producers.detects:
        known = replayed_with(first_pass, inferred, policies, unordered_within_ms)
        answers = broker_answers(senders.sends, senders.names)
        found_again = materialize("detector-rounds", detector_rounds(known, answers, senders.per_process, policies))
        inferred = inferred.unionByName(found_again)
    return replayed_with(first_pass, inferred, policies, unordered_within_ms).drop("first_position")


def _in_stretches(items: DataFrame) -> DataFrame:
    return items.withColumn("first_position", F.col("position")).transform(with_stretch)


def infer_by_walk(
    in_stretches: DataFrame,
    chosen: DataFrame,
    routes: Routes,
    policies: Sequence[Policy],
    unordered_within_ms: int,
) -> DataFrame:
    """The writes that a walk through all suspicious stretches infers, as `walk.walked` returns them.

    Args:
        in_stretches: the first pass, as `stretches.with_whole_processes` returns it.
        chosen: as `first_attempts` returns them.
        routes: of all topics.
        policies: every policy that a row may name.
        unordered_within_ms: as for the first pass.
    """
    revealing = revealing_times(in_stretches, policies)
    return walked(
        in_stretches,
        suspicious(in_stretches, revealing),
        attempts_within(revealing, chosen),
        routes,
        WriteRules.of(policies, unordered_within_ms),
    )
