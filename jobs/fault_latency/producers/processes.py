"""The processes of a producer: which one made an attempt, by its id or by its sequence that starts again."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from jobs.fault_latency.producers.rules import PRODUCER
from jobs.fault_latency.producers.sender_hours import hour
from jobs.spark.materialize import Materialize
from udfs.choice import began_at_ms
from udfs.order_of_events import place_in_order

PROCESS = (*PRODUCER, "process")
FIRST_PROCESS = "#1"
"""The process of a producer whose lines name none, until it starts anew."""
_LIFE = (*PROCESS, "born_at_ms", "last_at_ms")


def with_process(sends: DataFrame, beginnings: DataFrame) -> DataFrame:
    """One row per attempt, with the process that made it and the end of that process.

    `process` is the logged process id; without one, `#1`, `#2` … counted up at each restart. `dies_at_ms` is the
    first start of another process that began in or after the millisecond of this one's last end; null while there is
    none.

    Args:
        sends: attempts of one day.
        beginnings: as `beginnings` returns them.
    """
    named = _named(sends, beginnings, "left")
    return named.withColumn("dies_at_ms", F.try_element_at("ends", F.col("process"))).drop("ends")


def beginnings(sends: DataFrame, hours: DataFrame, carried: DataFrame, materialize: Materialize) -> DataFrame:
    """Processes of a producer: the numbers of those without id, and the ends of those that are over.

    Grain: `PRODUCER` and interval between its restarts; only those with any of it. `counted`, the name of a process
    without id (null = none was carried, and none began again); `from_place` and `until_place` (exclusive) in the total
    order of its attempts (null = from the first, to the last); `ends`, the instant at which a process was over by its
    name (null = none was).

    Args:
        sends: attempts of one day.
        hours: the same counted, as `sender_hours` returns them.
        carried: as `carried_processes` returns them.
        materialize: for the few rows that it is derived from.
    """
    restarts = materialize("restarts", carried.join(_restarts(sends, hours, carried), list(PRODUCER), "full"))
    ends = (
        _ends_of_processes(sends, hours, restarts)
        .where("dies_at_ms IS NOT NULL")
        .groupBy(*PRODUCER)
        .agg(F.map_from_entries(F.collect_list(F.struct("process", "dies_at_ms"))).alias("ends"))
    )
    return _intervals_between_restarts(restarts).join(ends, list(PRODUCER), "full")


def with_only_process(counted: DataFrame, beginnings: DataFrame) -> DataFrame:
    """One row per row of producers that began no process without id again, with process and its end.

    Args:
        counted: attempts counted together, with `process_id`.
        beginnings: as `beginnings` returns them.
    """
    return (
        counted.join(F.broadcast(beginnings.drop("from_place", "until_place")), list(PRODUCER), "left")
        .withColumn("process", F.coalesce("process_id", "counted", F.lit(FIRST_PROCESS)))
        .withColumn("dies_at_ms", F.try_element_at("ends", F.col("process")))
        .drop("counted", "ends")
    )


def restarted_producers(beginnings: DataFrame) -> DataFrame:
    """One row per `PRODUCER` of which a process without id began again on the day.

    Args:
        beginnings: as `beginnings` returns them.
    """
    return beginnings.where("from_place IS NOT NULL").select(*PRODUCER).distinct()


def _named(sends: DataFrame, intervals: DataFrame, how: str) -> DataFrame:
    """The attempts with `process`: by id, or as counted in the interval between restarts that they lie in."""
    of = {name: f"of_{name}" for name in PRODUCER}
    same = [F.col(name) == F.col(other) for name, other in of.items()]
    place = place_in_order()
    within = [
        F.col("from_place").isNull() | (place >= F.col("from_place")),
        F.col("until_place").isNull() | (place < F.col("until_place")),
    ]
    return (
        sends.join(F.broadcast(intervals.withColumnsRenamed(of)), [*same, *within], how)
        .withColumn("process", F.coalesce("process_id", "counted", F.lit(FIRST_PROCESS)))
        .drop(*of.values(), "counted", "from_place", "until_place")
    )


def _intervals_between_restarts(restarts: DataFrame) -> DataFrame:
    """Intervals between the restarts of a producer: `counted`, `from_place`, `until_place`."""
    in_order = F.sort_array("restarts")
    carried_count = F.coalesce(F.regexp_extract("carried_process", r"^#(\d+)$", 1).try_cast("int"), F.lit(1))
    numbered = restarts.select(
        *PRODUCER,
        "carried_process",
        in_order.alias("in_order"),
        F.posexplode_outer(F.array_insert(in_order, 1, F.lit(None))).alias("number", "from_place"),
    )
    return numbered.select(
        *PRODUCER,
        F.concat(F.lit("#"), carried_count + F.coalesce("number", F.lit(0))).alias("counted"),
        "from_place",
        F.get("in_order", F.col("number")).alias("until_place"),
    )


def _restarts(sends: DataFrame, hours: DataFrame, carried: DataFrame) -> DataFrame:
    """One row per `PRODUCER` with restarts: `restarts`, their places in the total order of its attempts.

    A restart is a clear fall of `seq`: below half of the attempt before it, by an attempt that began after all
    earlier ones had ended. Only hours in which that can be are sorted, with the hour before each.
    """
    order = Window.partitionBy(*PRODUCER).orderBy(place_in_order())
    before = F.lag(F.struct("seq", "ended_at_ms")).over(order)
    seq_before = F.coalesce(before["seq"], F.col("carried_seq"))
    all_ended_at = F.greatest(before["ended_at_ms"], "carried_ended_at_ms")
    return (
        sends.withColumn("hour", hour())
        .join(F.broadcast(_falling_hours(hours, carried)), [*PRODUCER, "hour"])
        .join(F.broadcast(carried), list(PRODUCER), "left")
        .select(
            *PRODUCER,
            place_in_order().alias("place"),
            (F.col("falls") & (F.col("seq") < seq_before / 2) & (began_at_ms() > all_ended_at)).alias("restarted"),
        )
        .where("restarted")
        .groupBy(*PRODUCER)
        .agg(F.collect_list("place").alias("restarts"))
    )


def _falling_hours(hours: DataFrame, carried: DataFrame) -> DataFrame:
    """Hours in which a seq is below half of one in it, in the hour with sends before it, or of the day before.

    Grain: `PRODUCER`, `hour`; `falls`: false for an hour that is only the one before.
    """
    in_time = Window.partitionBy(*PRODUCER).orderBy("hour")
    highest_before = F.greatest("highest", F.lag("highest").over(in_time), "carried_seq")
    falls = F.coalesce(F.col("lowest") < highest_before / 2, F.lit(False))
    return (
        hours.groupBy(*PRODUCER, "hour")
        .agg(F.min("lowest_seq").alias("lowest"), F.max("last_seq").alias("highest"))
        .join(F.broadcast(carried), list(PRODUCER), "left")
        .withColumn("falls", falls)
        .withColumn("is_before", F.coalesce(F.lead("falls").over(in_time), F.lit(False)))
        .where("falls OR is_before")
        .select(*PRODUCER, "hour", "falls")
    )


def _ends_of_processes(sends: DataFrame, hours: DataFrame, restarts: DataFrame) -> DataFrame:
    """One row per process: `dies_at_ms`. The carried process counts with its last attempt of the day before.

    A process whose clock was set back during its only attempt began as that ended, at the latest.
    Only producers that began again need their attempts one by one; of the others the hours are enough.
    """
    intervals = _intervals_between_restarts(restarts)
    restarted = restarts.where("restarts IS NOT NULL").select(*PRODUCER)
    of_one = hours.join(restarted, list(PRODUCER), "left_anti").join(intervals, list(PRODUCER), "left")
    of_several = _named(sends, intervals.join(restarted, list(PRODUCER), "left_semi"), "inner")
    life_spans = of_one.select(
        *PRODUCER,
        F.coalesce("process_id", "counted", F.lit(FIRST_PROCESS)).alias("process"),
        F.col("first_began_ms").alias("born_at_ms"),
        F.col("last_ended_ms").alias("last_at_ms"),
    )
    life_spans = life_spans.unionByName(
        of_several.withColumns({"born_at_ms": began_at_ms(), "last_at_ms": F.col("ended_at_ms")}).select(*_LIFE)
    )
    yesterday = restarts.where("carried_process IS NOT NULL").select(
        *PRODUCER,
        F.col("carried_process").alias("process"),
        F.col("carried_ended_at_ms").alias("born_at_ms"),
        F.col("carried_ended_at_ms").alias("last_at_ms"),
    )
    last_at = F.max("last_at_ms")
    spans_per_process = (
        life_spans.unionByName(yesterday)
        .groupBy(*PRODUCER, "process")
        .agg(F.least(F.min("born_at_ms"), last_at).alias("born_at_ms"), last_at.alias("last_at_ms"))
    )
    born, died = F.col("born_at_ms"), F.col("last_at_ms")
    birth = F.struct(born.alias("at_ms"), born.alias("birth_ms"), (born == died).alias("is_end"))
    end = F.struct(died.alias("at_ms"), F.lit(None).cast("bigint").alias("birth_ms"), F.lit(True).alias("is_end"))
    # A process of one millisecond is one moment, as its own birth is not the next one.
    moments = spans_per_process.select(
        *PRODUCER, "process", F.inline(F.array_compact(F.array(birth, F.when(born < died, end))))
    )
    later_first = (
        Window.partitionBy(*PRODUCER)
        .orderBy(F.desc("at_ms"), "is_end", F.col("birth_ms").isNull(), "process")
        .rowsBetween(Window.unboundedPreceding, -1)
    )
    next_birth = F.last("birth_ms", ignorenulls=True).over(later_first)
    return moments.withColumn("dies_at_ms", next_birth).where("is_end").drop("at_ms", "birth_ms", "is_end")


def carried_processes(opening: DataFrame) -> DataFrame:
    """One row per `PRODUCER`: the process that sent last on the day before, from the opening fault items."""
    last = F.struct("last_ended_at_ms", "process")
    return opening.groupBy(*PRODUCER).agg(
        F.max_by("process", last).alias("carried_process"),
        F.max_by("last_seq", last).alias("carried_seq"),
        F.max("last_ended_at_ms").alias("carried_ended_at_ms"),
    )


def with_end_of_process(opening: DataFrame, sends_per_process: DataFrame) -> DataFrame:
    """One row per opening fault item, with `dies_at_ms` of its process.

    A process that sends nothing on this day ends when another one of its producer begins.

    Args:
        opening: fault items of the day before.
        sends_per_process: as `process_sends` returns it.
    """
    life = [*PRODUCER, "process"]
    processes_today = sends_per_process.select(*life, "dies_at_ms").distinct().withColumn("sends", F.lit(True))
    newborn = sends_per_process.join(opening.select(*life).distinct(), life, "left_anti")
    births = newborn.groupBy(*PRODUCER).agg(F.min("first_began_ms").alias("birth_ms"))
    return (
        opening.join(processes_today, life, "left")
        .join(births, list(PRODUCER), "left")
        .withColumn("dies_at_ms", F.when(F.col("sends").isNull(), F.col("birth_ms")).otherwise(F.col("dies_at_ms")))
        .drop("sends", "birth_ms")
    )
