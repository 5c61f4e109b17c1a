"""The second pass: writes that no attempt logs, told by where the sends went and what the routes said.

Each inference names its evidence. Without routes, or with `infer = false`, the first pass stands as it is.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.fault_latency.hosts import (
    ROUTE_AHEAD_MS,
    ROUTE_LAG_MS,
    hosted_throughout,
    hosts_at_some_time,
    hosts_throughout,
    topic_hosts,
)
from jobs.fault_latency.order_proofs import order_proofs
from jobs.fault_latency.replay import ITEM, REMOVE, UPDATE
from jobs.fault_latency.second_look import (
    OWNER,
    chosen_within,
    first_attempts,
    last_write_wins,
    replayed_with,
    with_item_before,
    written_columns,
)
from udfs.evidence import DETECTOR, REMOVED, RETRY_MIDDLE
from udfs.fault_window import FAR_MS
from udfs.outcome import ANSWERS
from udfs.policy import Policy, gated_by_reachable

_MIDDLE_STEP = 2
_DETECTOR_ROUND_MS = 3000
_CERTAIN_PICK_ITEMS = 3
_CHECKS_PERMISSION = "4.9.8"
_NO_BLIND_RETRY_FROM = 50200


def with_inferences(
    items: DataFrame, attempts: DataFrame, topic_brokers: DataFrame, policies: Sequence[Policy],
    unordered_within_ms: int,
) -> DataFrame:
    """The first pass with all that follows from it: `items` again, with the inferred writes in their places.

    Nothing is inferred for clients from 5.2.0 on. Middle brokers come first; detector (5.1.4) and order (to 5.1.3) then touch different fault items; what was
    removed rests on the order. Only fault items that get a write are replayed again. The plans are cut by local
    checkpoints: the first pass is read many times, and Spark analyses a plan anew at each of them.

    Args:
        items: the first pass, as `replay.replay` returns it.
        attempts: the day's attempts with their rules and process.
        topic_brokers: the day's stretches of unchanged routes; empty = nothing but the detector is inferred.
        policies: every policy that a row may name.
        unordered_within_ms: as for the first pass.
    """
    retries_blindly, last_wins, detects = _kinds(attempts, policies)
    if not retries_blindly:
        return items
    first_pass = items.withColumn("first_position", F.col("position")).localCheckpoint()
    hosts = topic_hosts(topic_brokers).localCheckpoint()

    def again(writes: DataFrame) -> DataFrame:
        return replayed_with(first_pass, writes, policies, unordered_within_ms)

    inferred = middle_brokers(first_pass, hosts).localCheckpoint()
    known = again(inferred)
    if detects:
        inferred = inferred.unionByName(detector_rounds(known, attempts, policies).localCheckpoint())
    if last_wins:
        chosen = first_attempts(attempts, policies)
        inferred = inferred.unionByName(order_proofs(known, chosen, hosts, policies).localCheckpoint())
        inferred = inferred.unionByName(removes(again(inferred), chosen, hosts, policies).localCheckpoint())
    return again(inferred).drop("first_position")


def _kinds(attempts: DataFrame, policies: Sequence[Policy]) -> tuple[bool, bool, bool]:
    """Whether the day has enforced producers before 5.2.0, under last-write-wins, and with 5.1.4's detector on."""
    gated = gated_by_reachable(F.col("policy"), policies)
    kinds = attempts.where("enforced AND not_replayed IS NULL").agg(
        F.bool_or(F.col("version_number") < _NO_BLIND_RETRY_FROM),
        F.bool_or(last_write_wins(policies)),
        F.bool_or(F.col("detector") & gated),
    )
    retries_blindly, last_wins, detects = kinds.collect()[0]
    return bool(retries_blindly), bool(last_wins), bool(detects)


def middle_brokers(items: DataFrame, hosts: DataFrame) -> DataFrame:
    """The broker between the first and the last of three async tries, isolated because no time was left.

    `MQFaultStrategy.selectOneMessageQueue` takes available brokers first: one that was isolated already was not
    tried. It must have been writable in every route that the client may have used. 4.9.3 to 5.1.4
    (`MQClientAPIImpl.sendMessageAsync`, catch: 4.9.8:576, 5.1.4:714).

    Args:
        items: writes, those with `middle_topic` lacking a middle broker.
        hosts: as `hosts.topic_hosts` returns them.
    """
    since = F.col("at_ms") - ROUTE_LAG_MS
    tried = F.array_except(
        hosts_throughout(F.col("writable"), since, F.col("at_ms")), F.array("broker_name", "middle_after")
    )
    failures = items.where("enforced AND middle_topic IS NOT NULL").withColumnRenamed("middle_topic", "topic")
    candidates = (
        failures.join(F.broadcast(hosts), ["cluster", "topic"])
        .where("known_from_ms <= at_ms")
        .withColumn("broker_name", F.explode(tried))
        .withColumns({"asked_at_ms": F.col("at_ms"), "middle_topic": F.lit(None).cast("string")})
        .select(*written_columns(items), "asked_at_ms")
    )
    was_available = F.coalesce(F.col("item.until_ms") < F.col("asked_at_ms"), F.lit(True))
    return _write_in_place(
        with_item_before(candidates, items).where(was_available),
        items,
        {
            "step": F.lit(_MIDDLE_STEP),
            "current_latency_ms": F.lit(0).cast("bigint"),
            "reachable": F.col("profile") != "P4",
            "cause": F.lit("HIDDEN_RETRY"),
            "evidence": F.lit(RETRY_MIDDLE),
            "middle_after": F.lit(None).cast("string"),
        },
    )


