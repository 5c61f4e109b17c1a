"""The second flow through its published tables: what an answer is worth, views, strategies, midnight, bad lines."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from pyspark.sql import SparkSession

from jobs.answers.groups import consumer_groups
from jobs.answers.published import open_published
from jobs.runs.flow_tables import FLOW_TABLES
from jobs.settings.load import load_settings
from jobs.tables import TABLES
from tests.given.site import D1, D2, START, at
from tests.given.snapshot_site import SnapshotSite, connection, members, route, running_info

NOON, MINUTE = at(D1, "12:00:00"), 60_000
SETTINGS = [
    "max_bad_fraction=0.5",
    'groups."FAILS".strategy="MACHINE_ROOM_NEARBY-AVG"',
    'groups."BROKER".client_rebalance=false',
    'groups."SAID".topics=["T"]',
    'groups."G".topics=["W"]',  # its connections say otherwise
    'groups."POPS".client_rebalance=false',
    'groups."POPS".request_mode="POP"',
    'groups."POPS".pop_share_queue_num=-1',
    'groups."STUCK".clients."bad".strategy="MACHINE_ROOM"',  # whose rooms nobody set: it always throws
]


@pytest.fixture(scope="module")
def site(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SnapshotSite:
    """One day, a snapshot a minute from noon on; each group has a story of its own."""
    made = SnapshotSite(spark, tmp_path_factory.mktemp("site"), load_settings([], SETTINGS, {}))
    ids = ["x", "y"]
    last = connection(NOON + 6 * MINUTE, ids)
    consumers = [
        # G: y joins in minute 3; the answer of minute 2 is lost, that of minute 4 is an error.
        *(connection(NOON + minute * MINUTE, ids[: 1 + (minute >= 3)]) for minute in (0, 1, 3, 5)),
        last | {"body": json.dumps(json.loads(last["body"]), indent=1)},  # a body may have lines of its own
        members(NOON + 2 * MINUTE, None, code=None),
        members(NOON + 4 * MINUTE, [], code=2),
        # VIEWS: broker b does not know y from minute 1 to 2, and no group at all in minute 3.
        *(connection(NOON + minute * MINUTE, ids, consumer_group="VIEWS") for minute in range(5)),
        *(members(NOON + minute * MINUTE, ids, "b", consumer_group="VIEWS") for minute in (0, 4)),
        *(members(NOON + minute * MINUTE, ids[:1], "b", consumer_group="VIEWS") for minute in (1, 2)),
        members(NOON + 3 * MINUTE, None, "b", code=206, consumer_group="VIEWS"),
        # FAILS: a client without a room joins in minute 1, so that the strategy throws and nothing changes.
        connection(NOON, ["r-1"], consumer_group="FAILS"),
        connection(NOON + MINUTE, ["-2", "r-1"], consumer_group="FAILS"),
        # STUCK: from minute 2 on its topic has no queue to read from, so that everyone's strategy throws.
        *(connection(NOON + m * MINUTE, ["bad", "r"], "K", consumer_group="STUCK") for m in range(4)),
        # GONE: everyone has left in minute 1.
        connection(NOON, ["x"], consumer_group="GONE"),
        members(NOON + MINUTE, None, code=1, remark="no consumer for this group, GONE", consumer_group="GONE"),
        *(connection(NOON + m * MINUTE, ["x", "x", "y"], consumer_group="TWICE") for m in (0, 1)),
        *(connection(NOON + m * MINUTE, ids, consumer_group="ALL", message_model="BROADCASTING") for m in (0, 1)),
        *(connection(NOON + m * MINUTE, ids, "T", "%RETRY%BROKER", consumer_group="BROKER") for m in (0, 1)),
        *(connection(NOON + m * MINUTE, ids, consumer_group="POPS") for m in (0, 1)),
        *(connection(NOON + m * MINUTE, ids, consumer_group="TOLD") for m in (0, 1)),
        *(connection(NOON + m * MINUTE, ids, consumer_group="TOLD-BROKER") for m in (0, 1)),
        *(connection(NOON + m * MINUTE, ids, consumer_group="OWN-CLASS") for m in (0, 1)),
        *(connection(NOON + m * MINUTE, ids, consumer_group="ORDERED") for m in (0, 1)),
        *(connection(NOON + m * MINUTE, ids, consumer_group="LOGS") for m in (0, 1)),
        *(members(NOON + m * MINUTE, ids, consumer_group="SAID") for m in (0, 1)),  # and no connection
        members(NOON, ["z"], consumer_group=""),
        connection(NOON, ["z"]) | {"body": "no connection"},
        connection(NOON, ["z"]) | {"captured_at_ms": None},
        members(NOON, ["z"], "b\x1f0"),
        members(NOON, ["z", "\x1b[2Jz"]),
    ]
    order: dict[str, Any] = dict(route(NOON, topic="O", a=3, b=1))
    static: dict[str, Any] = dict(route(NOON, topic="STATIC", a=2))  # its queues are logical ones: nothing is told
    few: dict[str, Any] = dict(route(NOON, topic="FEW", a=3))
    routes = [
        *(route(NOON + minute * MINUTE, a=2, b=(1, 2, 6)) for minute in range(7)),
        *(
            route(NOON + m * MINUTE, topic="K", a=(2 if m < 2 else 0, 2, 6)) | {"cluster": cluster}
            for m, cluster in enumerate(("", " ", " main ", "main"))  # all the same one
        ),
        *(route(NOON + m * MINUTE, topic="%RETRY%BROKER", a=1) for m in (0, 1)),
        route(NOON, topic="W", a=(2, 0, 4), c=(3, 3, 2)),
        # O: an order topic that names one of its brokers twice, and nobody.
        {**order, "body": order["body"].replace("{", '{"orderTopicConf":"a:2;a:1;;",', 1)},
        {**static, "body": static["body"].replace("{", '{"topicQueueMappingByBroker":{"a":{"totalQueues":3}},', 1)},
        # Java's numbers are 0 where the JSON has none.
        {**few, "body": few["body"].replace('"writeQueueNums": 3', '"topicSysFlag": 0')},
        {**few, "body": few["body"].replace('{"brokerName": "a", ', '{"brokerName": null, ')},
        route(NOON, topic="BAD", a=(-1, 2, 6)),
        route(NOON, topic="BAD", a=(2, -1, 6)),
        route(NOON, topic="HUGE", a=(2**31 - 1, 2**31 - 1, 6)),
        route(NOON, topic=""),
        route(NOON, topic="T\r\nforged"),
        {"captured_at_ms": NOON, "topic": "T", "code": 0, "body": "?"},
        route(NOON, topic="NEVER", code=17),
    ]
    made.log("consumers", consumers)
    made.log("routes", routes)
    told = [
        running_info(NOON - MINUTE, "x", "AllocateMessageQueueAveragely", consumer_group="TOLD"),
        running_info(NOON, "x", "AllocateMessageQueueAveragelyByCircle", consumer_group="TOLD"),
        running_info(NOON + MINUTE, "x", "?", consumer_group="TOLD", code=None, body=None),
        running_info(
            NOON, "x", "AllocateMessageQueueAveragely", consumer_group="TOLD-BROKER",
            properties={"clientRebalance": "false"},
        ),
        running_info(
            NOON, "x", "AllocateMessageQueueAveragely", consumer_group="ORDERED",
            properties={"clientRebalance": "false", "PROP_CONSUMEORDERLY": "true"},
        ),
        running_info(NOON, "x", "Stickily", consumer_group="OWN-CLASS"),
        running_info(NOON, "y", "?", consumer_group="TOLD", code=None, body=None),
        running_info(NOON, "y", "?", consumer_group="TOLD", body="{"),
        running_info(NOON, "\x1b[2Jy", "?", consumer_group="TOLD"),
        running_info(NOON, "y", "?", [("T", "a", 2**31)], consumer_group="TOLD"),
    ]  # fmt: skip
    made.log("running_info", told)
    result = (
        "2026-03-01 {} INFO RocketmqClient - rebalanced result changed. allocateMessageQueueStrategyName={},"
        " group=LOGS, topic=T, clientId=x, mqAllSize=3, cidAllSize=2, rebalanceResultSize=0, rebalanceResultSet=[]"
    )
    results = [result.format("12:00:00,000", "AVG"), result.format("12:00:30,000", "AVG_BY_CIRCLE")]
    made.client_log("p/rocketmq_client.log", results)
    made.run(D1)
    return made


def _owners(site: SnapshotSite, group: str) -> list[tuple[Any, ...]]:
    """(from minute, until minute, view, broker and queue, owner)."""
    columns = ("start_ms", "end_ms", "view_broker_name", "broker_name", "queue_id", "client_id")
    return sorted(
        (
            (row["start_ms"] - NOON) / MINUTE,
            (row["end_ms"] - NOON) / MINUTE,
            row["view_broker_name"] or "",
            f"{row['broker_name']}{row['queue_id']}",
            row["client_id"],
        )
        for row in site.rows("queue_allocation", *columns, consumer_group=group)
    )


def test_answers_without_spark_read_what_spark_wrote(site: SnapshotSite) -> None:
    published = open_published(str(site.lake), None, None, None)
    for table in TABLES:
        there = site.rows(table.name) if (site.lake / table.name).is_dir() else []
        assert published.rows(table, table.schema.fieldNames()).num_rows == len(there)
    groups = consumer_groups(published)
    assert {"G", "VIEWS", "TWICE"} <= {group.consumer_group for group in groups.groups}
    assert {bar.kind for each in groups.ownership if each.consumer_group == "G" for bar in each.bars} == {"x", "y"}


def test_no_answer_changes_nothing(site: SnapshotSite) -> None:
    assert _owners(site, "G") == [
        (0, 3, "", "a0", "x"),
        (0, 3, "", "a1", "x"),
        (0, 3, "", "b0", "x"),
        (3, 7, "", "a0", "x"),
        (3, 7, "", "a1", "x"),
        (3, 7, "", "b0", "y"),
    ]
    told = site.rows("group_members", "start_ms", "client_ids", "unanswered", consumer_group="G")
    assert [(row["client_ids"], row["unanswered"]) for row in told] == [(["x"], 1), (["x", "y"], 1)]


def test_one_that_never_gets_a_share_takes_nobody_elses(site: SnapshotSite) -> None:
    columns = ("start_ms", "queue_id", "in_route", "client_id", "is_carried")
    rows = site.rows("queue_allocation", *columns, consumer_group="STUCK")
    assert sorted(((row.pop("start_ms") - NOON) // MINUTE, *row.values()) for row in rows) == [
        (0, 0, True, None, False),
        (0, 1, True, "r", False),
        (2, 1, False, "r", True),
    ]


def test_brokers_that_disagree_are_views_of_their_own(site: SnapshotSite) -> None:
    agreed = [("a0", "x"), ("a1", "x"), ("b0", "y")]
    assert _owners(site, "VIEWS") == sorted(
        [
            *((0, 1, "", queue, owner) for queue, owner in agreed),
            *((1, 4, "a", queue, owner) for queue, owner in agreed),  # b's answer in minute 3 is not a list
            *((1, 3, "b", queue, "x") for queue, _ in agreed),
            *((4, 5, "", queue, owner) for queue, owner in agreed),
        ]
    )


def test_a_strategy_that_throws_changes_nothing(site: SnapshotSite) -> None:
    rows = site.rows("queue_allocation", "start_ms", "queue_id", "client_id", "is_carried", consumer_group="FAILS")
    assert {(row["client_id"], row["is_carried"]) for row in rows if row["start_ms"] == NOON} == {("r-1", False)}
    later = [row for row in rows if row["start_ms"] > NOON]
    assert {(row["client_id"], row["is_carried"]) for row in later} == {("r-1", True)}
    assert len(later) == 3


@pytest.mark.parametrize(
    ("group", "first", "expected"),
    [
        pytest.param("GONE", 1, {("a0", None), ("a1", None), ("b0", None)}, id="a group without consumers"),
        pytest.param("TWICE", 0, {("a0", "x"), ("a1", None), ("b0", "y")}, id="a duplicate id orphans a share"),
        pytest.param(
            "ALL", 0, {(q, c) for q in ("a0", "a1", "b0") for c in "xy"}, id="broadcasting gives everyone everything"
        ),
        pytest.param("POPS", 0, {(q, c) for q in ("a-1", "b-1") for c in "xy"}, id="POP serves any queue of a broker"),
        pytest.param("BROKER", 0, {("a0", "x")}, id="an unknown request mode is not guessed, but retries are pulled"),
        pytest.param("TOLD", 0, {("a0", "x"), ("a1", "y"), ("b0", "x")}, id="running info names the class"),
        pytest.param("LOGS", 0, {("a0", "x"), ("a1", "y"), ("b0", "x")}, id="the last result of a log names it"),
        pytest.param("ORDERED", 0, {("a0", "x"), ("a1", "x"), ("b0", "y")}, id="in order no broker assigns"),
        pytest.param("OWN-CLASS", 0, set(), id="a class of the site's own is not guessed"),
        pytest.param("TOLD-BROKER", 0, set(), id="running info says that the broker assigns"),
    ],
)
def test_who_gets_what(site: SnapshotSite, group: str, first: int, expected: set[tuple[str, str | None]]) -> None:
    found = {(queue, owner) for begin, _, _, queue, owner in _owners(site, group) if begin == first}
    assert found == expected


def test_what_several_pop_from_is_not_doubly_owned(site: SnapshotSite) -> None:
    assert not site.rows("allocation_findings", "kind", consumer_group="POPS")


def test_where_the_strategy_is_known_from(site: SnapshotSite) -> None:
    rows = site.rows("queue_allocation", "consumer_group", "strategy", "strategy_source")
    assert {tuple(row.values()) for row in rows} == {
        ("G", "AVG", "ASSUMED"),
        ("VIEWS", "AVG", "ASSUMED"),
        ("GONE", "AVG", "ASSUMED"),
        ("TWICE", "AVG", "ASSUMED"),
        ("ALL", "BROADCASTING", "CONNECTION"),
        ("FAILS", "MACHINE_ROOM_NEARBY-AVG", "SETTINGS"),
        ("POPS", "POP:AVG", "ASSUMED"),
        ("STUCK", "MIXED", "SETTINGS"),
        ("BROKER", "AVG", "ASSUMED"),
        ("SAID", "AVG", "ASSUMED"),
        ("TOLD", "AVG_BY_CIRCLE", "RUNNING_INFO"),
        ("LOGS", "AVG_BY_CIRCLE", "CLIENT_LOG"),
        ("ORDERED", "AVG", "RUNNING_INFO"),
    }


def test_queues_to_read_and_to_write(site: SnapshotSite) -> None:
    columns = ("topic", "broker_name", "queue_id", "readable", "writable", "finding")
    found = {tuple(row.values()) for row in site.rows("topic_queues", *columns)}
    assert found == {
        ("T", "a", 0, True, True, "NONE"),
        ("T", "a", 1, True, True, "NONE"),
        ("T", "b", 0, True, True, "NONE"),
        ("T", "b", 1, False, True, "UNREAD"),
        ("K", "a", 0, True, True, "NONE"),
        ("K", "a", 1, True, True, "NONE"),
        ("K", "a", 0, False, True, "UNREAD"),
        ("K", "a", 1, False, True, "UNREAD"),
        ("%RETRY%BROKER", "a", 0, True, True, "NONE"),
        ("O", "a", 0, True, True, "NONE"),
        ("O", "a", 1, True, True, "NONE"),
        ("O", "a", 2, True, False, "IDLE"),
        ("O", "b", 0, True, False, "IDLE"),
        ("W", "a", 0, True, False, "IDLE"),
        ("W", "a", 1, True, False, "IDLE"),
        ("W", "c", 0, False, True, "UNREAD"),
        ("W", "c", 1, False, True, "UNREAD"),
        ("W", "c", 2, False, True, "UNREAD"),
        *(("FEW", "a", number, True, False, "IDLE") for number in range(3)),
    }


def test_what_a_change_moved(site: SnapshotSite) -> None:
    columns = ("consumer_group", "changed_at_ms", "trigger", "joined", "left", "moved", "fewest_moves")
    found = {
        (group, (at - NOON) // MINUTE): rest
        for group, at, *rest in (tuple(row.values()) for row in site.rows("rebalances", *columns))
    }
    assert found == {
        ("G", 3): ["JOINED", ["y"], [], 1, 1],  # b0 goes from x to y
        ("VIEWS", 1): ["VIEW", [], [], 0, 0],  # the first broker's list stays the same
        ("VIEWS", 4): ["VIEW", [], [], 0, 0],
        ("FAILS", 1): ["JOINED", ["-2"], [], 0, 0],
        ("STUCK", 2): ["QUEUES", [], [], 0, 0],  # two queues less, and everyone keeps what it had
        ("GONE", 1): ["LEFT", [], ["x"], 3, 3],
    }


def test_the_same_day_under_other_strategies(site: SnapshotSite) -> None:
    columns = ("is_own", "rebalances", "moves", "fewest_moves", "imbalance_max", "broker_skew", "unassigned_max")
    rows = site.rows("strategy_comparison", "strategy", *columns, consumer_group="G")
    found = {row["strategy"]: tuple(row[name] for name in columns) for row in rows}
    assert set(found) == {"AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH"}
    assert found["AVG"] == (True, 1, 1, 1, 1, 2, 0)  # x: a0 a1, y: b0
    assert found["AVG_BY_CIRCLE"] == (False, 1, 1, 1, 1, 1, 0)  # x: a0 b0, y: a1
    assert not site.rows("strategy_comparison", consumer_group="ALL")
    mixed = site.rows("strategy_comparison", "strategy", "is_own", consumer_group="STUCK")
    assert {row["strategy"]: row["is_own"] for row in mixed} == {**dict.fromkeys(found, False), "MIXED": True}
    orphaned = site.rows("strategy_comparison", "unassigned_max", consumer_group="TWICE", strategy="AVG")
    assert orphaned == [{"unassigned_max": 1}]


@pytest.mark.fault(10)
def test_bad_lines_have_their_reason(site: SnapshotSite) -> None:
    bad = Counter((row["source"], row["reason"]) for row in site.rows("quarantine", "source", "reason"))
    assert bad == {
        ("consumers", "consumer_group_missing"): 1,
        ("consumers", "body_not_json"): 1,
        ("consumers", "captured_at_missing"): 1,
        ("consumers", "control_character"): 2,  # in a broker's name, in a client's id
        ("running_info", "body_not_json"): 1,
        ("running_info", "control_character"): 1,
        ("running_info", "wrong_type"): 1,  # the number of a queue
        ("routes", "topic_missing"): 1,
        ("routes", "body_not_json"): 1,
        ("routes", "queue_number_negative"): 2,
        ("routes", "control_character"): 1,
        ("routes", "wrong_type"): 1,
        ("routes", "broker_missing"): 1,  # of its queues
    }


def test_what_a_route_leaves_out_is_0(site: SnapshotSite) -> None:
    found = site.rows("topic_queues", "queue_id", "readable", "writable", "finding", topic="FEW")
    assert found == [
        {"queue_id": number, "readable": True, "writable": False, "finding": "IDLE"} for number in range(3)
    ]


@pytest.mark.slow  # two more lakes, four runs
def test_days_one_by_one_end_in_the_same_tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Snapshots over midnight, lines shuffled and one captured twice: what stands is carried.

    y joins a minute after midnight and gets its queue another one later; topic U gets a second queue in between.
    """
    late = at(D1, "23:58:00")
    times = [late + minute * MINUTE for minute in range(6)]
    consumers = [connection(each, ["x"] if each < START[D2] + MINUTE else ["x", "y"]) for each in times]
    routes = [route(each, a=2) for each in (late, late + MINUTE)]  # silent from then on: stale after five minutes
    routes += [route(each, topic="U", a=queues) for queues, each in enumerate((late, START[D2] + MINUTE), start=1)]
    gets_it = START[D2] + 2 * MINUTE
    answers = [
        running_info(each, client_id, "AllocateMessageQueueAveragely", [("T", "a", number) for number in held])
        for each in times
        for client_id, held in (("x", (0,) if each >= gets_it else (0, 1)), ("y", (1,) if each >= gets_it else ()))
    ]
    tables = FLOW_TABLES["allocation"].derived
    found = []
    for name, runs in (("at-once", [(D1, D2)]), ("by-day", [(D2,), (D1,), (D2,)])):
        site = SnapshotSite(spark, tmp_path_factory.mktemp(name))
        site.log("consumers", consumers if name == "at-once" else [*reversed(consumers), consumers[0]])
        site.log("routes", routes)
        site.log("running_info", answers if name == "at-once" else [*reversed(answers), answers[0]])
        results = [site.run(*days, allow_empty=True) for days in runs]
        found.append({table: site.rows(table) for table in tables})
        if name == "by-day":
            assert [result.stale_days for result in results] == [[], [D2], []]
            assert results[0].days[0].counts.rows_other_day == 11  # type: ignore[union-attr]
    assert {table for table in found[0] if not found[0][table]} == set()
    assert found[0] == found[1]
    owners = [
        (row["event_date"], row["start_ms"] - START[D2], row["end_ms"] - START[D2], row["client_id"])
        for row in found[0]["queue_allocation"]
        if row["queue_id"] == 1
    ]
    assert sorted(owners) == [
        (D1, -2 * MINUTE, 0, "x"),
        (D2, 0, MINUTE, "x"),
        (D2, MINUTE, 4 * MINUTE, "y"),
    ]
