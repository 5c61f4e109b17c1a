"""Why a queue may be held by another than the strategies say: what the data shows, each with the time it acts."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from jobs.allocation.answer_intervals import INTERVAL, answer_intervals
from jobs.allocation.comparison import EXPIRES_MS, only_answers
from jobs.intervals.coalesce import coalesce_overlapping
from jobs.intervals.split import covering_join, split_at_boundaries
from jobs.tables.day import Day

_SCAN_MS = 10_000  # a broker looks for silent clients every 10 s, and a collector asks one broker after the other
_REBALANCE_MS = 21_000  # each client rebalances every 20 s; a second to do it
_ROUTE_POLL_MS = 30_000  # ClientConfig.pollNameServerInterval
_SILENCE_MS = 30_000  # a live client's log never paused longer than 10 s
_FLAPS = 3  # returns of one member within ten minutes
_FLAPPING_MS = 600_000
_AWAY_MS = 120_000
_ACTS = ("consumer_group", "cause", "acts_from_ms", "acts_until_ms")
_OF = {"topic": "string", "broker_name": "string", "queue_id": "int", "client_id": "string"}


def acting(found: DataFrame, cause: str) -> DataFrame:
    """`found` as a cause; what it does not name (topic, queue, client) it holds for all of the group."""
    given = {name: F.col(name) if name in found.columns else F.lit(None).cast(of) for name, of in _OF.items()}
    return found.withColumn("cause", F.lit(cause)).select(*_ACTS, *(value.alias(name) for name, value in given.items()))


def duplicate_ids(members: DataFrame) -> DataFrame:
    """One id on two connections: both own the same share, another share nobody (first index of the id).

    Told by several brokers, or by the only one that has the group: one broker alone lists a client twice that came
    back to it before its old connection was dropped. It holds for the queues of every broker.
    """
    group = ("consumer_group",)
    brokers = members.groupBy(*group).agg(F.count_distinct("broker_name").alias("brokers"))
    twice = members.where(F.size(F.array_distinct("client_ids")) < F.size("client_ids")).join(brokers, "consumer_group")
    told = (
        covering_join(split_at_boundaries(twice, group), twice, group)
        .groupBy(*group, "brokers", F.col("from_ms").alias("start_ms"), F.col("until_ms").alias("end_ms"))
        .agg(F.count_distinct("broker_name").alias("tell_it"))
        .where("tell_it > 1 OR brokers = 1")
    )
    return acting(_changed(coalesce_overlapping(told, group), after_ms=_REBALANCE_MS), "DUPLICATE_CLIENT_ID")


def differing_views(inputs: DataFrame) -> DataFrame:
    """Brokers that tell different members: each client asks one of them at random, unless it takes every queue."""
    asks = ~F.col("strategy").eqNullSafe(F.lit("BROADCASTING"))
    return acting(_changed(of_several_views(inputs.where(asks)), after_ms=_REBALANCE_MS), "VIEWS_DIFFER")


def of_several_views(inputs: DataFrame) -> DataFrame:
    """`consumer_group` and stretches in which its brokers differ for longer than a change takes to reach all."""
    group = ("consumer_group",)
    return coalesce_overlapping(inputs.where("views > 1").select(*group, "start_ms", "end_ms"), group).where(
        F.col("end_ms") - F.col("start_ms") > _SCAN_MS
    )


def not_subscribed(answers: DataFrame, subjects: DataFrame, day: Day, max_staleness_ms: int) -> DataFrame:
    """A member that does not subscribe the topic gets a share and leaves it: running info tells its own topics."""
    client = ("consumer_group", "client_id")
    told = answers.select(*client, "captured_at_ms", F.when(F.col("is_answer"), F.col("topics")).alias("topics"))
    nothing = told.select(*client, "topics", F.col("captured_at_ms").alias("last_answer_ms")).limit(0)
    topics = answer_intervals(told, client, "topics", day, nothing, max_staleness_ms)
    without = topics.join(subjects, "consumer_group").where(~F.array_contains("topics", F.col("topic")))
    return acting(_changed(without, before_ms=max_staleness_ms, after_ms=max_staleness_ms), "NOT_SUBSCRIBED")


def mixed_languages(connections: DataFrame, max_staleness_ms: int) -> DataFrame:
    """Members of several client languages: not all of them order queues and members alike."""
    languages = F.array_distinct(F.transform("clients", lambda each: each["language"]))
    mixed = connections.where(F.size(languages) > 1).groupBy("consumer_group")
    times = mixed.agg(
        F.min("captured_at_ms").alias("acts_from_ms"),
        (F.max("captured_at_ms") + max_staleness_ms).alias("acts_until_ms"),
    )
    return acting(times, "MIXED_LANGUAGES")


def rebalance_not_run(members: DataFrame, day: Day) -> DataFrame:
    """After the members changed each client rebalances when told or within 20 s; when they did is known by captures.

    Whichever broker told it: the change holds for the queues of every broker.
    """
    changed = _since_change(members, ("consumer_group", "broker_name"), _REBALANCE_MS, day)
    return acting(changed.drop("broker_name"), "REBALANCE_NOT_RUN")


def stale_route(routes: DataFrame, subjects: DataFrame, day: Day) -> DataFrame:
    """After the route changed each client asks for it every 30 s and then rebalances within 20 s."""
    changed = _since_change(routes, ("topic",), _ROUTE_POLL_MS + _REBALANCE_MS, day)
    return acting(changed.join(subjects, "topic"), "STALE_ROUTE")


def stopped_not_expired(known: DataFrame) -> DataFrame:
    """A client that is gone keeps its share until the broker drops it."""
    gone = known.where("ended").withColumns(
        {
            "acts_from_ms": F.col("known_until_ms") - 1_000,
            "acts_until_ms": F.col("known_until_ms") + EXPIRES_MS + _REBALANCE_MS,
        }
    )
    return acting(gone, "STOPPED_NOT_EXPIRED")


def silent_clients(silences: DataFrame) -> DataFrame:
    """A process that stood still (paused, frozen) keeps its queues in memory while the broker drops it.

    Args:
        silences: `consumer_group`, `client_id`, `silent_from_ms`, `silent_until_ms`.
    """
    long = silences.where(F.col("silent_until_ms") - F.col("silent_from_ms") > _SILENCE_MS)
    times = {
        "acts_from_ms": F.col("silent_from_ms"),
        "acts_until_ms": F.col("silent_until_ms") + _REBALANCE_MS,
    }
    return acting(long.withColumns(times), "CLIENT_SILENT")


def refusals(failed: DataFrame) -> DataFrame:
    """A queue that a client could not lock, or whose offset the broker did not tell: tried again each rebalance.

    Args:
        failed: of `Ownership`.
    """
    times = {"acts_from_ms": F.col("at_ms") - _REBALANCE_MS, "acts_until_ms": F.col("at_ms") + _REBALANCE_MS}
    timed = failed.withColumns(times)
    locks = acting(timed.where("event = 'LOCK_FAILED'"), "LOCK_NOT_GRANTED")
    return locks.unionByName(acting(timed.where("event = 'OFFSET_UNKNOWN'"), "OFFSET_UNKNOWN"))


def flapping(members: DataFrame) -> DataFrame:
    """Members that drop off a broker's list and return within two minutes, three times in ten: `client_id` as well."""
    of_each = members.withColumn("client_id", F.explode(F.array_distinct("client_ids")))
    in_time = Window.partitionBy("consumer_group", "broker_name", "client_id").orderBy(*INTERVAL)
    away_ms = F.col("start_ms") - F.lag("end_ms").over(in_time)
    returns = of_each.withColumn("away_ms", away_ms).where(f"away_ms BETWEEN 1 AND {_AWAY_MS}")
    often = returns.withColumn("acts_from_ms", F.lag("start_ms", _FLAPS - 1).over(in_time)).where(
        F.col("start_ms") - F.col("acts_from_ms") <= _FLAPPING_MS
    )
    times = often.withColumn("acts_until_ms", F.col("start_ms") + _REBALANCE_MS)
    return times.select("consumer_group", "client_id", "acts_from_ms", "acts_until_ms")


