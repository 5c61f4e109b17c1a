"""Snapshots as sites have them: refusals, slaves, proxies, name servers that disagree; one run over all cases.

Each case has groups, topics and brokers of its own, so that they meet in one lake; a variant of a case gets names of
its own as it is read.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from jobs.collect.cluster import addresses, groups_in, topics_in
from jobs.settings.load import load_settings
from tests.given.snapshot_site import SnapshotSite

DAY = dt.date(2026, 11, 21)
MIDNIGHT_MS = 1_795_219_200_000
CASES = Path(__file__).parent
SLAVES = {"CG_fund": "CG_fund_by_slaves", "fund_event": "fund_event_by_slaves", "10.11.0": "10.111.0"}
SAME_MS = {"CG_ns": "CG_ns_same_ms", "ns_topic": "ns_topic_same_ms"}
IDS_ONLY = {"basic-broadcast-consumer": "ids-only"}
SAID = {"basic-broadcast-consumer": "ids-and-settings"}
VARIANTS: list[tuple[str, str, dict[str, str]]] = [
    # case, file, names that it has in the one lake
    ("08-acl-refusal-is-code-1", "", {}),
    ("10-grpc-members-local-proxy", "", {}),
    ("11-master-down-slave-answers", "", {}),
    ("11-master-down-slave-answers", "as-a-collector-that-asks-slaves", SLAVES),
    ("12-running-info-pretty-printed", "", {}),
    ("14-order-conf-dead-broker-and-typo", "", {}),
    ("16-broadcast-default-instance", "", {}),
    ("16-broadcast-default-instance", "list-of-ids-only", IDS_ONLY),
    ("16-broadcast-default-instance", "list-of-ids-only", SAID),
    ("18-two-name-servers-disagree", "", {}),
    ("18-two-name-servers-disagree", "same-millisecond", SAME_MS),
    ("34-go-broadcasting", "", {}),
    ("36-broker-down-and-stale-view", "", {}),
    ("40-reset-offset", "", {}),
]
SETTINGS = [
    'groups."ids-and-settings".message_model="BROADCASTING"',
    'groups."ids-and-settings".topics=["basic-broadcast-topic"]',
    'client_logs."36".client_version="4.9.8"',
    'client_logs."36".time_zone="UTC"',
]


def lines(case: str, variant: str, kind: str, names: dict[str, str]) -> Iterator[dict[str, Any]]:
    """A case's lines of a kind; a variant that lacks the kind has its case's own."""
    files = (CASES / case / variant / f"{kind}.jsonl.gz", CASES / case / f"{kind}.jsonl.gz")
    for file in [each for each in files if each.is_file()][:1]:
        text = gzip.decompress(file.read_bytes()).decode()
        for name, other in names.items():
            text = text.replace(name, other)
        yield from map(json.loads, text.splitlines())


@pytest.fixture(scope="module")
def site(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SnapshotSite:
    settings = load_settings([], SETTINGS, {})
    made = SnapshotSite(
        spark, tmp_path_factory.mktemp("field"), dataclasses.replace(settings, cluster="DefaultCluster")
    )
    for number, (case, variant, names) in enumerate(VARIANTS):
        for kind in ("consumers", "routes", "running_info"):
            if found := list(lines(case, variant, kind, names)):
                made.log(kind, found, f"{number}.jsonl")
    log = CASES / "36-broker-down-and-stale-view" / "logs" / "host" / "rocketmq_client.log.gz"
    made.client_log("36/rocketmq_client.log", gzip.decompress(log.read_bytes()).decode().splitlines())
    made.run(DAY)
    return made


def clock(ms: int) -> str:
    return f"{dt.datetime.fromtimestamp(ms / 1000, dt.UTC):%H:%M:%S.%f}"[:-3].removesuffix(".000")


def rows(site: SnapshotSite, table: str, *columns: str, **equal: object) -> list[tuple[Any, ...]]:
    """Values of the columns, times as a clock shows them, in order of time."""
    found = sorted(site.rows(table, "start_ms", *columns, **equal), key=json.dumps)
    return [tuple(clock(row[each]) if each.endswith("_ms") else row[each] for each in columns) for row in found]


def findings(site: SnapshotSite, group: str) -> set[tuple[str, str, str | None, str, str]]:
    """Kind, cause, broker, from and until."""
    columns = ("kind", "cause", "broker_name", "start_ms", "end_ms")
    return set(rows(site, "allocation_findings", *columns, consumer_group=group))


def changes(site: SnapshotSite, group: str) -> list[tuple[str, str, list[str]]]:
    """Trigger, time, who left."""
    found = site.rows("rebalances", "changed_at_ms", "trigger", "left", consumer_group=group)
    return [(row["trigger"], clock(row["changed_at_ms"]), row["left"]) for row in found]


def test_a_refusal_says_nothing_of_members(site: SnapshotSite) -> None:
    """Case 08: ACL refuses with code 1, as a broker says of a group without members in a list of ids."""
    members = rows(site, "group_members", "broker_name", "end_ms", "members", "unanswered", consumer_group="CG_risk")
    assert members == [("broker-a", "10:04:00", 2, 60), ("broker-b", "10:04:00", 2, 60)]
    assert findings(site, "CG_risk") == {("MEMBERS_UNKNOWN", "BROKERS_REFUSE", None, "10:04:00", "11:00:00")}
    assert changes(site, "CG_risk") == []


def test_grpc_clients_by_a_proxy_have_no_queues_of_their_own(site: SnapshotSite) -> None:
    """Case 10."""
    topics = rows(
        site, "allocation_findings", "topic", "kind", "cause", "start_ms", "end_ms", consumer_group="GID_grpc_orders"
    )
    assert sorted(topics) == [
        (topic, "NOT_DETERMINABLE", "CLIENTS_BY_PROXY", "09:00:00", "10:00:00")
        for topic in ("%RETRY%GID_grpc_orders", "grpc_orders")
    ]
    assert rows(site, "queue_allocation", "client_id", consumer_group="GID_grpc_orders") == []


def test_a_master_that_is_down_leaves_members_unknown_unless_its_slave_is_asked(site: SnapshotSite) -> None:
    """Case 11."""
    assert findings(site, "CG_fund") == {("MEMBERS_UNKNOWN", "BROKERS_SILENT", None, "09:24:50", "10:00:00")}
    assert changes(site, "CG_fund_by_slaves") == [("LEFT", "09:40:00", ["10.111.0.150@23410#13706546187999"])]
    owners = rows(site, "queue_allocation", "queue_id", "client_id", "end_ms", consumer_group="CG_fund_by_slaves")
    assert [row for row in owners if row[2] == "10:00:00"] == [
        (queue_id, "10.111.0.149@23409#13706546187932", "10:00:00") for queue_id in range(4)
    ]


def test_who_left_all_lists_owns_nothing(site: SnapshotSite) -> None:
    """Case 11: the last answer of the one that left is of 09:39:20, and the next would be due at 09:40:20."""
    held = rows(site, "queue_ownership", "queue_id", "end_ms", consumer_group="CG_fund_by_slaves")
    assert {queue_id: end for queue_id, end in held if queue_id > 1 and end < "10"} == {2: "09:40:00", 3: "09:40:00"}
    kinds = {kind for kind, *_ in findings(site, "CG_fund_by_slaves")}
    assert "DOUBLY_OWNED" not in kinds


def test_running_info_over_many_lines(site: SnapshotSite) -> None:
    """Case 12."""
    held = rows(site, "queue_ownership", "broker_name", "queue_id", "source", consumer_group="CG_ftest")
    assert sorted(held) == [("broker-a", 0, "RUNNING_INFO"), ("broker-b", 3, "RUNNING_INFO")]


def test_an_order_topics_numbers_count_without_their_broker_and_are_held_when_unreadable(site: SnapshotSite) -> None:
    """Case 14."""
    queues = site.rows("topic_queues", topic="binlog_order")
    at_half_past_ten = [row for row in queues if clock(row["start_ms"]) <= "10:30" < clock(row["end_ms"])]
    of_c = [
        (row["queue_id"], row["writable"], row["readable"])
        for row in at_half_past_ten
        if row["broker_name"] == "broker-c"
    ]
    assert sorted(of_c) == [(queue_id, True, False) for queue_id in range(4)]
    at_noon = [row for row in queues if clock(row["start_ms"]) <= "11:59" < clock(row["end_ms"])]
    shape = [
        {(row["broker_name"], row["queue_id"], row["readable"], row["writable"]) for row in of}
        for of in (at_half_past_ten, at_noon)
    ]
    assert shape[0] == shape[1]
    assert len(shape[0]) == 12
    found = findings(site, "CG_binlog")
    assert ("ORDER_CONF_UNREADABLE", "NONE_NEEDED", "broker-b", "11:00:00", "12:00:00") in found
    assert not [row for row in found if row[:2] == ("UNASSIGNED", "UNEXPLAINED")]
    (sentence,) = (
        row["sentence"]
        for row in site.rows("allocation_findings", "kind", "sentence", consumer_group="CG_binlog")
        if row["kind"] == "ORDER_CONF_UNREADABLE"
    )
    assert sentence == (
        "CG_binlog, binlog_order, broker-b: clients cannot read orderTopicConf, and keep the route of before"
        " for 3600.0 s"
    )


@pytest.mark.parametrize("group", ["basic-broadcast-consumer", "ids-and-settings"])
def test_who_broadcasts_may_share_an_id(site: SnapshotSite, group: str) -> None:
    """Case 16: two processes of a host have one id by design, and each takes every queue."""
    owners = rows(site, "queue_allocation", "client_id", "queue_id", consumer_group=group)
    assert sorted(owners) == [(f"10.16.0.{host}@DEFAULT@9", queue_id) for host in (5, 6) for queue_id in range(4)]
    assert findings(site, group) == set()


def test_of_ids_alone_nothing_is_said_of_queues(site: SnapshotSite) -> None:
    """Case 16: nobody says that they broadcast, nor that they do not."""
    sentences = [row["sentence"] for row in site.rows("allocation_findings", "sentence", consumer_group="ids-only")]
    assert sentences
    assert not [sentence for sentence in sentences if "queue" in sentence]


@pytest.mark.parametrize("suffix", ["", "_same_ms"])
def test_name_servers_that_disagree_are_a_finding_and_no_rebalance(site: SnapshotSite, suffix: str) -> None:
    """Case 18."""
    assert changes(site, f"CG_ns{suffix}") == []
    assert ("NAME_SERVERS_DISAGREE", "NONE_NEEDED", None, "09:00:00", "10:00:00") in findings(site, f"CG_ns{suffix}")
    assert site.rows("route_changes", topic=f"ns_topic{suffix}") == []


def test_go_clients_may_broadcast_whatever_they_say(site: SnapshotSite) -> None:
    """Case 34."""
    assert findings(site, "CG_go") == {("NOT_DETERMINABLE", "NOT_A_JAVA_CLIENT", None, "09:00:00", "10:00:00")}


def test_the_last_list_of_a_broker_that_is_down_is_no_view(site: SnapshotSite) -> None:
    """Case 36."""
    kinds = {kind for kind, *_ in findings(site, "CG_ord")}
    assert "VIEWS_DIFFER" not in kinds
    assert changes(site, "CG_ord") == [("LEFT", "09:30:10", ["10.32.0.2@1#2"])]


def test_the_names_that_are_rocketmqs_own_are_known_exactly() -> None:
    """Case 28."""
    case = CASES / "28-names-that-look-like-rocketmqs-own"
    info = (CASES / "11-master-down-slave-answers" / "cluster_info_before.json").read_text()
    groups = groups_in((case / "subscription_groups.json").read_text())
    assert groups == {"CG_orders", "CID_ONSITE_CHECKIN", "CID_ONSALE_GOODS"}
    assert topics_in((case / "topics.json").read_text(), info) == ["%RETRY%CG_orders", "orders"]


@pytest.mark.parametrize(
    ("file", "expected"), [("before", ["10.1.0.11:22922", "10.1.0.21:22922"]), ("after", ["10.1.0.21:22922"])]
)
def test_a_slave_is_whom_to_ask_after_its_master(file: str, expected: list[str]) -> None:
    """Case 11, as the name server tells it."""
    info = (CASES / "11-master-down-slave-answers" / f"cluster_info_{file}.json").read_text()
    assert addresses(info) == {"broker-a": expected}


def test_a_reset_of_offsets_explains_the_gap_that_running_info_shows(site: SnapshotSite) -> None:
    """Case 40."""
    gap = {row for row in findings(site, "CG_pricing") if row[0] == "UNASSIGNED"}
    assert {row[1] for row in gap} == {"OFFSET_RESET"}
    assert {row[3] for row in gap} == {"13:05:20"}
