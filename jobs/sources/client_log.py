"""Client logs: the lines of `rocketmq_client.log` that tell which queues a consumer took and gave up."""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from udfs.version import version_number

_HEAD = r"^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)([,.])(\d{3}) +[A-Z]+ +"
_QUEUE = r"MessageQueue \[topic=([^,\]]*), brokerName=([^,\]]*), queueId=(-?\d+)\]"
_RESULT = r"(?:client |broker )?rebalanced result changed\. allocateMessageQueueStrategyName=([^,]*), group=([^,]*), "
_SHANGHAI_MS = 28_800_000  # 5.1.0 on writes GMT+8 wherever it runs
_FAKE_MS = (40300, 40701)  # DefaultLayout wrote the seconds twice instead of the milliseconds
_DAY_MS = 86_400_000

# Event → pattern of its message: group, topic, broker, queue where there is a queue; else group or client id.
_OF_QUEUE = {
    "ADDED": rf"doRebalance, (.*?), add a new (?:pop )?mq, {_QUEUE}$",
    # 5.x says `try remove` before, and again `remove` once it is done; 4.x only the former without `try`.
    "REMOVED": rf"(?:\[BUG\])?doRebalance, (.*?), (?:truncateMessageQueueNotMyTopic )?remove unnecessary (?:pop )?mq,"
    rf" {_QUEUE}(?:, because pull is pause.*)?$",
    "DROPPED": rf"the pull request offset illegal, PullRequest \[consumerGroup=(.*?), messageQueue={_QUEUE}",
    "LOCK_FAILED": rf"doRebalance, (.*?), add a new mq failed, {_QUEUE}, because lock failed$",
}
_OF_GROUP = {
    "STARTED": r"the consumer \[(.*)\] start beginning\.",
    "STOPPED": r"the consumer \[(.*)\] shutdown OK$",
}
_ALLOCATED = rf"{_RESULT}topic=([^,]*), clientId=(.*?), (?:mqAllSize=(\d+), cidAllSize=(\d+), |assignmentSet=)"
_LIST_FAILED = r"doRebalance, (\S+) (\S+), get consumer id list failed$"
_INSTANCE = r"Created a new client Instance, InstanceIndex:(\d+), ClientID:(.*?), ClientConfig"


def log_events(lines: DataFrame) -> DataFrame:
    """One row per line that tells of ownership, and one per file and UTC day for its last line.

    Columns: `at_ms` (epoch ms), `file`, `row`, `event`, `consumer_group`, `topic`, `broker_name`, `queue_id`,
    `popped`, `client_id`, `strategy`, `mq_all_size`, `cid_all_size`, `queues` (array of `broker_name`, `queue_id`);
    what the line does not tell is null; `client_id` is the setting's where there is one.

    Events: ADDED, REMOVED, DROPPED (offset illegal: no line tells of the removal as such), LOCK_FAILED, ALLOCATED
    (computed result, written only when the owned queues changed), GROUP_LIST_FAILED, STARTED and STOPPED of a
    consumer, INSTANCE (a client id in this process; `INSTANCE_0` the first of a process), LAST_LINE.

    Clients of 4.3 to 5.0 write the JVM's zone (`time_zone`, UTC when null) and a comma; those of 5.1 on GMT+8 and a
    dot. From 4.3.0 to 4.7.1 (by `client_version`) only the second is known: `at_ms` is its middle.

    Args:
        lines: `file`, `split`, `row`, `raw`, `client_version`, `time_zone`, `client_id`.
    """
    raw = F.col("raw")
    dated = lines.where(raw.rlike(_HEAD)).withColumn("at_ms", _at_ms()).where("at_ms IS NOT NULL")
    day = F.floor(F.col("at_ms") / _DAY_MS)
    last = dated.groupBy("file", day.alias("day")).agg(
        F.max("at_ms").alias("at_ms"), F.max("row").alias("row"), F.first("client_id").alias("client_id")
    )
    # Cheap and greedy first: most lines end here.
    message = F.regexp_extract(
        raw, r" - ((?:\[BUG\])?doRebalance, .*|the .*|(?:client |broker )?rebalanced .*|Created .*)", 1
    )
    told = dated.withColumn("message", F.regexp_replace(message, r"\r$", "")).where("message <> ''")
    event = reduce(
        lambda so_far, each: so_far.when(F.col("message").rlike(f"^{each[1]}"), F.lit(each[0])),
        {**_OF_QUEUE, **_OF_GROUP, "ALLOCATED": _ALLOCATED, "GROUP_LIST_FAILED": _LIST_FAILED}.items(),
        F.when(F.col("message").rlike("^Created a new client Instance, InstanceIndex:0,"), F.lit("INSTANCE_0")).when(
            F.col("message").rlike(f"^{_INSTANCE}"), F.lit("INSTANCE")
        ),
    )
    found = told.withColumn("event", event).where("event IS NOT NULL").select("at_ms", "file", "row", *_fields())
    nothing = [F.lit(None).cast(of.dataType).alias(of.name) for of in found.schema.fields[4:] if of.name != "client_id"]
    ends = last.select("at_ms", "file", "row", F.lit("LAST_LINE").alias("event"), "client_id", *nothing)
    return found.unionByName(ends)


