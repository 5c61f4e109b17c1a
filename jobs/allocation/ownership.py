"""Who really owned which queue, and when: as consumers answered when asked, and as their logs tell."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.day import Day

QUEUE = ("consumer_group", "topic", "broker_name", "queue_id")
ROW = ("valid_from_ms", "valid_until_ms", *QUEUE, "client_id", "source", "process", "popped", "owners")
_SILENCE_MS = 60_000  # a client that lives writes statistics each minute


def queue_ownership(
    running_info: DataFrame,
    log_events: DataFrame,
    day: Day,
    opening: DataFrame | None = None,
    *,
    max_staleness_ms: int = 300_000,
) -> DataFrame:
    """The table's rows, without day and cluster: what each source tells, side by side.

    Args:
        running_info: as `running_info` returns it.
        log_events: as `log_events` returns it.
        day: what to publish; stretches are cut at its ends.
        opening: rows of the day before that reach 24:00; events before the day are then left out.
        max_staleness_ms: how long an answer holds when no later one of its client comes.
    """
    answered = owned_by_answers(running_info, day, opening, max_staleness_ms)
    return answered.unionByName(owned_by_logs(log_events, day, opening)).where("valid_until_ms > valid_from_ms")


def owned_by_answers(running_info: DataFrame, day: Day, opening: DataFrame | None, max_staleness_ms: int) -> DataFrame:
    """From the first answer that shows a queue to the first later one of the client that does not, or staleness."""
    client = ("consumer_group", "client_id")
    answers = running_info.where("is_answer").where(F.col("captured_at_ms") < day.end_ms)
    if opening is not None:
        answers = answers.where(F.col("captured_at_ms") >= day.start_ms)
    one = answers.groupBy(*client, "captured_at_ms").agg(F.max_by("queues", F.to_json("queues")).alias("queues"))
    in_time = Window.partitionBy(*client).orderBy("captured_at_ms")
    stale_ms = F.col("captured_at_ms") + max_staleness_ms
    until = F.least(F.coalesce(F.lead("captured_at_ms").over(in_time), stale_ms), stale_ms)
    held = one.withColumn("until_ms", until).withColumn("queue", F.explode("queues"))
    pieces = held.select(
        "captured_at_ms", "until_ms", *client, "queue.topic", "queue.broker_name", "queue.queue_id", "queue.popped"
    )
    if opening is not None:
        first = answers.groupBy(*client).agg(F.min("captured_at_ms").alias("first_ms"))
        before = opening.where("source = 'RUNNING_INFO'").join(first, [*client], "left")
        stood = before.withColumn("captured_at_ms", F.lit(day.start_ms)).withColumn(
            "until_ms", F.least(F.coalesce("first_ms", F.lit(day.start_ms)), F.lit(day.start_ms + max_staleness_ms))
        )
        pieces = pieces.unionByName(stood.select(*pieces.columns))
    of_queue = Window.partitionBy(*QUEUE, "client_id", "popped").orderBy("captured_at_ms")
    begins = ~F.coalesce(F.col("captured_at_ms") <= F.lag("until_ms").over(of_queue), F.lit(False))
    so_far = of_queue.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    numbered = pieces.withColumn("begins", begins.cast("int")).withColumn("number", F.sum("begins").over(so_far))
    merged = numbered.groupBy(*QUEUE, "client_id", "popped", "number").agg(
        F.min("captured_at_ms").alias("from_ms"), F.max("until_ms").alias("until_ms")
    )
    return _row(merged, day, source="RUNNING_INFO", process=F.lit(None).cast("string"), owners=F.lit(1)).select(*ROW)


def owned_by_logs(log_events: DataFrame, day: Day, opening: DataFrame | None) -> DataFrame:
    """From ADDED to REMOVED, DROPPED, the consumer's end or the process's; else to the file's last line of the day.

    Where several clients of one group write one log, no line tells whose a queue is: `client_id` is null and
    `owners` counts adds minus removes; only the end of all of them ends what is open. A next process in the same
    file ends what the one before held, at the time of the new start: its own end is not logged.
    """
    events = log_events.withColumn("process", _process()).where(F.col("at_ms") < day.end_ms)
    if opening is not None:
        events = events.where(F.col("at_ms") >= day.start_ms)
    clients = _clients(log_events.withColumn("process", _process()))
    order = ("at_ms", "file", "row")
    changes = events.where("event IN ('ADDED', 'REMOVED', 'DROPPED')").select(
        "process", *QUEUE, "popped", *order, F.when(F.col("event") == "ADDED", 1).otherwise(-1).alias("step")
    )
    if opening is not None:
        stood = opening.where("source = 'CLIENT_LOG'").select(
            "process",
            *QUEUE,
            "popped",
            F.lit(day.start_ms).alias("at_ms"),
            F.lit("").alias("file"),
            F.lit(-1).cast("bigint").alias("row"),
            F.col("owners").alias("step"),
        )
        changes = changes.unionByName(stood)
    ends = _ends(events, clients).join(
        changes.select("process", *QUEUE, "popped").distinct(), ["process", "consumer_group"]
    )
    steps = changes.unionByName(ends.select(*changes.columns)).join(clients, ["process", "consumer_group"], "left")
    of_queue = Window.partitionBy("process", *QUEUE, "popped").orderBy(*order)
    so_far = of_queue.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    is_end = F.col("step") == 0
    epochs = steps.withColumn("epoch", F.sum(is_end.cast("int")).over(so_far))
    in_epoch = Window.partitionBy("process", *QUEUE, "popped", "epoch").orderBy(*order)
    so_far_in_epoch = in_epoch.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    counted = epochs.withColumn("sum", F.sum("step").over(so_far_in_epoch))
    floor = F.least(F.min("sum").over(so_far_in_epoch), F.lit(0))
    one = F.greatest("step", F.lit(0)).cast("bigint")
    owners = F.when(F.col("is_alone"), F.least(one, F.lit(1))).otherwise(F.col("sum") - floor)
    owned = counted.withColumn("owners", owners.cast("int"))
    before = F.coalesce(F.lag("owners").over(of_queue), F.lit(0))
    changed = owned.withColumn("before", before).where("owners <> before")
    return _until_the_end(changed, events, of_queue, day)


def _until_the_end(changed: DataFrame, events: DataFrame, of_queue: object, day: Day) -> DataFrame:
    last = events.groupBy("process").agg(F.max("at_ms").alias("last_ms"))
    lives_on = F.coalesce(F.col("last_ms") >= day.end_ms - _SILENCE_MS, F.lit(False))
    end = F.when(lives_on, F.lit(day.end_ms)).otherwise(F.coalesce("last_ms", F.lit(day.start_ms)))
    next_ms = F.lead("at_ms").over(of_queue)  # type: ignore[arg-type]
    held = changed.withColumn("next_ms", next_ms).join(last, "process", "left").where("owners > 0")
    rows = held.withColumns({"from_ms": F.col("at_ms"), "until_ms": F.coalesce("next_ms", end)})
    return _row(rows, day, source="CLIENT_LOG", process=F.col("process"), owners=F.col("owners")).select(*ROW)


def _ends(events: DataFrame, clients: DataFrame) -> DataFrame:
    """Ends of everything of a (process, group): its only client stopped, its last one did, or a new process began."""
    starts = events.where("event IN ('STARTED', 'STOPPED')").join(clients, ["process", "consumer_group"], "left")
    in_order = Window.partitionBy("process", "consumer_group").orderBy("at_ms", "file", "row")
    so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    alive = F.sum(F.when(F.col("event") == "STARTED", 1).otherwise(-1)).over(so_far)
    none_left = (F.col("event") == "STOPPED") & (F.col("is_alone") | (F.col("alive") <= 0))
    stops = starts.withColumn("alive", alive).where(none_left)
    births = (
        events.where("event = 'INSTANCE_0'")
        .drop("consumer_group")
        .join(clients.select("process", "consumer_group"), "process")
    )
    columns = ("process", "consumer_group", "at_ms", "file", "row", F.lit(0).alias("step"))
    return stops.select(*columns).unionByName(births.select(*columns))


def _clients(events: DataFrame) -> DataFrame:
    """`process`, `consumer_group` → `owner_id`, `is_alone`: the one client, by its results, else by the process."""
    told = F.collect_set(F.when(F.col("event") == "ALLOCATED", F.col("client_id")))
    # Only a setting gives these lines a client.
    said = F.max(F.when(~F.col("event").isin("ALLOCATED", "INSTANCE", "INSTANCE_0"), F.col("client_id")))
    groups = events.where("consumer_group IS NOT NULL").groupBy("process", "consumer_group")
    instances = events.where("event IN ('INSTANCE', 'INSTANCE_0')").groupBy("process")
    ids = groups.agg(told.alias("told"), said.alias("said")).join(
        instances.agg(F.collect_set("client_id").alias("created")), "process", "left"
    )
    only = F.when(F.size("told") == 1, F.get("told", 0)).when(
        (F.size("told") == 0) & (F.size("created") == 1), F.get("created", 0)
    )
    owner = F.coalesce("said", only)
    return ids.select("process", "consumer_group", owner.alias("owner_id"), owner.isNotNull().alias("is_alone"))


def _process() -> Column:
    """The log that a process wrote, without the names that rolling gives its older parts."""
    rolled = r"(?:other_days/)?(rocketmq_client)(?:[-.][-.0-9]+)?\.log(?:\.\d+)?(?:\.gz)?$"
    return F.regexp_replace("file", rolled, "$1.log")


def _row(rows: DataFrame, day: Day, *, source: str, process: Column, owners: Column) -> DataFrame:
    client_id = F.col("owner_id") if source == "CLIENT_LOG" else F.col("client_id")
    return rows.withColumns(
        {
            "valid_from_ms": F.greatest("from_ms", F.lit(day.start_ms)),
            "valid_until_ms": F.least("until_ms", F.lit(day.end_ms)),
            "client_id": client_id,
            "source": F.lit(source),
            "process": process,
            "owners": owners,
        }
    )
