"""Leaves out what no isolation depends on; without it the tables are the same but take longer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.fault_latency.fault_items.attempt_writes import CHARGED_MS
from jobs.fault_latency.fault_items.replay import begins_life
from jobs.fault_latency.keys import ITEM, PRODUCER
from jobs.intervals.coalesce import coalesce_overlapping
from jobs.tables.day import DAY_MS, Day
from udfs.bucket import minute_of
from udfs.choice import began_at_ms
from udfs.ladder import Ladder
from udfs.outcome import is_answer
from udfs.policy import Policy, gated_by_reachable, not_available_ms

_BEFORE_MS = 10_000
"""An attempt that began this long before is near."""
_TIED_MS = 1_000
"""Writes that may have run in any order lie this close together, though each within a millisecond of the next."""
_UNSEEN_MS = 60_000
"""A process's last line may write nothing; the write before it counts as the last if it is this close."""
_ALWAYS_NEAR = -1
_PLACES = 2**23
"""How many minutes are told apart, of producers and of items: each time their numbers go to every executor, some 200 MB
at most."""


def near_minutes(spans: DataFrame, start_ms: int, end_ms: int) -> DataFrame:
    """The minutes in which a span lies, and those up to `_BEFORE_MS` before it, as numbers, `place`; at most `_PLACES`.

    Args:
        spans: `PRODUCER`, `from_ms`, `until_ms`; may overlap.
        start_ms: what lies before is left out.
        end_ms: what lies after is left out.
    """
    from_ms = F.greatest("from_ms", F.lit(start_ms))
    until_ms = F.greatest(from_ms, F.least("until_ms", F.lit(end_ms)))
    minutes = spans.select(*PRODUCER, _minutes(from_ms - _BEFORE_MS, until_ms).alias("span"))
    longest = minutes.select(*PRODUCER, "span.*").groupBy(*PRODUCER, "start_ms").agg(F.max("end_ms").alias("end_ms"))
    always = spans.sparkSession.range(1).select(F.lit(_ALWAYS_NEAR).cast("bigint").alias("place"))
    return _places(longest, PRODUCER).unionByName(always)


def attempts_near(attempts: DataFrame, minutes: DataFrame) -> DataFrame:
    """The attempts that began in one of these minutes of their producer.

    One that took longer than `_BEFORE_MS`, or whose times contradict each other, always counts. Minutes of
    one number keep more attempts, never fewer.

    Args:
        attempts: every attempt of the day.
        minutes: as `near_minutes` returns them.
    """
    began, ended = began_at_ms(), F.col("ended_at_ms")
    submitted = F.coalesce("submitted_at_ms", ended)
    in_order = (began <= F.least(ended, submitted)) & (_last_ms() - began <= _BEFORE_MS)
    place = F.when(in_order, _place(PRODUCER, minute_of(began))).otherwise(_ALWAYS_NEAR)
    return attempts.withColumn("place", place).join(minutes, "place", "left_semi").drop("place")


def writes_near(writes: DataFrame, policies: Sequence[Policy], day: Day) -> DataFrame:
    """The writes in the minutes of their fault item in which an isolation stands, and of its first and last write.

    So are those of the minute in which its last life begins. Minutes of one number keep more writes, never fewer.

    Args:
        writes: as `replay` takes them.
        policies: every policy that a row may name.
        day: the day and cluster.
    """
    at_ms, until_ms = F.col("at_ms"), F.least(_stands_until_ms(policies, day), F.lit(day.end_ms))
    isolating = F.collect_set(F.when(until_ms > at_ms, _minutes(at_ms - _TIED_MS, until_ms + 1)))
    born_ms = F.max(F.when(begins_life(), at_ms))
    ends = F.array_compact(F.array(F.min(at_ms), born_ms, F.max(at_ms)))
    outermost = F.transform(ends, lambda end_ms: _minutes(end_ms - _TIED_MS, end_ms))
    spans = writes.groupBy(*ITEM).agg(F.concat(isolating, outermost).alias("spans"))
    places = _places(spans.select(*ITEM, F.inline("spans")), ITEM)
    placed = writes.withColumn("place", _place(ITEM, minute_of(at_ms)))
    return placed.join(F.broadcast(places), "place", "left_semi").drop("place")


def spans_of_writes(writes: DataFrame, policies: Sequence[Policy], day: Day) -> DataFrame:
    """Spans of recorded and carried writes: while one isolates, and at the first and last of each item.

    Args:
        writes: as `replay` takes them.
        policies: every policy that a row may name.
        day: the day and cluster.
    """
    until_ms = _stands_until_ms(policies, day)
    isolating = writes.where(until_ms > F.col("at_ms"))
    first_and_last = writes.groupBy(*ITEM).agg(F.array(F.min("at_ms"), F.max("at_ms")).alias("ends"))
    outermost = first_and_last.select(*PRODUCER, F.explode("ends").alias("from_ms"))
    return isolating.select(
        *PRODUCER, (F.col("at_ms") - 1).alias("from_ms"), (until_ms + 1).alias("until_ms")
    ).unionByName(outermost.withColumn("until_ms", F.col("from_ms")))


