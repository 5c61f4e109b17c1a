"""Which queues a client's own log says it held: lives of consumers, and what each held in its life."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from jobs.tables.day import Day

QUEUE = ("consumer_group", "topic", "broker_name", "queue_id", "popped")
LOG = ("process", "incarnation", "consumer_group")
LIFE = (*LOG, "life")
ORDER = ("at_ms", "file", "split", "row")
CHANGES = ("ADDED", "REMOVED", "DROPPED")
_BEGIN = ("STARTED", "READY")
_SILENCE_MS = 60_000  # a client that lives writes statistics each minute
_FIRST_WORDS_MS = 5_000  # a new process says `start beginning` of its first consumer before `InstanceIndex:0`


def with_lives(lines: DataFrame, opening: DataFrame) -> DataFrame:
    """The day's events with the process's incarnation and the consumer's life.

    Columns: those of the lines, `made_client_id` (of a STARTED or READY: the client made for it), `incarnation` (0 =
    it ran before the day's first line), `life` (0 = it had begun before the day's first line), `alive` (clients of
    the group that run in the process after the event).

    A process that is killed writes nothing: its next start in the same log ends it, at its own last line.

    Args:
        lines: the day's lines.
        opening: as `at_midnight` returns it: these clients run.
    """
    in_process = Window.partitionBy("process").orderBy(*ORDER)
    so_far = in_process.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    # What comes later, from the end on: a frame that ends at the last row is read anew for each row.
    from_the_end = Window.partitionBy("process").orderBy(*map(F.desc, ORDER))
    from_here = from_the_end.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    is_birth = (F.col("event") == "INSTANCE") & (F.col("instance") == 0)
    next_birth_ms = F.min(F.when(is_birth, F.col("at_ms"))).over(from_here)
    is_first_word = (F.col("event") == "STARTED") & (next_birth_ms - F.col("at_ms") <= _FIRST_WORDS_MS)
    births = F.count_if(is_birth).over(so_far)
    # A consumer that needs a client of its own makes it next, a lite one just before it says so, unless several
    # consumers start at once.
    turn = F.when(F.col("event").isin(*_BEGIN, "INSTANCE"), F.struct("event", "client_id"))
    next_turn = F.last(turn, ignorenulls=True).over(from_the_end.rowsBetween(Window.unboundedPreceding, -1))
    turn_before = F.last(turn, ignorenulls=True).over(in_process.rowsBetween(Window.unboundedPreceding, -1))
    beside = F.when(F.col("event") == "STARTED", next_turn).when(F.col("event") == "READY", turn_before)
    made = F.when(beside["event"] == "INSTANCE", beside["client_id"])
    incarnation = (births + F.coalesce(is_first_word, F.lit(False)).cast("int")).cast("int")
    events = lines.where("event IS NOT NULL").withColumns({"incarnation": incarnation, "made_client_id": made})
    return _numbered_lives(events, opening)


def at_midnight(opening: DataFrame, day: Day) -> DataFrame:
    """What stood at 00:00 as what a process that ran before the first line has done: rows of the table by CLIENT_LOG.

    Columns: those of `LIFE` and `QUEUE`, `client_id`, `at_ms`.
    """
    stood = opening.where("source = 'CLIENT_LOG'").select("process", *QUEUE, "client_id")
    before = {"incarnation": F.lit(0), "life": F.lit(0), "at_ms": F.lit(day.start_ms)}
    return stood.withColumns(before)


def last_lines(lines: DataFrame, events: DataFrame, day: Day) -> DataFrame:
    """`process`, `incarnation` → `last_ms`, of its log; 24:00 when it goes on."""
    born = events.where("incarnation > 0").groupBy("process", "incarnation").agg(F.min("at_ms").alias("born_ms"))
    all_times = lines.select("process", "at_ms").distinct().join(F.broadcast(born), "process", "left")
    of_each = F.max(F.when(F.col("born_ms") <= F.col("at_ms"), F.col("incarnation")))
    told = all_times.groupBy("process", "at_ms").agg(F.coalesce(of_each, F.lit(0)).alias("incarnation"))
    last = told.groupBy("process", "incarnation").agg(F.max("at_ms").alias("last_ms"))
    is_latest = F.col("incarnation") == F.max("incarnation").over(Window.partitionBy("process"))
    goes_on = is_latest & (F.col("last_ms") >= day.end_ms - _SILENCE_MS)
    return last.withColumn("last_ms", F.when(goes_on, F.lit(day.end_ms)).otherwise(F.col("last_ms")))


def _numbered_lives(events: DataFrame, opening: DataFrame) -> DataFrame:
    """With `life`, `alive` (clients of the group that run in the process after the event)."""
    ran = opening.groupBy(*LOG).agg(F.count_distinct("client_id").alias("ran"))
    of_group = Window.partitionBy(*LOG).orderBy(*ORDER)
    so_far = of_group.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    step = F.when(F.col("event").isin(*_BEGIN), 1).when(F.col("event") == "STOPPED", -1).otherwise(0)
    known = events.join(ran, list(LOG), "left")
    total = known.withColumn("total", F.sum(step).over(so_far) + F.coalesce("ran", F.lit(0))).drop("ran")
    # One that ran before the first line may stop without a start: never below zero.
    alive = total.withColumn("alive", F.col("total") - F.least(F.min("total").over(so_far), F.lit(0))).drop("total")
    begins = F.col("event").isin(*_BEGIN) & (F.col("alive") == 1)
    return alive.withColumn("life", F.count_if(begins).over(so_far).cast("int"))


def lives(events: DataFrame, opening: DataFrame, last: DataFrame, day: Day) -> DataFrame:
    """Consumers that are alone of their group in their log.

    Grain: `LIFE`. Columns: `client_id` (settings, else the one the results name, else the one it made),
    `lived_from_ms` (null = before the log's first line and not known), `lived_until_ms` (exclusive), `ended` (stopped
    or gone; not just 24:00).

    Args:
        events: as `with_lives` returns them, without those of shared logs.
        opening: as `at_midnight` returns it, likewise.
        last: as `last_lines` returns it.
        day: the day.
    """
    created = (
        events.where("event = 'INSTANCE'")
        .groupBy("process", "incarnation")
        .agg(F.collect_set("client_id").alias("created"))
    )
    before = opening.groupBy(*LIFE).agg(F.first("client_id").alias("carried"))
    told = F.first(F.when(F.col("event") == "ALLOCATED", F.col("client_id")), ignorenulls=True)
    began = F.min(F.when(F.col("event").isin(*_BEGIN) & (F.col("alive") == 1), F.col("at_ms")))
    stopped = F.max(F.when((F.col("event") == "STOPPED") & (F.col("alive") == 0), F.col("at_ms")))
    today = (
        events.where("consumer_group IS NOT NULL")
        .groupBy(*LIFE)
        .agg(
            told.alias("told"),
            F.max("said_client_id").alias("said"),
            F.max("made_client_id").alias("made"),
            began.alias("began_ms"),
            stopped.alias("stopped_ms"),
        )
    )
    shared = F.when(F.size("created") == 1, F.get("created", 0))
    begun = F.coalesce("began_ms", F.when(F.col("carried").isNotNull(), F.lit(day.start_ms)))
    lived = (
        today.join(before, list(LIFE), "full")
        .join(created, ["process", "incarnation"], "left")
        .select(
            *LIFE,
            F.coalesce("said", "told", "carried", "made", shared).alias("client_id"),
            begun.alias("lived_from_ms"),
            "stopped_ms",
        )
    )
    return lived_until(lived.where("client_id IS NOT NULL"), last, day)


def lived_until(lived: DataFrame, last: DataFrame, day: Day) -> DataFrame:
    """With `lived_until_ms` and `ended`, as `lives` tells them, for `stopped_ms` (null = it did not stop)."""
    until = F.coalesce("stopped_ms", "last_ms", F.lit(day.start_ms))
    ends = {"lived_until_ms": until, "ended": until < day.end_ms}
    return lived.join(last, ["process", "incarnation"], "left").withColumns(ends).drop("stopped_ms", "last_ms")


def logged_holdings(events: DataFrame, of_lives: DataFrame, opening: DataFrame) -> DataFrame:
    """From ADDED to REMOVED, DROPPED or the end of the consumer's life; columns as `held_in` returns them.

    Args:
        events: as for `lives`.
        of_lives: as `lives` returns them.
        opening: as for `lives`.
    """
    nothing = {"split": F.lit(-1), "row": F.lit(-1), "file": F.lit(""), "event": F.lit("ADDED")}
    stood = opening.drop("client_id").withColumns(nothing)
    changes = events.where(F.col("event").isin(*CHANGES)).select(*stood.columns).unionByName(stood)
    return held_in(changes, of_lives, LIFE, ORDER)


def held_in(changes: DataFrame, of_lives: DataFrame, life: Sequence[str], order: Sequence[str]) -> DataFrame:
    """What each life held: those of `QUEUE`, `client_id`, `process`, `start_ms`, `end_ms`.

    Args:
        changes: those of `life`, `order` and `QUEUE`, `at_ms`, `event`.
        of_lives: those of `life`, `client_id`, `lived_until_ms`; what is not here held nothing.
        life: what makes one life.
        order: of its changes.
    """
    of_queue = Window.partitionBy(*life, *QUEUE[1:]).orderBy(*order)
    is_held = F.col("event") == "ADDED"
    was_held = F.coalesce(F.lag("is_held").over(of_queue), F.lit(False))
    all_changes = changes.withColumn("is_held", is_held).withColumn("was_held", was_held)
    turns = all_changes.where("is_held <> was_held")
    held = turns.withColumn("next_ms", F.lead("at_ms").over(of_queue)).where("is_held")
    return held.join(of_lives, list(life)).select(
        *QUEUE,
        "client_id",
        "process",
        F.col("at_ms").alias("start_ms"),
        F.least(F.coalesce("next_ms", "lived_until_ms"), "lived_until_ms").alias("end_ms"),
    )


def silences(lines: DataFrame, of_lives: DataFrame) -> DataFrame:
    """Times without one line: `consumer_group`, `client_id`, `silent_from_ms`, `silent_until_ms`; short ones too."""
    in_time = Window.partitionBy("process").orderBy("at_ms")
    times = lines.select("process", "at_ms").distinct()
    gaps = times.select(
        "process", F.lag("at_ms").over(in_time).alias("silent_from_ms"), F.col("at_ms").alias("silent_until_ms")
    ).where("silent_until_ms > silent_from_ms + 10000")
    clients = of_lives.select("process", "consumer_group", "client_id", "lived_until_ms").distinct()
    return (
        gaps.join(clients, "process")
        .where("silent_from_ms < lived_until_ms")
        .select("consumer_group", "client_id", "silent_from_ms", "silent_until_ms")
    )
