"""The processes of a producer: which one made an attempt, told by its id or by its sequence that starts again."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.fault_latency.producers import PRODUCER
from udfs.bucket import bucket_of
from udfs.choice import began_at_ms

_MINUTE_MS = 60_000
ORDER_OF_EVENTS = ("ended_at_ms", "seq", "started_at_ms", "invoke_id", "attempt", "row_hash")
"""The total order of a producer's attempts, independent of files; `seq` with nulls last."""


def with_process(sends: DataFrame, beginnings: DataFrame) -> DataFrame:
    """Each attempt with the process it ran in, and when that process was over.

    `process` is the logged process id; without one, `#1`, `#2` … counted up at each restart. `dies_at_ms` is the
    first start of a process that began after this one's last attempt; null while there is none.

    Args:
        sends: attempts of one day.
        beginnings: as `beginnings` returns them.
    """
    known = sends.join(F.broadcast(beginnings), list(PRODUCER), "left")
    carried_count = F.coalesce(F.regexp_extract("carried_process", r"^#(\d+)$", 1).try_cast("int"), F.lit(1))
    until_now = F.size(F.filter("restarts", lambda restart: restart <= _place_in_time()))
    counted = carried_count + F.when(F.col("restarts").isNull(), 0).otherwise(until_now)
    number = F.when(F.col("restarts").isNull() & F.col("carried_process").isNull(), "#1").otherwise(
        F.concat(F.lit("#"), counted)
    )
    named = known.withColumn("process", F.coalesce("process_id", number)).drop(
        "restarts", "carried_process", "carried_ended_at_ms"
    )
    ended = _lives(named, beginnings).where("dies_at_ms IS NOT NULL")  # few: most days nobody restarts
    return named.join(F.broadcast(ended), [*PRODUCER, "process"], "left")


def beginnings(sends: DataFrame, carried: DataFrame) -> DataFrame:
    """What tells the processes of a producer apart: the one that it had, and where it began again.

    Grain: `PRODUCER`; only those with either. `carried_process`, `carried_ended_at_ms` (null = none on the day
    before), and `restarts`, their places in the total order of its attempts (null = none).

    Args:
        sends: attempts of one day.
        carried: as `carried_processes` returns them.
    """
    return carried.drop("carried_seq").join(_restarts(sends, carried), list(PRODUCER), "full")


def _restarts(sends: DataFrame, carried: DataFrame) -> DataFrame:
    """Per `PRODUCER` with restarts: `restarts`, their places in the total order of its attempts.

    A restart is a clear fall of `seq`: below half of the attempt before it, by an attempt that began after all
    earlier ones had ended. Only minutes in which that can be are sorted, with the minute before each.
    """
    placed = sends.withColumn("minute", bucket_of(F.col("ended_at_ms"), _MINUTE_MS))
    order = Window.partitionBy(*PRODUCER).orderBy(_place_in_time())
    before = F.lag(F.struct("seq", "ended_at_ms")).over(order)
    seq_before = F.coalesce(before["seq"], F.col("carried_seq"))
    all_ended_at = F.greatest(before["ended_at_ms"], "carried_ended_at_ms")
    return (
        placed.join(F.broadcast(_falling_minutes(placed, carried)), [*PRODUCER, "minute"])
        .join(F.broadcast(carried), list(PRODUCER), "left")
        .select(
            *PRODUCER,
            _place_in_time().alias("place"),
            (F.col("falls") & (F.col("seq") < seq_before / 2) & (began_at_ms() > all_ended_at)).alias("restarted"),
        )
        .where("restarted")
        .groupBy(*PRODUCER)
        .agg(F.collect_list("place").alias("restarts"))
    )