def _stands_until_ms(policies: Sequence[Policy], day: Day) -> Column:
    """Until when the write of the row may isolate; to the day's end where it marks the broker unreachable."""
    is_unreachable = gated_by_reachable(F.col("policy"), policies) & ~F.coalesce("reachable", F.lit(True))
    longest_ms = F.greatest(F.col("at_ms") + F.col("not_available_ms"), "carried_until_ms", "carried_latest_ms")
    return F.when(is_unreachable, day.end_ms).otherwise(longest_ms)


def spans_of_attempts(attempts: DataFrame, policies: Sequence[Policy]) -> DataFrame:
    """Spans of attempts that may isolate a broker: from their start to the latest end that any write of them may set.

    Args:
        attempts: every attempt of the day.
        policies: every policy that a row may name.
    """
    took_ms = F.col("took_ms")
    other_broker = F.coalesce(F.col("result_broker_name") != F.col("broker_name"), F.lit(False))
    may_fail = ~is_answer(F.col("outcome")) | ((F.col("mode") == "ASYNC") & other_broker)
    lowest_ms = min((policy.ladder.lowest_ms for policy in policies), default=0)
    rising = [replace(policy, ladder=_rising(policy.ladder)) for policy in policies]

    def earned(latency_ms: Column, *, is_failure: bool) -> Column:
        return F.coalesce(not_available_ms(F.col("policy"), latency_ms, F.lit(is_failure), rising), F.lit(0))

    by_latency = earned(F.greatest(took_ms, F.when(may_fail, CHARGED_MS)), is_failure=False)
    longest_ms = F.greatest(by_latency, F.when(may_fail, earned(took_ms, is_failure=True)))
    # A broker marked unreachable stays so until a later send reaches it.
    most_ms = F.when(may_fail & gated_by_reachable(F.col("policy"), policies), DAY_MS).otherwise(longest_ms)
    return (
        attempts.withColumn("took_ms", F.greatest("latency_ms", _last_ms() - began_at_ms()))
        .where(may_fail | (took_ms >= lowest_ms))
        .where("not_replayed IS NULL")
        .withColumn("most_ms", most_ms)
        .where("most_ms > 0")
        .select(
            *PRODUCER,
            (F.least(began_at_ms(), F.col("ended_at_ms")) - 1).alias("from_ms"),
            (_last_ms() + F.col("most_ms") + 1).alias("until_ms"),
        )
    )


def spans_of_processes(sends_per_process: DataFrame, policies: Sequence[Policy], day: Day) -> DataFrame:
    """Spans at the first and last write of each item, and all day of a producer whose client may fail (uneven ladder).

    Args:
        sends_per_process: SENDS_PER_PROCESS.
        policies: every policy that a row may name.
        day: the day and cluster.
    """
    written = sends_per_process.where("(mode = 'ASYNC' OR NOT by_caller) AND first_write_ms IS NOT NULL")
    moments = F.explode(F.array("first_write_ms", "last_write_ms")).alias("until_ms")
    outermost = written.select(*PRODUCER, moments).withColumn("from_ms", F.col("until_ms") - _UNSEEN_MS)
    # An attempt at which the client fails writes nothing.
    uneven = F.col("policy").isin([policy.name for policy in policies if not policy.ladder.is_even])
    producers = sends_per_process.where(uneven).select(*PRODUCER).distinct()
    all_day = {"from_ms": F.lit(day.start_ms), "until_ms": F.lit(day.end_ms)}
    return outermost.unionByName(producers.withColumns(all_day))


def _rising(ladder: Ladder) -> Ladder:
    """The ladder with each isolation the longest that any latency up to its floor earns."""
    rungs = sorted((floor, isolation or 0) for floor, isolation in ladder.rungs)
    longest = accumulate((isolation for _, isolation in rungs), max)
    return Ladder(tuple(floor for floor, _ in rungs), tuple(longest))


def _last_ms() -> Column:
    """The end of the attempt, or of its submit call where that is later."""
    return F.greatest(F.col("ended_at_ms"), F.coalesce("submitted_at_ms", "ended_at_ms"))


def _minutes(from_ms: Column, until_ms: Column) -> Column:
    """The span as one of whole minutes, the end exclusive, for `_places`."""
    return F.struct(minute_of(from_ms).alias("start_ms"), (minute_of(until_ms) + 1).alias("end_ms"))


def _places(minutes: DataFrame, of: Sequence[str]) -> DataFrame:
    """Each of the minutes once, as the number `place`."""
    minute = F.explode(F.sequence(F.col("start_ms"), F.col("end_ms") - 1)).alias("minute")
    return coalesce_overlapping(minutes, of).select(*of, minute).select(_place(of, F.col("minute"))).distinct()


def _place(of: Sequence[str], minute: Column) -> Column:
    return F.pmod(F.xxhash64(*of, minute), F.lit(_PLACES)).alias("place")
