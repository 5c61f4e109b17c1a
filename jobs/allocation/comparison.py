"""What the strategies give beside what clients held: stretches in which the two differ."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.allocation.answer_intervals import INTERVAL
from jobs.allocation.inputs import SUBJECT
from jobs.intervals.coalesce import coalesce_equal
from jobs.intervals.split import covering_join, split_at_boundaries
from jobs.tables.day import Day
from udfs.strategy import POP

QUEUE = (*SUBJECT, "broker_name", "queue_id")
EXPIRES_MS = 130_000  # a broker drops a silent client after 120 s, at its next scan (measured 112 to 127 s)
HAND_OVER_MS = 1_000  # one gives a queue up before another takes it


def differences(expected: DataFrame, holdings: DataFrame, known: DataFrame, day: Day) -> DataFrame:
    """Stretches in which a queue was not held as the strategies give it.

    Grain: `QUEUE`, `kind`, `client_ids`, `start_ms`. Columns: `kind` (DOUBLY_OWNED, UNASSIGNED,
    AGAINST_STRATEGY), `client_ids` (those concerned), `owners_expected`, `owners_observed`, `in_route`, `is_mixed`
    (members use different strategies), `as_given` (the strategies themselves say so), `end_ms`.

    That a client does not hold what it should is only said while what it holds is known, or just after it ended.
    Stretches up to a second are hand-overs and left out.

    Args:
        expected: as `queue_allocation` returns them.
        holdings: of `Ownership`.
        known: of `Ownership`.
        day: the day.
    """
    owned = _owners(expected, _best_source(known, holdings))
    compared = owned.withColumns(
        {
            "extra": F.array_except("owners_observed", "owners_expected"),
            "missing": F.array_except("owners_expected", "owners_observed"),
            "is_double": (F.size("owners_observed") > 1) & ~are_shared(F.col("strategy")),
            "is_mixed": F.col("strategy") == "MIXED",
            "as_given": (F.col("owners_expected") == F.col("owners_observed"))
            & ((F.col("views") == 0) | F.col("strategy").eqNullSafe(F.lit("CONFIG"))),
        }
    )
    is_wrong = F.col("is_double") | (F.size("extra") > 0)
    everyone = F.array_sort(F.array_union("owners_expected", "owners_observed"))
    columns = (*QUEUE, "start_ms", "end_ms", "client_ids", "kind", "owners_expected", "owners_observed")
    wrong = (
        compared.where(is_wrong)
        .withColumn("client_ids", everyone)
        .withColumn("kind", F.when(F.col("is_double"), "DOUBLY_OWNED").otherwise("AGAINST_STRATEGY"))
    )
    lacking = compared.where(~is_wrong & (F.size("missing") > 0)).withColumn("client_id", F.explode("missing"))
    in_sight = (
        lacking.join(_in_sight(known, day), ["consumer_group", "client_id"])
        .where("seen_until_ms > start_ms AND seen_from_ms < end_ms")
        .withColumns(
            {
                "start_ms": F.greatest("start_ms", "seen_from_ms"),
                "end_ms": F.least("end_ms", "seen_until_ms"),
                "client_ids": F.array("client_id"),
                "kind": F.when(F.size("owners_observed") == 0, "UNASSIGNED").otherwise("AGAINST_STRATEGY"),
            }
        )
    )
    extras = ("in_route", "is_mixed", "as_given")
    found = wrong.select(*columns, *extras).unionByName(in_sight.select(*columns, *extras))
    return coalesce_equal(found, (*QUEUE, "kind", "client_ids"), ("owners_expected", "owners_observed", *extras)).where(
        F.col("end_ms") - F.col("start_ms") > HAND_OVER_MS
    )


def are_shared(strategy: Column) -> Column:
    """Whether a queue may well have several owners: all take everything, or several pop from it."""
    return (strategy == "BROADCASTING") | strategy.startswith(POP)


def only_answers(known: DataFrame, rows: DataFrame) -> DataFrame:
    """Rows of clients without a log; answers come seldom, so of a client with a log only that counts."""
    logged = known.where("source = 'CLIENT_LOG'").select("consumer_group", "client_id").distinct()
    return rows.join(logged, ["consumer_group", "client_id"], "left_anti")


def _best_source(known: DataFrame, rows: DataFrame) -> DataFrame:
    answered = only_answers(known, rows.where("source = 'RUNNING_INFO'"))
    return rows.where("source = 'CLIENT_LOG'").unionByName(answered.select(*rows.columns))


def _in_sight(known: DataFrame, day: Day) -> DataFrame:
    """When a client that lacks a queue is said to: while it is seen, and until its group forgets it after its end."""
    forgotten_ms = F.least(F.col("known_until_ms") + EXPIRES_MS, F.lit(day.end_ms))
    return _best_source(known, known).select(
        "consumer_group",
        "client_id",
        F.col("known_from_ms").alias("seen_from_ms"),
        F.when(F.col("ended"), forgotten_ms).otherwise(F.col("known_until_ms")).alias("seen_until_ms"),
    )


def _owners(expected: DataFrame, observed: DataFrame) -> DataFrame:
    """Each queue's time cut wherever an owner changes, while its topic's allocation is known.

    Columns: `QUEUE`, `start_ms`, `end_ms`, `owners_expected` (in any view), `owners_observed`, `strategy`,
    `views` (brokers that differ on the members; 0 = none), `in_route`.
    """
    nobody = F.lit(None).cast("string")
    should = expected.select(
        *QUEUE, *INTERVAL, F.lit("EXPECTED").alias("side"), "client_id", "strategy", "in_route", "view_broker_name"
    )
    did = observed.select(
        *QUEUE,
        *INTERVAL,
        F.lit("OBSERVED").alias("side"),
        "client_id",
        nobody.alias("strategy"),
        F.lit(None).cast("boolean").alias("in_route"),
        nobody.alias("view_broker_name"),
    )
    # A queue that the topic no longer has may still be held: known is what is known of the topic.
    topics = expected.select(*SUBJECT, *INTERVAL, "strategy").distinct()
    queues = did.select(*QUEUE).distinct()
    of_topic = queues.join(topics, list(SUBJECT)).select(
        *QUEUE,
        *INTERVAL,
        F.lit("TOPIC").alias("side"),
        nobody.alias("client_id"),
        "strategy",
        F.lit(None).cast("boolean").alias("in_route"),
        nobody.alias("view_broker_name"),
    )
    rows = should.unionByName(did).unionByName(of_topic)

    def owners(side: str) -> Column:
        return F.array_sort(F.collect_set(F.when(F.col("side") == side, F.col("client_id"))))

    return (
        covering_join(split_at_boundaries(rows, QUEUE), rows, QUEUE)
        .groupBy(*QUEUE, "from_ms", "until_ms")
        .agg(
            owners("EXPECTED").alias("owners_expected"),
            owners("OBSERVED").alias("owners_observed"),
            F.max("strategy").alias("strategy"),
            F.size(F.collect_set("view_broker_name")).alias("views"),
            F.coalesce(F.max("in_route"), F.lit(False)).alias("in_route"),
            F.bool_or(F.col("side") != "OBSERVED").alias("is_known"),
        )
        .where("is_known")
        .withColumnsRenamed({"from_ms": "start_ms", "until_ms": "end_ms"})
        .drop("is_known")
    )