def detector_rounds(items: DataFrame, attempts: DataFrame, policies: Sequence[Policy]) -> DataFrame:
    """A broker that answered anybody is found reachable by the detector's next round, within 3 s.

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
        items.where(F.col("op") != REMOVE).where("NOT reachable").where(gated).where(lasting)
        .join(detecting, list(OWNER), "left_semi")
    )
    answers = (
        attempts.where(F.col("outcome").isin(*ANSWERS) & F.col("result_broker_name").isNotNull())
        .select("cluster", F.col("result_broker_name").alias("broker_name"),
                F.col("started_at_ms").alias("since_ms"), F.col("ended_at_ms").alias("answered_at_ms"))
        .join(unreachable.select("cluster", "broker_name").distinct(), ["cluster", "broker_name"], "left_semi")
    )
    asked = unreachable.select(
        "cluster", "broker_name", F.col("at_ms").alias("since_ms"), F.struct(*items.columns).alias("write")
    )
    later_first = Window.partitionBy("cluster", "broker_name").orderBy(
        F.desc("since_ms"), F.col("write").isNotNull(), F.desc("answered_at_ms")
    ).rowsBetween(Window.unboundedPreceding, Window.currentRow)
    found = F.last("answered_at_ms", ignorenulls=True).over(later_first) + _DETECTOR_ROUND_MS
    flipped = (
        answers.unionByName(asked, allowMissingColumns=True).withColumn("found_at_ms", found)
        .where("write IS NOT NULL AND found_at_ms < coalesce(write.next_at_ms, found_at_ms + 1)")
        .select("write.*", "found_at_ms")
    )
    return _write_in_place(flipped, items, _of_nobody(F.col("found_at_ms"), UPDATE, "DETECTOR", DETECTOR))


def removes(items: DataFrame, first_attempts: DataFrame, hosts: DataFrame, policies: Sequence[Policy]) -> DataFrame:
    """Items that the fallback dropped: all brokers isolated, and the attempt did not go to its pick.

    `MQFaultStrategy.selectOneMessageQueue` (4.9.8, 5.1.3): with no broker available, `pickOneAtLeast` takes the
    item of lowest latency (the first, while there are two or three); with a write queue the attempt goes there,
    without one in the client's route the item is removed. One write per item and pass-one state: the first.

    Args:
        items: writes as `replay.replay` returns them.
        first_attempts: as `second_look.first_attempts` returns them.
        hosts: as `hosts.topic_hosts` returns them.
        policies: every policy that a row may name.
    """
    deciding = items.where(last_write_wins(policies))
    few = deciding.groupBy(*OWNER).agg(F.collect_set("broker_name").alias("brokers")).where(
        F.size("brokers") <= _CERTAIN_PICK_ITEMS
    )
    at_ms = F.col("chosen_at_ms")
    asked = (
        chosen_within(_all_isolated(deciding), first_attempts)
        .drop("after_ms", "until_ms").withColumnRenamed("thread", "asking_thread")
        .join(F.broadcast(hosts), ["cluster", "topic"])
        .where(F.col("known_from_ms") <= at_ms + ROUTE_AHEAD_MS)
        .join(few, list(OWNER))
        .withColumns({"broker_name": F.explode("brokers"), "asked_at_ms": at_ms})
        .drop("brokers")
        .localCheckpoint()
    )
    item = F.col("item")
    states = with_item_before(asked, _with_possible_latency(deciding, asked)).where("item IS NOT NULL")
    isolated = (item["until_ms"] > at_ms) & (item["earliest_ms"] >= at_ms)
    fallback = states.groupBy(*OWNER, "row_hash").agg(
        *(F.first(name).alias(name) for name in
          ("chosen_at_ms", "went_to", "addressed_broker", "asking_thread", "writable", "queued")),
        F.bool_and(isolated).alias("all_isolated"),
        F.array_sort(F.collect_list(F.struct(
            item["known_latency_ms"].alias("latency_ms"), item["until_ms"].alias("until_ms"), "broker_name", "item"
        ))).alias("order_of_pick"),
    )
    picked = fallback.withColumns({"pick": F.get("order_of_pick", F.lit(0)), "chosen_by": F.col("asking_thread")})
    missed = picked.where(_is_removed()).select("pick.item.*", "chosen_at_ms", "chosen_by")
    earliest = missed.groupBy(*ITEM, "position").agg(F.min_by(F.struct(*missed.columns), "chosen_at_ms").alias("first"))
    thread = {"thread": F.col("chosen_by")}
    return _write_in_place(
        earliest.select("first.*"), items, _of_nobody(F.col("chosen_at_ms"), REMOVE, "REMOVED", REMOVED) | thread
    )


def _is_removed() -> Column:
    """Whether the fallback's pick was removed: it is certain, was not used, and may have lost its queues."""
    at_ms, went_to, pick = F.col("chosen_at_ms"), F.array("went_to", "addressed_broker"), F.col("pick.broker_name")
    since, until = at_ms - ROUTE_LAG_MS, at_ms + ROUTE_AHEAD_MS
    names = F.transform("order_of_pick", lambda each: each["broker_name"])
    others = F.slice("order_of_pick", F.lit(2), F.size("order_of_pick"))
    surely_first = F.forall(
        others, lambda other: other["item"]["lowest_latency_ms"] > F.col("pick.item.highest_latency_ms") + 1
    )
    looked_at = F.when(F.col("pick.item.version") == _CHECKS_PERMISSION, F.col("writable")).otherwise(F.col("queued"))
    return (
        F.col("all_isolated")
        & (F.size(F.array_except(hosts_at_some_time(F.col("writable"), since, until), names)) == 0)
        & (F.size(F.array_except(went_to, names)) == 0)
        & ~F.array_contains(went_to, pick)
        & surely_first
        & ~hosted_throughout(looked_at, pick, since, until)
    )