def with_slack(causes: DataFrame, answers: DataFrame, known: DataFrame) -> DataFrame:
    """Causes of groups whose members are seen by answers only, longer by the usual distance of answers at both ends.

    Args:
        causes: as `acting` returns them.
        answers: as `running_info` returns them.
        known: of `Ownership`.
    """
    client = ("consumer_group", "client_id")
    in_time = Window.partitionBy(*client).orderBy("captured_at_ms")
    gap = F.col("captured_at_ms") - F.lag("captured_at_ms").over(in_time)
    gaps = answers.where("is_answer").withColumn("gap_ms", gap).groupBy(*client)
    usual = gaps.agg(F.expr("percentile(gap_ms, 0.5)").cast("bigint").alias("gap_ms"))
    of_group = only_answers(known, usual).groupBy("consumer_group").agg(F.max("gap_ms").alias("slack_ms"))
    slack = F.coalesce("slack_ms", F.lit(0))
    longer = {"acts_from_ms": F.col("acts_from_ms") - slack, "acts_until_ms": F.col("acts_until_ms") + slack}
    return causes.join(of_group, "consumer_group", "left").withColumns(longer).drop("slack_ms")


def _changed(found: DataFrame, *, before_ms: int = 0, after_ms: int) -> DataFrame:
    return found.withColumns(
        {"acts_from_ms": F.col("start_ms") - before_ms, "acts_until_ms": F.col("end_ms") + after_ms}
    )


def _since_change(told: DataFrame, keys: Sequence[str], lasts_ms: int, day: Day) -> DataFrame:
    """From the last capture that still showed the old state until the change has settled.

    The first capture counts as a change, as what was before is not known; what stood at 00:00 does not.
    """
    in_time = Window.partitionBy(*keys).orderBy(*INTERVAL)
    changes = told.withColumn("before_ms", F.lag("last_answer_ms").over(in_time)).where(
        F.col("before_ms").isNotNull() | (F.col("start_ms") > day.start_ms)
    )
    last_seen_ms = F.coalesce("before_ms", "start_ms")
    return changes.withColumns({"acts_from_ms": last_seen_ms, "acts_until_ms": F.col("start_ms") + lasts_ms})
