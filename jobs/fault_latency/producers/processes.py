"""The processes of a producer: which one wrote a line, when it ended, and producers whose id several share."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.fault_latency.keys import PROCESS, PRODUCER
from jobs.kinds import FindingKind
from udfs.choice import began_at_ms

SEVERAL_PROCESSES = FindingKind.SEVERAL_PROCESSES
"""`not_replayed` of a producer whose lines are those of several processes and do not say which."""

STEP_MS = 1_000
"""A clock that was set by less goes unnoticed."""
_UNORDERED_WITHIN_MS = 1
_CLOCK_STEP_MS = 10_000
"""A clock set back by less than this puts lines out of order for as long: not a sign of several processes."""


def producer() -> Column:
    """The row's producer within its cluster, client id and group, as text: arrays of structs are slow to compare."""
    return F.concat(F.octet_length("client_id").cast("string"), F.lit(" "), "client_id", "producer_group")


def process() -> Column:
    """The process of a line: its `process_id`, else its client id.

    The client id holds the pid (`ClientConfig.changeInstanceNameToPID`), from 4.9.0 on a start time too.
    """
    return F.coalesce("process_id", "client_id")


def is_shared() -> Column:
    """`seq` falls and rises again more than once: several processes, or a clock that was set back for long."""
    lasted_ms = F.col("fell_last_ms") - F.col("fell_first_ms")
    return (F.col("seq_falls") > 1) & (lasted_ms >= _CLOCK_STEP_MS)


def shared_processes(sends_per_process: DataFrame) -> DataFrame:
    """One row per process whose lines are those of several, as `is_shared` says.

    Args:
        sends_per_process: SENDS_PER_PROCESS.
    """
    return sends_per_process.where(is_shared()).select(*PROCESS).distinct()


def restarted_once() -> Column:
    """`seq` fell once: a restart that no id shows."""
    return F.col("seq_falls") == 1


def life_spans(sends_per_process: DataFrame) -> DataFrame:
    """One row per process: `process_id` (null = not logged), `first_began_ms`, `last_ended_ms`.

    Args:
        sends_per_process: SENDS_PER_PROCESS.
    """
    last_ms = F.max("last_ended_ms")
    # A clock set back during the only attempt: it began, at the latest, when it ended.
    return sends_per_process.groupBy(*PROCESS, "process_id").agg(
        F.least(F.min("first_began_ms"), last_ms).alias("first_began_ms"), last_ms.alias("last_ended_ms")
    )


def process_ends(sends_per_process: DataFrame, opening: DataFrame) -> DataFrame:
    """One row per process that ended: `process_ended_at_ms`, the first start of a later `process_id` of the producer.

    A process of the day before has not begun on this day.

    Args:
        sends_per_process: SENDS_PER_PROCESS.
        opening: `fault_item_state` of the day before; empty when it is not in the lake.
    """
    carried = opening.groupBy(*PROCESS).agg(F.max("last_ended_at_ms").alias("carried_ended_ms"))
    lives = life_spans(sends_per_process).join(carried, list(PROCESS), "full")
    born_today = F.col("process_id").isNotNull() & F.col("carried_ended_ms").isNull()
    born_ms, last_ms = F.col("first_began_ms"), F.coalesce("last_ended_ms", "carried_ended_ms")
    birth = F.struct(
        born_ms.alias("at_ms"), born_ms.alias("birth_ms"), (born_ms == F.col("last_ended_ms")).alias("is_end")
    )
    end = F.struct(last_ms.alias("at_ms"), F.lit(None).cast("bigint").alias("birth_ms"), F.lit(True).alias("is_end"))
    # A process of one millisecond is one moment, so that its own birth does not end it.
    is_moment = F.coalesce(born_today & (born_ms == last_ms), F.lit(False))
    moments = lives.select(
        *PROCESS, F.inline(F.array_compact(F.array(F.when(born_today, birth), F.when(~is_moment, end))))
    )
    later_first = (
        Window.partitionBy(*PRODUCER)
        .orderBy(F.desc("at_ms"), "is_end", F.col("birth_ms").isNull(), "process")
        .rowsBetween(Window.unboundedPreceding, -1)
    )
    next_birth = F.last("birth_ms", ignorenulls=True).over(later_first)
    ends = moments.withColumn("process_ended_at_ms", next_birth)
    return ends.where("is_end AND process_ended_at_ms IS NOT NULL").select(*PROCESS, "process_ended_at_ms")


def seq_order(sends: DataFrame) -> DataFrame:
    """One row per process whose `seq` and times disagree; few do.

    `place` (`place_of` its process), `seq_falls`, `fell_first_ms`, `fell_last_ms` (where no line has a process id), and
    `clock_fell` (null = no): an attempt ended a second or more before one with a lower `seq`. A hash stands for the
    process, so that only numbers are sorted; the order of lines that agree in all three does not matter.
    """
    in_time = Window.partitionBy("place").orderBy("ended_at_ms", "seq", "began_ms")
    began_later = F.col("began_ms") - F.lag("ended_at_ms").over(in_time) > _UNORDERED_WITHIN_MS
    fell = (F.col("seq") < F.lag("seq").over(in_time)) & began_later
    # By value, not by row: the order of attempts that ended in one millisecond has no say.
    a_second_before = (
        Window.partitionBy("place").orderBy("ended_at_ms").rangeBetween(Window.unboundedPreceding, -STEP_MS)
    )
    return (
        sends.where("seq IS NOT NULL")
        .select(
            place_of(process()).alias("place"),
            F.when(F.col("process_id").isNull(), began_at_ms()).alias("began_ms"),
            "seq",
            "ended_at_ms",
        )
        .withColumn("fell_ms", F.when(fell, F.col("ended_at_ms")))
        .withColumn("clock_fell", F.col("seq") < F.max("seq").over(a_second_before))
        .groupBy("place")
        .agg(
            F.count("fell_ms").alias("seq_falls"),
            F.min("fell_ms").alias("fell_first_ms"),
            F.max("fell_ms").alias("fell_last_ms"),
            F.bool_or("clock_fell").alias("clock_fell"),
        )
        .where("seq_falls > 0 OR clock_fell")
    )


def place_of(process: Column) -> Column:
    """A process of a producer as one number."""
    return F.xxhash64(*PRODUCER, process)