def _all_isolated(items: DataFrame) -> DataFrame:
    """The stretches in which every item that a process had, two or more, was surely isolated.

    Grain: `OWNER`, `after_ms`; `until_ms`.
    """
    surely_until = F.least("earliest_ms", F.coalesce("next_at_ms", F.lit(FAR_MS)))
    isolated = surely_until > F.col("at_ms")
    telling = items.where(isolated | (F.col("position") == 1))
    turn = F.struct(
        F.col("at_ms"), (F.col("position") == 1).cast("int").alias("items"), isolated.cast("int").alias("isolated")
    )
    end = F.struct(surely_until.alias("at_ms"), F.lit(0).alias("items"), F.lit(-1).alias("isolated"))
    turns = telling.select(*OWNER, F.explode(F.array_compact(F.array(turn, F.when(isolated, end)))).alias("turn"))
    moments = turns.groupBy(*OWNER, F.col("turn.at_ms").alias("after_ms")).agg(
        F.sum("turn.items").alias("items"), F.sum("turn.isolated").alias("isolated")
    )
    in_time = Window.partitionBy(*OWNER).orderBy("after_ms")
    so_far = in_time.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    counted = moments.withColumns(
        {
            "items": F.sum("items").over(so_far),
            "isolated": F.sum("isolated").over(so_far),
            "until_ms": F.lead("after_ms").over(in_time),
        }
    )
    return counted.where("items >= 2 AND items = isolated AND until_ms IS NOT NULL").drop("items", "isolated")


def _with_possible_latency(items: DataFrame, asked: DataFrame) -> DataFrame:
    """The asked owners' writes with the latency they left, and the bounds of it in any order of tied writes.

    Adds `known_latency_ms` (null when carried over midnight), `lowest_latency_ms`, `highest_latency_ms`.
    """
    unordered = Window.partitionBy(*ITEM).orderBy("at_ms").rangeBetween(-1, 0)
    latency = F.when(F.col("op") == UPDATE, F.col("current_latency_ms"))
    return items.join(asked.select(*OWNER).distinct(), list(OWNER), "left_semi").withColumns(
        {
            "known_latency_ms": latency,
            "lowest_latency_ms": F.min(latency).over(unordered),
            "highest_latency_ms": F.max(latency).over(unordered),
        }
    )


def _of_nobody(at_ms: Column, op: str, cause: str, evidence: str) -> dict[str, Column]:
    """A write that no attempt made: first in its millisecond, reachable, without isolation."""
    return {
        "at_ms": at_ms,
        "op": F.lit(op),
        "seq": F.lit(-1).cast("bigint"),
        "started_at_ms": at_ms,
        "step": F.lit(0),
        "current_latency_ms": F.lit(0).cast("bigint"),
        "is_failure": F.lit(False),
        "reachable": F.lit(True),
        "cause": F.lit(cause),
        "evidence": F.lit(evidence),
        "not_available_ms": F.lit(0).cast("bigint"),
        **{f"carried_{name}_ms": F.lit(None).cast("bigint") for name in ("until", "earliest", "latest")},
        "carried_extensions": F.lit(0),
        **{name: F.lit(None).cast("string") for name in ("thread", "middle_topic", "middle_after")},
    }


def _write_in_place(rows: DataFrame, items: DataFrame, values: dict[str, Column]) -> DataFrame:
    new = {**values, "first_position": F.lit(None).cast("bigint")}
    return rows.withColumns(new).select(*written_columns(items))
