"""Parses messages of client logs into events of queue ownership."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

# Lengths are bounded: a pattern that may start at each character and run to the end is quadratic in the line.
_QUEUE = r"MessageQueue \[topic=([^,\]]{0,512}), brokerName=([^,\]]{0,512}), queueId=(-?\d{1,10})\]"

INSTANCE_PATTERN = r"^Created a new client Instance, InstanceIndex:(\d+), ClientID:(.*?), ClientConfig"
"""A client id of the process that writes the log: its number there, and the id."""
QUEUE_EVENTS = ("ADDED", "REMOVED", "DROPPED", "LOCK_FAILED", "OFFSET_UNKNOWN", "PULL_ENDED")
"""Events of one queue."""
EVENTS = (
    *QUEUE_EVENTS,
    *("ALLOCATED", "STARTED", "READY", "STOPPED", "INSTANCE", "INSTANCE_STOPPED"),
    *("UNREGISTERED", "RESET", "SUSPENDED", "RESUMED", "NAMED"),
)

NAMING = ("INSTANCE", "INSTANCE_STOPPED", "NAMED")
"""Events that only mention a client."""

# Event → pattern, its groups in the order of `_GROUPS`. RebalanceImpl, DefaultMQPushConsumerImpl, MQClientManager,
# MQClientInstance of 4.7.1, 4.9.8 and 5.3.3.
_PATTERNS = {
    "ADDED": rf"^doRebalance, ([^,]*), add a new (?:pop )?mq, {_QUEUE}$",
    # 5.x logs `try remove` before, and `remove` once it is done; 4.x only the latter.
    "REMOVED": r"^(?:\[BUG\])?doRebalance, ([^,]*), (?:truncateMessageQueueNotMyTopic )?remove unnecessary (?:pop )?mq,"
    rf" {_QUEUE}(?:, because pull is pause.*)?$",
    "DROPPED": rf"^the pull request offset illegal, PullRequest \[consumerGroup=([^,]*), messageQueue={_QUEUE}",
    "LOCK_FAILED": rf"^doRebalance, ([^,]*), add a new mq failed, {_QUEUE}, because lock failed$",
    # The broker did not return the group's offset, or is unknown, so the queue is not taken.
    "OFFSET_UNKNOWN": rf"^doRebalance, ([^,]*), (?:add new mq failed|compute offset failed), {_QUEUE}$",
    "ALLOCATED": r"^(?:client |broker )?rebalanced result changed\. allocateMessageQueueStrategyName=([^,]*),"
    r" group=([^,]*), topic=([^,]*), clientId=(.*?), (?:mqAllSize=(\d+), cidAllSize=(\d+), |assignmentSet=)",
    "STARTED": r"^the consumer \[(.*)\] start beginning\.",
    # DefaultLitePullConsumerImpl logs nothing when it starts; the push consumer's `start OK.` has a full stop.
    "READY": r"^the consumer \[(.*)\] start OK$",
    "STOPPED": r"^the consumer \[(.*)\] shutdown OK$",
    "INSTANCE": INSTANCE_PATTERN,
    "INSTANCE_STOPPED": r"^the client factory \[(.*)\] shutdown OK$",
    # A consumer that stops takes leave of each broker; the process may end before STOPPED is written.
    "UNREGISTERED": r"^unregister client\[Producer: .{0,512}? Consumer: (?!null\])([^\]]*)\] from broker\[",
    # An administrator resets the offset: the client suspends the group, drops queues, waits 10 s and takes them again.
    "RESET": r"^invoke reset offset operation from broker\. brokerAddr=.*?, topic=([^,]*), group=([^,]*), timestamp=",
    "SUSPENDED": r"^suspend this consumer, (.*)$",
    "RESUMED": r"^resume this consumer, (.*)$",
    "PULL_ENDED": rf"^the pull request\[PullRequest \[consumerGroup=([^,]*), messageQueue={_QUEUE}.*\]\] is dropped\.$",
    # RemoteBrokerOffsetStore, every minute.
    "NAMED": r"^\[persistAll\] Group: (.*?) ClientId: (.*?) updateConsumeOffsetToBroker ",
}
_GROUPS = {
    **dict.fromkeys(QUEUE_EVENTS, ("consumer_group", "topic", "broker_name", "queue_id")),
    "ALLOCATED": ("strategy", "consumer_group", "topic", "client_id", "queues", "clients"),
    "STARTED": ("consumer_group",),
    "READY": ("consumer_group",),
    "STOPPED": ("consumer_group",),
    "INSTANCE": ("instance", "client_id"),
    "INSTANCE_STOPPED": ("client_id",),
    "UNREGISTERED": ("consumer_group",),
    "RESET": ("topic", "consumer_group"),
    "SUSPENDED": ("consumer_group",),
    "RESUMED": ("consumer_group",),
    "NAMED": ("consumer_group", "client_id"),
}
_OF_A_QUEUE = (
    r"doRebalance, .{0,512}(?:add a? ?new (?:pop )?mq|remove unnecessary (?:pop )?mq,|compute offset failed)"
    r"|pull request offset illegal, P"
)
_WHOLE_RESULT = r"(?:=\[\]|\]\])$"
_TWO_RESULTS = r"rebalanced result changed\..*rebalanced result changed\."
_ANY = (
    rf"{_OF_A_QUEUE}|rebalanced result changed\."
    r"|^(?:the consumer \[|Created a new client Instance,|the client factory \[|unregister client\["
    r"|invoke reset offset operation |suspend this consumer, |resume this consumer, "
    r"|the pull request\[|\[persistAll\] Group: )"
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


def ownership_message(message: Column) -> Column:
    """The message if it may be about ownership, else null."""
    return F.when(message.rlike(_ANY), message)


def log_event(message: Column) -> Column:
    """One of `EVENTS`; null for other messages.

    DROPPED: the offset is illegal, and the queue is removed without its own line. LOCK_FAILED, OFFSET_UNKNOWN: why a
    queue was not taken. RESET: an administrator resets the group's offset of a topic; the client drops queues, without
    a line, between SUSPENDED and RESUMED. PULL_ENDED: it stops pulling from a queue that it gave up in any way.
    ALLOCATED: the client's own result, logged only if it changed the client's queues. READY: a lite pull consumer has
    started, after its INSTANCE; others log STARTED before it. INSTANCE: a client id of this process.
    INSTANCE_STOPPED: the client stops; its last consumer logs STOPPED next. UNREGISTERED: a consumer begins to stop.
    NAMED: the client is running.
    """
    return F.coalesce(*(F.when(message.rlike(_PATTERNS[event]), F.lit(event)) for event in EVENTS))


def is_damaged(message: Column, event: Column) -> Column:
    """Whether the message is about a queue or a result, but is truncated or runs into another one."""
    of_a_queue = event.isNull() & message.rlike(_OF_A_QUEUE) & ~message.rlike("try remove unnecessary")
    is_whole = message.rlike(_WHOLE_RESULT) & ~message.rlike(_TWO_RESULTS)
    return of_a_queue | (message.rlike(r"rebalanced result changed\.") & ~is_whole)


def event_fields(message: Column, event: Column) -> dict[str, Column]:
    """Fields of the message; null if it has none.

    `consumer_group`, `topic`, `broker_name`, `queue_id`, `client_id`, `strategy` (its name in RocketMQ), `queues` and
    `clients` (sizes of the lists it allocated from), `instance` (0 = the first of a process), `popped`.
    """
    fields = {
        name: F.coalesce(
            *(
                F.when(event == event_name, F.regexp_extract(message, _PATTERNS[event_name], groups.index(name) + 1))
                for event_name, groups in _GROUPS.items()
                if name in groups
            )
        ).try_cast(of)
        for name, of in _FIELDS.items()
    }
    popped = F.when(event.isin(*QUEUE_EVENTS), message.rlike(r"^[^\[]* pop mq, "))
    return {**fields, "popped": popped}


def allocated_queues(message: Column, event: Column) -> Column:
    """The queues of an ALLOCATED message: array of `broker_name`, `queue_id`; null for other events.

    A client logs all queues of the topic and then its whole result: only `rebalanceResultSet` counts.
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