def _falling_minutes(sends: DataFrame, carried: DataFrame) -> DataFrame:
    """The minutes in which a seq is below half of one in it, in the minute before it, or of the day before.

    Grain: `PRODUCER`, `minute`; `falls`: false for a minute that is only the one before.
    """
    in_time = Window.partitionBy(*PRODUCER).orderBy("minute")
    minutes = sends.groupBy(*PRODUCER, "minute").agg(F.min("seq").alias("lowest"), F.max("seq").alias("highest"))
    highest_before = F.greatest("highest", F.lag("highest").over(in_time), "carried_seq")
    falls = F.coalesce(F.col("lowest") < highest_before / 2, F.lit(False))
    return (
        minutes.join(F.broadcast(carried), list(PRODUCER), "left")
        .withColumn("falls", falls)
        .withColumn("is_before", F.coalesce(F.lead("falls").over(in_time), F.lit(False)))
        .where("falls OR is_before")
        .select(*PRODUCER, "minute", "falls")
    )


def _place_in_time() -> Column:
    """The total order of a producer's attempts, independent of files; those without `seq` come last."""
    first, seq, *others = ORDER_OF_EVENTS
    return F.struct(first, F.col(seq).isNull().alias("has_no_seq"), seq, *others)


def _lives(sends: DataFrame, beginnings: DataFrame) -> DataFrame:
    """Per process: `dies_at_ms`. The carried process counts with its last attempt of the day before."""
    lives = sends.groupBy(*PRODUCER, "process").agg(
        F.min(began_at_ms()).alias("born_at_ms"), F.max("ended_at_ms").alias("last_at_ms")
    )
    yesterday = beginnings.where("carried_process IS NOT NULL").select(
        *PRODUCER,
        F.col("carried_process").alias("process"),
        F.col("carried_ended_at_ms").alias("born_at_ms"),
        F.col("carried_ended_at_ms").alias("last_at_ms"),
    )
    all_lives = (
        lives.unionByName(yesterday)
        .groupBy(*PRODUCER, "process")
        .agg(F.min("born_at_ms").alias("born_at_ms"), F.max("last_at_ms").alias("last_at_ms"))
    )
    moments = all_lives.select(
        *PRODUCER,
        "process",
        F.explode(
            F.array(
                F.struct(F.col("born_at_ms").alias("at_ms"), F.col("born_at_ms").alias("birth_ms")),
                F.struct(F.col("last_at_ms").alias("at_ms"), F.lit(None).cast("bigint").alias("birth_ms")),
            )
        ).alias("moment"),
    ).select(*PRODUCER, "process", "moment.*")
    later_first = (
        Window.partitionBy(*PRODUCER)
        .orderBy(F.desc("at_ms"), F.col("birth_ms").isNull(), "process")
        .rowsBetween(Window.unboundedPreceding, -1)
    )
    next_birth = F.last("birth_ms", ignorenulls=True).over(later_first)
    return moments.withColumn("dies_at_ms", next_birth).where("birth_ms IS NULL").drop("at_ms", "birth_ms")


def carried_processes(opening: DataFrame) -> DataFrame:
    """Per `PRODUCER` the process that sent last on the day before, from the opening fault items."""
    last = F.struct("last_ended_at_ms", "process")
    return opening.groupBy(*PRODUCER).agg(
        F.max_by("process", last).alias("carried_process"),
        F.max_by("last_seq", last).alias("carried_seq"),
        F.max("last_ended_at_ms").alias("carried_ended_at_ms"),
    )


def with_end_of_process(opening: DataFrame, attempts: DataFrame) -> DataFrame:
    """Opening fault items with `dies_at_ms` of their process.

    A process that sends nothing on this day ends when another one of its producer begins.

    Args:
        opening: fault items of the day before.
        attempts: the day's attempts as `with_process` returns them.
    """
    life = [*PRODUCER, "process"]
    lives = attempts.select(*life, "dies_at_ms").distinct().withColumn("sends", F.lit(True))
    newborn = attempts.join(opening.select(*life).distinct(), life, "left_anti")
    births = newborn.groupBy(*PRODUCER).agg(F.min(began_at_ms()).alias("birth_ms"))
    return (
        opening.join(lives, life, "left")
        .join(births, list(PRODUCER), "left")
        .withColumn("dies_at_ms", F.when(F.col("sends").isNull(), F.col("birth_ms")).otherwise(F.col("dies_at_ms")))
        .drop("sends", "birth_ms")
    )
