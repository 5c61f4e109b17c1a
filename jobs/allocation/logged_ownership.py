"""Which queues a client's own log says it held: lives of consumers, and what each held in its life."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from jobs.day import Day

QUEUE = ("consumer_group", "topic", "broker_name", "queue_id", "popped")
LIFE = ("process", "incarnation", "consumer_group", "life")
_ORDER = ("at_ms", "file", "split", "row")
_BEGIN = ("STARTED", "READY")
_SILENCE_MS = 60_000  # a client that lives writes statistics each minute
_FIRST_WORDS_MS = 5_000  # a new process says `start beginning` of its first consumer before `InstanceIndex:0`


def with_lives(lines: DataFrame, day: Day) -> DataFrame:
    """The day's events with the process's incarnation, its last line, and the consumer's life.

    Columns: those of the lines, `made_client_id` (of a STARTED or READY: the client made for it), `incarnation` (0 =
    it ran before the day's first line), `last_ms` (of its log; 24:00 when it goes on), `life` (0 = it had begun
    before the day's first line), `alive` (clients of the group that run in the process after the event).

    A process that is killed writes nothing: its next start in the same log ends it, at its own last line.
    """
    in_process = Window.partitionBy("process").orderBy(*_ORDER)
    so_far = in_process.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    # What comes later, from the end on: a frame that ends at the last row is read anew for each row.
    from_the_end = Window.partitionBy("process").orderBy(*map(F.desc, _ORDER))
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
    return events.join(_last_lines(lines, events, day), ["process", "incarnation"]).transform(_numbered_lives)


def _last_lines(lines: DataFrame, events: DataFrame, day: Day) -> DataFrame:
    """`process`, `incarnation` → `last_ms`."""
    born = events.where("incarnation > 0").groupBy("process", "incarnation").agg(F.min("at_ms").alias("born_ms"))
    all_times = lines.select("process", "at_ms").distinct().join(F.broadcast(born), "process", "left")
    of_each = F.max(F.when(F.col("born_ms") <= F.col("at_ms"), F.col("incarnation")))
    told = all_times.groupBy("process", "at_ms").agg(F.coalesce(of_each, F.lit(0)).alias("incarnation"))
    last = told.groupBy("process", "incarnation").agg(F.max("at_ms").alias("last_ms"))
    is_latest = F.col("incarnation") == F.max("incarnation").over(Window.partitionBy("process"))
    goes_on = is_latest & (F.col("last_ms") >= day.end_ms - _SILENCE_MS)
    return last.withColumn("last_ms", F.when(goes_on, F.lit(day.end_ms)).otherwise(F.col("last_ms")))


def _numbered_lives(events: DataFrame) -> DataFrame:
    """With `life`, `alive` (clients of the group that run in the process after the event)."""
    of_group = Window.partitionBy("process", "incarnation", "consumer_group").orderBy(*_ORDER)
    so_far = of_group.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    step = F.when(F.col("event").isin(*_BEGIN), 1).when(F.col("event") == "STOPPED", -1).otherwise(0)
    total = events.withColumn("total", F.sum(step).over(so_far))
    # One that ran before the first line may stop without a start: never below zero.
    alive = total.withColumn("alive", F.col("total") - F.least(F.min("total").over(so_far), F.lit(0))).drop("total")
    begins = F.col("event").isin(*_BEGIN) & (F.col("alive") == 1)
    return alive.withColumn("life", F.count_if(begins).over(so_far).cast("int"))


def lives(lines: DataFrame, events: DataFrame, opening: DataFrame, day: Day) -> DataFrame:
    """Consumers whose log can be read: one client of its group in its process.

    Grain: `process`, `incarnation`, `consumer_group`, `life`. Columns: `client_id` (settings, else the one the
    results name, else the one it made), `lived_from_ms` (null = before the log's first line and not known),
    `lived_until_ms` (exclusive), `ended` (stopped or gone; not just 24:00).

    Lines name no client: where several clients of a group write one log, nothing tells them apart and none is here.

    Args:
        lines: the day's lines; a process that goes on need not tell of a change.
        events: as `with_lives` returns them.
        opening: rows of the table by CLIENT_LOG that reach 00:00.
        day: the day.
    """
    created = (
        events.where("event = 'INSTANCE'")
        .groupBy("process", "incarnation")
        .agg(F.collect_set("client_id").alias("created"))
    )
    before = (
        opening.groupBy("process", "consumer_group")
        .agg(F.collect_set("client_id").alias("carried"))
        .select("process", F.lit(0).alias("incarnation"), "consumer_group", F.lit(0).alias("life"), "carried")
    )
    told = F.collect_set(F.when(F.col("event") == "ALLOCATED", F.col("client_id")))
    began = F.min(F.when(F.col("event").isin(*_BEGIN) & (F.col("alive") == 1), F.col("at_ms")))
    stopped = F.max(F.when((F.col("event") == "STOPPED") & (F.col("alive") == 0), F.col("at_ms")))
    today = (
        events.where("consumer_group IS NOT NULL")
        .groupBy(*LIFE)
        .agg(
            told.alias("told"),
            F.max("said_client_id").alias("said"),
            F.max("made_client_id").alias("made"),
            F.max("alive").alias("most"),
            began.alias("began_ms"),
            stopped.alias("stopped_ms"),
            F.first("last_ms").alias("last_ms"),
        )
    )
    last = _last_lines(lines, events, day).select("process", "incarnation", F.col("last_ms").alias("written_ms"))
    all_lives = (
        today.join(before, list(LIFE), "full")
        .join(created, ["process", "incarnation"], "left")
        .join(last, ["process", "incarnation"], "left")
    )
    nobody = F.array().cast("array<string>")
    seen = F.array_union(F.coalesce("told", nobody), F.coalesce("carried", nobody))
    shared = F.when(F.size("created") == 1, F.get("created", 0))
    last_ms = F.coalesce("last_ms", "written_ms", F.lit(day.start_ms))
    until = F.coalesce("stopped_ms", last_ms)
    begun = F.coalesce("began_ms", F.when(F.col("carried").isNotNull(), F.lit(day.start_ms)))
    return (
        all_lives.where((F.coalesce("most", F.lit(1)) <= 1) & (F.size(seen) <= 1))
        .select(
            *LIFE,
            F.coalesce("said", F.get(seen, 0), "made", shared).alias("client_id"),
            begun.alias("lived_from_ms"),
            until.alias("lived_until_ms"),
            (until < day.end_ms).alias("ended"),
        )
        .where("client_id IS NOT NULL")
    )


def logged_holdings(events: DataFrame, of_lives: DataFrame, opening: DataFrame, day: Day) -> DataFrame:
    """From ADDED to REMOVED, DROPPED or the end of the consumer's life.

    Columns: those of `QUEUE`, `client_id`, `process`, `valid_from_ms`, `valid_until_ms`.
    """
    changes = events.where("event IN ('ADDED', 'REMOVED', 'DROPPED')").select(
        *LIFE, *QUEUE[1:], *_ORDER, (F.col("event") == "ADDED").alias("is_held")
    )
    nothing = {"incarnation": 0, "life": 0, "at_ms": day.start_ms, "split": -1, "row": -1}
    stood = opening.select("process", *QUEUE).withColumns(
        {**{name: F.lit(value) for name, value in nothing.items()}, "file": F.lit(""), "is_held": F.lit(True)}
    )
    of_queue = Window.partitionBy(*LIFE, *QUEUE[1:]).orderBy(*_ORDER)
    all_changes = changes.unionByName(stood)
    was_held = F.coalesce(F.lag("is_held").over(of_queue), F.lit(False))
    turns = all_changes.withColumn("was_held", was_held).where("is_held <> was_held")
    held = turns.withColumn("next_ms", F.lead("at_ms").over(of_queue)).where("is_held")
    return held.join(of_lives, list(LIFE)).select(
        *QUEUE,
        "client_id",
        "process",
        F.col("at_ms").alias("valid_from_ms"),
        F.least(F.coalesce("next_ms", "lived_until_ms"), "lived_until_ms").alias("valid_until_ms"),
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