def _at_ms() -> Column:
    def part(group: int) -> Column:
        return F.regexp_extract("raw", _HEAD, group)

    local = F.try_to_timestamp(part(1), F.lit("yyyy-MM-dd HH:mm:ss"))
    zone = F.coalesce(F.nullif(F.trim("time_zone"), F.lit("")), F.lit("UTC"))
    millis = part(3).try_cast("bigint")
    is_fake = F.coalesce(version_number(F.col("client_version")).between(*_FAKE_MS), F.lit(False))
    fixed = F.unix_millis(local) - _SHANGHAI_MS + millis
    in_zone = F.unix_millis(F.to_utc_timestamp(local, zone)) + F.when(is_fake, F.lit(500)).otherwise(millis)
    return F.when(part(2) == ".", fixed).otherwise(in_zone)


def _fields() -> list[Column]:
    event, message = F.col("event"), F.col("message")

    def of(events: dict[str, int], patterns: dict[str, str]) -> Column:
        """The group of the event's own pattern; null for events that are not named."""
        return F.coalesce(
            *(F.when(event == name, F.regexp_extract(message, patterns[name], group)) for name, group in events.items())
        )

    every = {
        **_OF_QUEUE,
        **_OF_GROUP,
        "ALLOCATED": _ALLOCATED,
        "GROUP_LIST_FAILED": _LIST_FAILED,
        "INSTANCE": _INSTANCE,
        "INSTANCE_0": _INSTANCE,
    }
    queued = dict.fromkeys(_OF_QUEUE, 2)
    others = dict.fromkeys((*_OF_QUEUE, *_OF_GROUP, "GROUP_LIST_FAILED"), 1)
    client_id = of({"ALLOCATED": 4, "INSTANCE": 2, "INSTANCE_0": 2}, every)
    result = F.when(
        event == "ALLOCATED",
        F.transform(
            F.regexp_extract_all(message, F.lit(_QUEUE), F.lit(0)),
            lambda text: F.struct(
                F.regexp_extract(text, _QUEUE, 2).alias("broker_name"),
                F.regexp_extract(text, _QUEUE, 3).try_cast("int").alias("queue_id"),
            ),
        ),
    )
    return [
        event,
        F.coalesce("client_id", client_id).alias("client_id"),
        of({**others, "ALLOCATED": 2}, every).alias("consumer_group"),
        of({**queued, "ALLOCATED": 3, "GROUP_LIST_FAILED": 2}, every).alias("topic"),
        of(dict.fromkeys(_OF_QUEUE, 3), every).alias("broker_name"),
        of(dict.fromkeys(_OF_QUEUE, 4), every).try_cast("int").alias("queue_id"),
        F.when(event.isin(*_OF_QUEUE), message.rlike(r"^[^\[]* pop mq, ")).alias("popped"),
        of({"ALLOCATED": 1}, every).alias("strategy"),
        of({"ALLOCATED": 5}, every).try_cast("int").alias("mq_all_size"),
        of({"ALLOCATED": 6}, every).try_cast("int").alias("cid_all_size"),
        result.alias("queues"),
    ]
