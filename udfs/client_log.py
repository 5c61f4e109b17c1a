"""Lines of `rocketmq_client.log`: when they were written, and their events of queue ownership."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from udfs.releases import holds
from udfs.version import version_number

# 4.3 to 5.0: `2026-11-21 00:43:37,370 INFO RocketmqClient - …`; 5.1 on: `….370 INFO  [pid] [thread] [class] - …`.
_HEAD = r"^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)([,.])(\d{3}) +[A-Z]+ "
# Lengths are bounded: a pattern that may start at each character and run to the end is quadratic in the line.
_QUEUE = r"MessageQueue \[topic=([^,\]]{0,512}), brokerName=([^,\]]{0,512}), queueId=(-?\d{1,10})\]"
_SHANGHAI_MS = 28_800_000  # 5.1.0 and later write GMT+8 everywhere

INSTANCE_PATTERN = r"^Created a new client Instance, InstanceIndex:(\d+), ClientID:(.*?), ClientConfig"
"""A client id of the process that writes the log: its number there, and the id."""
QUEUE_EVENTS = ("ADDED", "REMOVED", "DROPPED", "LOCK_FAILED", "OFFSET_UNKNOWN")
"""Events of one queue."""
EVENTS = (*QUEUE_EVENTS, "ALLOCATED", "STARTED", "READY", "STOPPED", "INSTANCE", "INSTANCE_STOPPED")

# Event → pattern, its groups in the order of `_GROUPS`. RebalanceImpl, DefaultMQPushConsumerImpl, MQClientManager,
# MQClientInstance of 4.7.1, 4.9.8 and 5.3.3.
_PATTERNS = {
    "ADDED": rf"^doRebalance, ([^,]*), add a new (?:pop )?mq, {_QUEUE}$",
    # 5.x logs `try remove` before, and `remove` once it is done; 4.x only the latter.
    "REMOVED": r"^(?:\[BUG\])?doRebalance, ([^,]*), (?:truncateMessageQueueNotMyTopic )?remove unnecessary (?:pop )?mq,"
    rf" {_QUEUE}(?:, because pull is pause.*)?$",
    "DROPPED": rf"^the pull request offset illegal, PullRequest \[consumerGroup=([^,]*), messageQueue={_QUEUE}",
    "LOCK_FAILED": rf"^doRebalance, ([^,]*), add a new mq failed, {_QUEUE}, because lock failed$",
    # The broker did not return the group's offset, so the queue is not taken; also for an unknown broker.
    "OFFSET_UNKNOWN": rf"^doRebalance, ([^,]*), (?:add new mq failed|compute offset failed), {_QUEUE}$",
    "ALLOCATED": r"^(?:client |broker )?rebalanced result changed\. allocateMessageQueueStrategyName=([^,]*),"
    r" group=([^,]*), topic=([^,]*), clientId=(.*?), (?:mqAllSize=(\d+), cidAllSize=(\d+), |assignmentSet=)",
    "STARTED": r"^the consumer \[(.*)\] start beginning\.",
    # DefaultLitePullConsumerImpl logs nothing when it begins; the push consumer's `start OK.` has a full stop.
    "READY": r"^the consumer \[(.*)\] start OK$",
    "STOPPED": r"^the consumer \[(.*)\] shutdown OK$",
    "INSTANCE": INSTANCE_PATTERN,
    "INSTANCE_STOPPED": r"^the client factory \[(.*)\] shutdown OK$",
}
_GROUPS = {
    **dict.fromkeys(QUEUE_EVENTS, ("consumer_group", "topic", "broker_name", "queue_id")),
    "ALLOCATED": ("strategy", "consumer_group", "topic", "client_id", "queues", "clients"),
    "STARTED": ("consumer_group",),
    "READY": ("consumer_group",),
    "STOPPED": ("consumer_group",),
    "INSTANCE": ("instance", "client_id"),
    "INSTANCE_STOPPED": ("client_id",),
}
_OF_A_QUEUE = (
    r"doRebalance, .{0,512}(?:add a? ?new (?:pop )?mq|remove unnecessary (?:pop )?mq,|compute offset failed)"
    r"|pull request offset illegal, P"
)
_WHOLE_RESULT = r"(?:=\[\]|\]\])$"
_TWO_RESULTS = r"rebalanced result changed\..*rebalanced result changed\."
_ANY = (
    rf"{_OF_A_QUEUE}|rebalanced result changed\.| - the consumer \[| - Created a new client Instance,"
    r"| - the client factory \["
)
_FIELDS = {
    "consumer_group": "string",
    "topic": "string",
    "broker_name": "string",
    "queue_id": "int",
    "client_id": "string",
    "strategy": "string",
    "queues": "int",
    "clients": "int",
    "instance": "int",
}


def is_log_line(raw: Column) -> Column:
    """Whether a line begins an entry; others, such as stack traces, continue the entry before."""
    return raw.rlike(_HEAD)


def logged_at_ms(raw: Column, client_version: Column, time_zone: Column) -> Column:
    """Epoch ms of the line; null when its date is invalid.

    Clients of 4.3 to 5.0 write the JVM's zone (`time_zone`, UTC when null) and a comma before the milliseconds; those
    of 5.1 and later GMT+8 and a dot. From 4.3.0 to 4.7.1 (by `client_version`) only the second is known: the middle of
    it is returned.
    """

    def part(group: int) -> Column:
        return F.regexp_extract(raw, _HEAD, group)

    local = F.try_to_timestamp(part(1), F.lit("yyyy-MM-dd HH:mm:ss"))
    millis = part(3).try_cast("bigint")
    only_seconds = F.coalesce(holds("log_repeats_seconds", version_number(client_version)), F.lit(False))
    in_shanghai = F.unix_millis(local) - _SHANGHAI_MS + millis
    in_zone = F.unix_millis(F.to_utc_timestamp(local, F.coalesce(time_zone, F.lit("UTC"))))
    return F.when(part(2) == ".", in_shanghai).otherwise(in_zone + F.when(only_seconds, F.lit(500)).otherwise(millis))


def ownership_message(raw: Column) -> Column:
    """The message of a line that may be about ownership, null for all others."""
    return F.when(raw.rlike(_ANY), message_of(raw))


def message_of(raw: Column) -> Column:
    """The message of a line: the first ` - ` ends the head; a message may hold more of them."""
    return F.regexp_extract(raw, r"^.*? - (.*)$", 1)


def log_event(message: Column) -> Column:
    """One of `EVENTS`, null for other messages.

    DROPPED: the offset is illegal, and the queue goes without a line of its own. LOCK_FAILED, OFFSET_UNKNOWN: why a
    queue was not taken. ALLOCATED: the client's own result, written only when it changed what the client owns.
    READY: a lite pull consumer has started, after its INSTANCE; others log STARTED before it. INSTANCE: a client id
    of this process. INSTANCE_STOPPED: no longer used; its last consumer logs STOPPED next.
    """
    return F.coalesce(*(F.when(message.rlike(_PATTERNS[event]), F.lit(event)) for event in EVENTS))


def is_damaged(message: Column, event: Column) -> Column:
    """Whether the message is about a queue or a result, but is truncated or runs into another one."""
    of_a_queue = event.isNull() & message.rlike(_OF_A_QUEUE) & ~message.rlike("try remove unnecessary")
    is_whole = message.rlike(_WHOLE_RESULT) & ~message.rlike(_TWO_RESULTS)
    return of_a_queue | (message.rlike(r"rebalanced result changed\.") & ~is_whole)


def event_fields(message: Column, event: Column) -> dict[str, Column]:
    """Fields of the message, null where it has none.

    `consumer_group`, `topic`, `broker_name`, `queue_id`, `client_id`, `strategy` (its name in RocketMQ), `queues` and
    `clients` (sizes of the lists it allocated from), `instance` (0 = the first of a process), `popped`.
    """
    fields = {
        name: F.coalesce(
            *(
                F.when(event == each, F.regexp_extract(message, _PATTERNS[each], groups.index(name) + 1))
                for each, groups in _GROUPS.items()
                if name in groups
            )
        ).try_cast(of)
        for name, of in _FIELDS.items()
    }
    popped = F.when(event.isin(*QUEUE_EVENTS), message.rlike(r"^[^\[]* pop mq, "))
    return {**fields, "popped": popped}


def allocated_queues(message: Column, event: Column) -> Column:
    """The queues of an ALLOCATED message: array of `broker_name`, `queue_id`; null for other events.

    A client writes its whole result, with all queues of the topic before it: only `rebalanceResultSet` counts.
    """
    result = F.regexp_extract(message, r"(?:rebalanceResultSet|assignmentSet)=(.*)$", 1)
    queues = F.transform(
        F.regexp_extract_all(result, F.lit(_QUEUE), F.lit(0)),
        lambda text: F.struct(
            F.regexp_extract(text, _QUEUE, 2).alias("broker_name"),
            F.regexp_extract(text, _QUEUE, 3).try_cast("int").alias("queue_id"),
        ),
    )
    return F.when(event == "ALLOCATED", queues)
