"""The rules of client logs on lines of 4.7.1, 4.9.8 and 5.3.3: when each was written and what it tells."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from jobs.settings.model import Settings
from jobs.sources.client_log import read_client_logs
from jobs.sources.files import list_files
from tests.given.rules import assert_rule
from udfs.client_log import (
    EVENTS,
    allocated_queues,
    event_fields,
    is_damaged,
    log_event,
    ownership_message,
)
from udfs.log_layouts import head_of, part_of

OLD = "2026-03-01 12:00:00,250 INFO RocketmqClient - "
NEW = "2026-03-01 20:00:00.250 INFO  [71] [RebalanceService] [o.a.r.c.i.c.RebalanceImpl#?:?] - "
QUEUE = "MessageQueue [topic=T, brokerName=a, queueId=1]"
OF_QUEUE = {"consumer_group": "G", "topic": "T", "broker_name": "a", "queue_id": 1, "popped": False}
ALL = "allocateMessageQueueStrategyName=AVG, group=G, topic=T, clientId=10.0.0.1@7"
OF_RESULT = {"strategy": "AVG", "consumer_group": "G", "topic": "T", "client_id": "10.0.0.1@7"}
OF_ALL = {**OF_RESULT, "queues": 12, "clients": 3}
ODD = "MessageQueue [topic=%RETRY%g-1|x_2, brokerName=IDC1@broker a.b:1, queueId=-1]"
OF_ODD = {"topic": "%RETRY%g-1|x_2", "broker_name": "IDC1@broker a.b:1", "queue_id": -1}
LONG = f"MessageQueue [topic={'t' * 512}, brokerName={'b' * 512}, queueId=2147483647]"
LONGER = [LONG.replace("=t", "=tt"), LONG.replace("=b", "=bb")]
OF_LONG = {"topic": "t" * 512, "broker_name": "b" * 512, "queue_id": 2_147_483_647}
REMOVED, LOCK_FAILED, OFFSET_UNKNOWN, ILLEGAL = (
    f"doRebalance, G, remove unnecessary mq, {QUEUE}",
    f"doRebalance, G, add a new mq failed, {QUEUE}, because lock failed",
    f"doRebalance, G, add new mq failed, {QUEUE}",
    f"the pull request offset illegal, PullRequest [consumerGroup=G, messageQueue={QUEUE}",
)

TOLD: list[tuple[str, str, dict[str, Any]]] = [
    (
        f"{NEW}unregister client[Producer: null Consumer: G] from broker[broker-c 0 127.0.0.1:49065] success",
        "UNREGISTERED",
        {"consumer_group": "G"},
    ),
    (f"{OLD}doRebalance, G, add a new mq, {QUEUE}", "ADDED", OF_QUEUE),
    (f"{NEW}doRebalance, G, add a new mq, {QUEUE}", "ADDED", OF_QUEUE),
    (f"{NEW}doRebalance, G, add a new pop mq, {QUEUE}", "ADDED", {**OF_QUEUE, "popped": True}),
    (
        f"{NEW}doRebalance, NS%g|1_x-2, add a new mq, {ODD}",
        "ADDED",
        {**OF_QUEUE, **OF_ODD, "consumer_group": "NS%g|1_x-2"},
    ),
    (f"{OLD}doRebalance, G, add a new mq, {LONG}", "ADDED", {**OF_QUEUE, **OF_LONG}),
    (
        f"{NEW}doRebalance, pop, add a new mq, {QUEUE.replace('T', 'pop')}",
        "ADDED",
        {**OF_QUEUE, "consumer_group": "pop", "topic": "pop"},
    ),
    (f"{OLD}doRebalance, G, remove unnecessary mq, {QUEUE}", "REMOVED", OF_QUEUE),
    (f"{NEW}doRebalance, G, remove unnecessary mq, {QUEUE}", "REMOVED", OF_QUEUE),
    (f"{NEW}doRebalance, G, remove unnecessary pop mq, {QUEUE}", "REMOVED", {**OF_QUEUE, "popped": True}),
    (
        f"{NEW}doRebalance, G, truncateMessageQueueNotMyTopic remove unnecessary pop mq, {QUEUE}",
        "REMOVED",
        {**OF_QUEUE, "popped": True},
    ),
    (f"{OLD}doRebalance, G, truncateMessageQueueNotMyTopic remove unnecessary mq, {QUEUE}", "REMOVED", OF_QUEUE),
    (
        f"{OLD}[BUG]doRebalance, G, remove unnecessary mq, {QUEUE}, because pull is pause, so try to fixed it",
        "REMOVED",
        OF_QUEUE,
    ),
    (
        (
            f"{OLD}the pull request offset illegal, PullRequest [consumerGroup=G, messageQueue={QUEUE}, nextOffset=6]"
            " PullResult [pullStatus=OFFSET_ILLEGAL, nextBeginOffset=0, minOffset=0, maxOffset=0, msgFoundList=0]"
        ),
        "DROPPED",
        OF_QUEUE,
    ),
    (
        (
            f"{NEW}the pull request offset illegal, PullRequest [consumerGroup=G, messageQueue={QUEUE}, nextOffset=6]"
            " PullResult [pullStatus=OFFSET_ILLEGAL, nextBeginOffset=0, minOffset=0, maxOffset=0, msgFoundList=0]"
        ),
        "DROPPED",
        OF_QUEUE,
    ),
    (f"{OLD}doRebalance, G, add a new mq failed, {QUEUE}, because lock failed", "LOCK_FAILED", OF_QUEUE),
    (f"{NEW}doRebalance, G, add a new mq failed, {QUEUE}, because lock failed", "LOCK_FAILED", OF_QUEUE),
    (f"{OLD}doRebalance, G, add new mq failed, {QUEUE}", "OFFSET_UNKNOWN", OF_QUEUE),
    (f"{NEW}doRebalance, G, compute offset failed, {QUEUE}", "OFFSET_UNKNOWN", OF_QUEUE),
    (
        (
            f"{OLD}rebalanced result changed. {ALL}, mqAllSize=12, cidAllSize=3, rebalanceResultSize=1,"
            f" rebalanceResultSet=[{QUEUE}]"
        ),
        "ALLOCATED",
        OF_ALL,
    ),
    (
        (
            f"{NEW}client rebalanced result changed. {ALL}, mqAllSize=12, cidAllSize=3, rebalanceResultSize=0,"
            " rebalanceResultSet=[]"
        ),
        "ALLOCATED",
        OF_ALL,
    ),
    (
        (
            f"{NEW}broker rebalanced result changed. {ALL},"
            f" assignmentSet=[MessageQueueAssignment [MessageQueue={QUEUE}, Mode=PULL]]"
        ),
        "ALLOCATED",
        OF_RESULT,
    ),
    (
        (
            f"{NEW}client rebalanced result changed. {ALL.replace('10.0.0.1@7', '😀客户, 端@a, b')}, mqAllSize=12,"
            " cidAllSize=3, rebalanceResultSize=0, rebalanceResultSet=[]"
        ),
        "ALLOCATED",
        {**OF_ALL, "client_id": "😀客户, 端@a, b"},
    ),
    (
        f"{OLD}the consumer [G] start beginning. messageModel=CLUSTERING, isUnitMode=false",
        "STARTED",
        {"consumer_group": "G"},
    ),
    (
        f"{NEW}the consumer [NS%g|1_x-2] start beginning. messageModel=BROADCASTING, isUnitMode=false",
        "STARTED",
        {"consumer_group": "NS%g|1_x-2"},
    ),
    (f"{OLD}the consumer [G] start OK", "READY", {"consumer_group": "G"}),  # a lite one's; below a push consumer's
    (f"{OLD}the consumer [G] shutdown OK", "STOPPED", {"consumer_group": "G"}),
    (f"{NEW}the consumer [G] shutdown OK", "STOPPED", {"consumer_group": "G"}),
    (
        (
            f"{OLD}Created a new client Instance, InstanceIndex:0, ClientID:10.0.0.1@7,"
            " ClientConfig:ClientConfig [namesrvAddr=127.0.0.1:9876], ClientVersion:V4_7_1, SerializerType:JSON"
        ),
        "INSTANCE",
        {"instance": 0, "client_id": "10.0.0.1@7"},
    ),
    (
        (
            f"{NEW}Created a new client Instance, InstanceIndex:12, ClientID:\uff5e客, 户@7#8,"
            " ClientConfig:ClientConfig{namesrvAddr='127.0.0.1:9876'}, ClientVersion:V5_3_3, SerializerType:JSON"
        ),
        "INSTANCE",
        {"instance": 12, "client_id": "\uff5e客, 户@7#8"},
    ),
    (f"{OLD}the client factory [10.0.0.1@7] shutdown OK", "INSTANCE_STOPPED", {"client_id": "10.0.0.1@7"}),
    (f"{NEW}the client factory [客, 户@7#8] shutdown OK", "INSTANCE_STOPPED", {"client_id": "客, 户@7#8"}),
    (
        f"{OLD}invoke reset offset operation from broker. brokerAddr=10.0.0.1:10911, topic=T, group=G, timestamp=7",
        "RESET",
        {"topic": "T", "consumer_group": "G"},
    ),
    (f"{OLD}suspend this consumer, G", "SUSPENDED", {"consumer_group": "G"}),
    (f"{NEW}resume this consumer, G", "RESUMED", {"consumer_group": "G"}),
    (
        f"{OLD}the pull request[PullRequest [consumerGroup=G, messageQueue={QUEUE}, nextOffset=0]] is dropped.",
        "PULL_ENDED",
        OF_QUEUE,
    ),
    (
        f"{NEW}[persistAll] Group: G ClientId: 客, 户@7#8 updateConsumeOffsetToBroker {QUEUE} 1",
        "NAMED",
        {"consumer_group": "G", "client_id": "客, 户@7#8"},
    ),
]
SILENT = [
    None,
    f"{NEW}unregister client[Producer: CLIENT_INNER_PRODUCER Consumer: null] from broker[b 0 127.0.0.1:49065] success",
    "",
    f"{OLD}the consumer [G] start OK.",
    f"{OLD}doRebalance, G, but the topic[T] not exist.",
    f"{OLD}doRebalance, G, add a new pull request PullRequest [consumerGroup=G, messageQueue={QUEUE}, nextOffset=0]",
    f"{NEW}[BUG]doRebalance, G, try remove unnecessary mq, {QUEUE}, because pull is pause, so try to fixed it",
    f"{NEW}doRebalance, G, try remove unnecessary pop mq, {QUEUE}",
    f"{OLD}fix the pull request offset, PullRequest [consumerGroup=G, messageQueue={QUEUE}, nextOffset=0]",
    f"{NEW}the client factory [10.0.0.1@7] start OK",
    f"{NEW}get message of the consumer [G] shutdown OK",
    f"{NEW}x - the consumer [G] start beginning. messageModel=CLUSTERING, isUnitMode=false",
    f"{NEW}x - the consumer [G] start OK",
    f"{NEW}x - the consumer [G] shutdown OK",
    f"{NEW}the consumer [G] shutdown OK, and more",
    f"\tat doRebalance, G, add a new mq, {QUEUE}",  # goes on with another entry: no head
]


def _messages(spark: SparkSession, lines: list[str | None]) -> DataFrame:
    raw = spark.createDataFrame([(number, line) for number, line in enumerate(lines)], "number int, raw string")
    apart = raw.withColumn("head", head_of(F.col("raw")))
    told = apart.withColumn("message", ownership_message(part_of(F.col("head"), "message")))
    return told.withColumn("event", log_event(F.col("message"))).orderBy("number")


def test_what_a_line_tells(spark: SparkSession) -> None:
    frame = _messages(spark, [*(line for line, _, _ in TOLD), *SILENT])
    fields = event_fields(F.col("message"), F.col("event"))
    found = frame.select("raw", "event", *(column.alias(name) for name, column in fields.items())).collect()
    assert {event for _, event, _ in TOLD} == set(EVENTS)
    nothing: dict[str, Any] = dict.fromkeys(fields)
    expected = [(line, event, {**nothing, **told}) for line, event, told in TOLD]
    silent = [(line, None, nothing) for line in SILENT]
    assert [(row["raw"], row["event"], {name: row[name] for name in fields}) for row in found] == [*expected, *silent]


def test_only_lines_on_ownership_have_a_message(spark: SparkSession) -> None:
    rows = [
        (f"{OLD}the consumer [G] start OK - at last", "the consumer [G] start OK - at last"),
        (f"{OLD}[persistAll] Group: G ClientId: c x", "[persistAll] Group: G ClientId: c x"),
        (f"{NEW}update FaultItem{{name='a'}} - the end", None),
        ("", None),
        (None, None),
    ]
    rule = ownership_message(part_of(head_of(F.col("raw")), "message"))
    assert_rule(spark, rule, "raw string", rows, "string")


def test_the_queues_of_a_result(spark: SparkSession) -> None:
    other = QUEUE.replace("Id=1", "Id=0")
    head = f"rebalanced result changed. {ALL}, mqAllSize=12, cidAllSize=3, rebalanceResultSize=2"
    cases: list[tuple[str | None, list[tuple[str, int]] | None]] = [
        (f"{OLD}{head}, rebalanceResultSet=[{QUEUE}, {other}]", [("a", 1), ("a", 0)]),
        (f"{OLD}{head}, mqAll=[{QUEUE}, {other}], rebalanceResultSet=[{ODD}]", [("IDC1@broker a.b:1", -1)]),
        (f"{OLD}{head}, rebalanceResultSet=[]", []),
        (
            (
                f"{NEW}broker rebalanced result changed. {ALL}, assignmentSet=[MessageQueueAssignment"
                f" [MessageQueue={QUEUE}, Mode=PULL], MessageQueueAssignment [MessageQueue={other}, Mode=POP]]"
            ),
            [("a", 1), ("a", 0)],
        ),
        (f"{OLD}doRebalance, G, add a new mq, {QUEUE}", None),
        (f"{OLD}the consumer [G] start OK.", None),
        (None, None),
    ]
    frame = _messages(spark, [line for line, _ in cases])
    found = frame.select(allocated_queues(F.col("message"), F.col("event")).alias("queues")).collect()
    assert [row[0] if row[0] is None else [tuple(queue) for queue in row[0]] for row in found] == [
        queues for _, queues in cases
    ]


def test_which_lines_break_off(spark: SparkSession) -> None:
    whole = f"{OLD}doRebalance, G, add a new mq, {QUEUE}"
    result = f"{OLD}rebalanced result changed. {ALL}, mqAllSize=12, cidAllSize=3, rebalanceResultSize=2,"
    illegal = f"{NEW}{ILLEGAL}"
    cases: list[tuple[str | None, bool]] = [
        (whole[:-1], True),
        (whole[: whole.index("brokerName")], True),
        (whole[: whole.index("MessageQueue [")], True),
        (f"{whole}{whole}", True),  # two lines in one: the first one's end is lost
        (f"{NEW}doRebalance, G, remove unnecessary pop mq, MessageQueue [topic=T, bro", True),
        (f"{NEW}doRebalance, G, compute offset failed, Mess", True),
        (f"{OLD}doRebalance, G, add a new mq failed, {QUEUE}, because lo", True),
        (illegal[:-1], True),
        (f"{result} rebalanceResultSet=[{QUEUE}, MessageQueue [topic=T, bro", True),
        (f"{result} rebalanceResultSet=[{QUEUE}", True),
        (result[: result.index("clientId=")], True),
        *((f"{whole[:-1]}{message}", True) for message in (REMOVED, ILLEGAL)),
        (f"{whole[:-1]}{result.removeprefix(OLD)} rebalanceResultSet=[{QUEUE}]", True),
        *((f"{OLD}{message}{REMOVED}", True) for message in (REMOVED, LOCK_FAILED, OFFSET_UNKNOWN)),
        (f"{OLD}doRebalance, G, add a new mq, MessageQueue [topic=T, brokerName=a{QUEUE}", True),
        (f"{OLD}doRebalance, {'g' * 255}, add a new mq, Mess", True),
        *((f"{OLD}doRebalance, G, add a new mq, {longer}", True) for longer in LONGER),
        (f"{OLD}doRebalance, G, add a new mq, {QUEUE.replace('Id=1', 'Id=99999999999')}", True),
        (f"{result} rebalanceResultSet=[{QUEUE}]{REMOVED}", True),
        (f"{result} rebalanceResultSet=[{QUEUE}]{result.removeprefix(OLD)} rebalanceResultSet=[{QUEUE}]", True),
        (f"{NEW}client {result.removeprefix(OLD)} rebalanceResultSet=[{QUEUE}", True),
        (f"{NEW}broker rebalanced result changed. {ALL}, assignmentSet=[MessageQueueAssi", True),
        (whole, False),
        (illegal, False),  # what is lost was not needed
        (f"{result} rebalanceResultSet=[{QUEUE}]", False),
        (f"{result} rebalanceResultSet=[]", False),
        *((line, False) for line, _, _ in TOLD),
        *((line, False) for line in SILENT),
    ]
    frame = _messages(spark, [line for line, _ in cases])
    found = frame.select("raw", is_damaged(F.col("message"), F.col("event")).alias("damaged")).collect()
    assert [(row["raw"], bool(row["damaged"])) for row in found] == cases


def _reasons(spark: SparkSession, folder: Path, lines: list[str], settings: Settings) -> list[str | None]:
    (folder / "rocketmq_client.log").write_text("\n".join(lines))
    manifest = list_files(spark, [str(folder)])
    days = (dt.date(2026, 3, 1), dt.date(2026, 3, 1))
    found = read_client_logs(spark, manifest, settings, days, Observation("lines")).orderBy("row").collect()
    return [row["reason"] for row in found]


def test_a_queue_whose_number_is_none_is_bad(spark: SparkSession, tmp_path: Path) -> None:
    too_large = QUEUE.replace("queueId=1", "queueId=2147483648")
    lines = [f"{OLD}doRebalance, G, add a new mq, {queue}" for queue in (QUEUE, too_large)]
    lines.append(f"{OLD}rebalanced result changed. {ALL}, mqAllSize=1, cidAllSize=1, rebalanceResultSet=[{too_large}]")
    assert _reasons(spark, tmp_path, lines, Settings()) == [None, "wrong_type", "wrong_type"]


def test_a_line_may_be_as_long_as_the_settings_say(spark: SparkSession, tmp_path: Path) -> None:
    longest = f"{OLD}the consumer [G] start OK"
    found = _reasons(spark, tmp_path, [longest, f"{longest}!"], Settings(max_line_bytes=len(longest)))
    assert found == [None, "line_too_long"]
