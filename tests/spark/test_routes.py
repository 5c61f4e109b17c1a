"""Topic routes: what the name server told, the name of a broker's address, and hosts over time."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from jobs.errors import InputMissingError, InputUnreadableError
from jobs.settings.load import load_settings
from jobs.sources.dispositions import PUBLISHED
from jobs.sources.publish_queues import publish_queues
from jobs.sources.staged import Counts
from jobs.sources.staged_sends import StagedSends
from jobs.sources.topic_route import broker_names, topic_brokers
from tests.given.send_logs import DAY, NOON_MS, bad_lines, fates, line, stage, write


def _body(*brokers: str, cluster: str = "main", perm: int = 6, slave_only: bool = False) -> str:
    master = "1" if slave_only else "0"
    datas = [
        {"brokerName": name, "cluster": cluster, "brokerAddrs": {master: f"{name}:10911", "2": f"{name}-s:10911"}}
        for name in brokers
    ]
    queues = [{"brokerName": name, "perm": perm, "readQueueNums": 4, "writeQueueNums": 2} for name in brokers]
    return json.dumps({"brokerDatas": datas, "queueDatas": queues})


def _answer(at_ms: int, body: str | None, topic: str | None = "t", **more: object) -> bytes:
    return json.dumps({"captured_at_ms": at_ms, "topic": topic, "body": body, **more}).encode()


def _routes(spark: SparkSession, tmp_path: Path, *lines: bytes) -> DataFrame:
    routes = _staged(spark, tmp_path, *lines).routes
    assert routes is not None
    return routes


def _staged(spark: SparkSession, tmp_path: Path, *routes: bytes) -> StagedSends:
    """One send, and these lines of routes."""
    logs = write(tmp_path / "logs", {"a.jsonl": line()})
    folder = write(tmp_path / "routes", {"r.jsonl": b"\n".join(routes)})
    paths = {"inputs.sends.path": str(logs), "inputs.routes.path": str(folder)}
    return stage(spark, logs, settings=load_settings([], [], paths))


def _names(routes: DataFrame) -> dict[str, str]:
    return {row["broker_addr"]: row["routed_broker_name"] for row in broker_names(routes).collect()}


def _hosts(routes: DataFrame, *, only_own: bool = False) -> list[tuple[Any, ...]]:
    rows = topic_brokers(routes, DAY, only_own=only_own).collect()
    return sorted((row["topic"], row["start_ms"], row["end_ms"], row["broker_name"]) for row in rows)


def test_an_address_has_the_name_that_the_latest_answer_gives_it(spark: SparkSession, tmp_path: Path) -> None:
    renamed = json.dumps({"brokerDatas": [{"brokerName": "new", "brokerAddrs": {"0": "a:10911"}}], "queueDatas": []})
    far = 2**63 - 1  # no time: it would be the latest for ever
    answers = [_answer(NOON_MS + 2, renamed), _answer(NOON_MS + 1, _body("a")), _answer(far, _body("z"))]
    routes = _routes(spark, tmp_path, *answers, b"not JSON", b"", b"{}\r")
    assert _names(routes) == {"a:10911": "new", "a-s:10911": "a", "a:10909": "new", "a-s:10909": "a"}


def test_old_name_servers_answer_with_unquoted_numbers_as_keys(spark: SparkSession, tmp_path: Path) -> None:
    body = '{"brokerDatas":[{"brokerAddrs":{0:"10.0.0.1:10911",1:"10.0.0.2:10911"},"brokerName":"b"}],"queueDatas":[]}'
    names = _names(_routes(spark, tmp_path, _answer(NOON_MS, body)))
    assert names == {f"10.0.0.{host}:{port}": "b" for host in (1, 2) for port in (10911, 10909)}


def test_the_vip_port_is_a_brokers_unless_another_listens_there(spark: SparkSession, tmp_path: Path) -> None:
    body = (
        '{"brokerDatas":[{"brokerAddrs":{"0":"[2001:DB8::1]:10911"},"brokerName":"b"},'
        '{"brokerAddrs":{"0":"2001:db8:0:0:0:0:0:1:10909"},"brokerName":"c"}],"queueDatas":[]}'
    )
    ports = {"10911": "b", "10909": "c", "10907": "c"}
    assert _names(_routes(spark, tmp_path, _answer(NOON_MS, body))) == {
        f"2001:db8:0:0:0:0:0:1:{port}": name for port, name in ports.items()
    }


def test_hosts_hold_until_another_answer_of_their_topic(spark: SparkSession, tmp_path: Path) -> None:
    at = DAY.start_ms
    routes = _routes(
        spark,
        tmp_path,
        _answer(at - 1, _body("z")),  # of the day before
        _answer(at + 10, _body("a")),
        _answer(at + 20, _body("a")),  # nothing new: one stretch
        _answer(at + 30, _body("b", "a")),
        _answer(at + 40, _body("a", "b")),  # the same in another order
        _answer(at + 50, _body("b")),
        _answer(at + 15, _body("c"), topic="u"),
        _answer(DAY.end_ms, _body("z")),  # of the day after
    )
    assert _hosts(routes) == [
        ("t", at + 10, at + 30, "a"),
        ("t", at + 30, at + 50, "a"),
        ("t", at + 30, at + 50, "b"),
        ("t", at + 50, DAY.end_ms, "b"),
        ("u", at + 15, DAY.end_ms, "c"),
    ]


def test_an_answer_of_unknown_meaning_changes_nothing(spark: SparkSession, tmp_path: Path) -> None:
    routes = _routes(
        spark,
        tmp_path,
        _answer(NOON_MS, _body("a"), code=0),
        _answer(NOON_MS + 1, None, code=1),  # the name server was busy
        _answer(NOON_MS + 2, _body("b"), code=1),
        _answer(NOON_MS + 3, "timeout"),
        _answer(NOON_MS + 4, None),
        _answer(NOON_MS + 5, "{}"),
    )
    assert _hosts(routes) == [("t", NOON_MS, DAY.end_ms, "a")]
    assert _names(routes) == dict.fromkeys(("a:10911", "a-s:10911", "a:10909", "a-s:10909"), "a")


@pytest.mark.fault(19, 24)
@pytest.mark.parametrize(
    "huge",
    [
        '{"brokerDatas":[],"queueDatas":[{"brokerName":"x","perm":6,"readQueueNums":8,"writeQueueNums":2147483647}]}',
        '{"brokerDatas":[],"queueDatas":[{"brokerName":"x","perm":6,"readQueueNums":65537,"writeQueueNums":8}]}',
    ],
)
def test_a_route_of_more_queues_than_can_be_is_ignored(spark: SparkSession, tmp_path: Path, huge: str) -> None:
    routes = _routes(spark, tmp_path, _answer(NOON_MS, _body("a")), _answer(NOON_MS + 1, huge))
    assert _hosts(routes) == [("t", NOON_MS, DAY.end_ms, "a")]


def test_a_route_of_as_many_queues_as_can_be_counts(spark: SparkSession, tmp_path: Path) -> None:
    most = '{"brokerDatas":[],"queueDatas":[{"brokerName":"x","perm":6,"readQueueNums":65536,"writeQueueNums":65536}]}'
    assert _hosts(_routes(spark, tmp_path, _answer(NOON_MS, most))) == [("t", NOON_MS, DAY.end_ms, "x")]


@pytest.mark.fault(19, 24)
def test_an_order_topic_of_more_queues_than_can_be_has_none_there(spark: SparkSession, tmp_path: Path) -> None:
    body = '{"orderTopicConf":"a:2147483647;b:1","brokerDatas":[],"queueDatas":[]}'
    (row,) = publish_queues(_routes(spark, tmp_path, _answer(NOON_MS, body)), DAY, only_own=False).collect()
    assert [(queue["broker_name"], queue["queue_id"]) for queue in row["spans"][0]["queues"]] == [("b", 0)]


def test_bad_lines_of_routes_are_kept_and_those_of_sends_counted(spark: SparkSession, tmp_path: Path) -> None:
    other_day = _answer(DAY.start_ms - 1, _body("a"), topic="")
    staged = _staged(
        spark, tmp_path, _answer(NOON_MS, _body("a")), b"{", _answer(NOON_MS, "{}", topic=None), other_day, b"[]"
    )
    assert bad_lines(staged, tmp_path / "routes") == {
        ("r.jsonl", 2): ("not_json", None),
        ("r.jsonl", 3): ("topic_missing", None),
        ("r.jsonl", 5): ("not_an_object", None),
    }
    assert staged.rows_quarantined(DAY) == 3
    assert fates(staged) == {"PUBLISHED": 1}
    assert staged.counts(DAY) == Counts(1, 1, 0, 0, 0, 0)
    assert {row["source"] for row in staged.quarantine(DAY, "run").collect()} == {"routes"}


def test_a_topic_that_is_gone_has_no_hosts(spark: SparkSession, tmp_path: Path) -> None:
    routes = _routes(
        spark,
        tmp_path,
        _answer(NOON_MS, _body("a")),
        _answer(NOON_MS + 10, None, code=17),
        _answer(NOON_MS + 20, _body("a")),
    )
    assert _hosts(routes) == [("t", NOON_MS, NOON_MS + 10, "a"), ("t", NOON_MS + 20, DAY.end_ms, "a")]


def test_two_answers_of_one_millisecond_always_end_in_the_same(spark: SparkSession, tmp_path: Path) -> None:
    answers = [_answer(NOON_MS, _body("b")), _answer(NOON_MS, _body("a"))]
    first = _hosts(_routes(spark, tmp_path / "1", *answers))
    second = _hosts(_routes(spark, tmp_path / "2", *reversed(answers)))
    assert first == second
    assert len(first) == 1


def test_a_broker_without_a_master_and_its_permissions(spark: SparkSession, tmp_path: Path) -> None:
    routes = _routes(spark, tmp_path, _answer(NOON_MS, _body("a", perm=4, slave_only=True)))
    row = topic_brokers(routes, DAY, only_own=False).collect()[0]
    assert (row["has_master"], row["perm"], row["read_queue_nums"], row["write_queue_nums"]) == (False, 4, 4, 2)
    assert row["cluster"] == "main"


@pytest.mark.parametrize(("only_own", "spans"), [(True, [(0, 2)]), (False, [(0, 2), (10, 3), (20, 2), (30, 3)])])
def test_name_servers_of_two_clusters_tell_two_lists_of_queues(
    spark: SparkSession,
    tmp_path: Path,
    only_own: bool,  # noqa: FBT001
    spans: list[tuple[int, int]],
) -> None:
    def of(cluster: str, queues: int) -> str:
        return _body("a", cluster=cluster).replace('"writeQueueNums": 2', f'"writeQueueNums": {queues}')

    clusters = [of("main", 2), of("other", 3)] * 2
    routes = _routes(spark, tmp_path, *(_answer(NOON_MS + 10 * n, body) for n, body in enumerate(clusters)))
    row = publish_queues(routes, DAY, only_own=only_own).collect()[0]
    assert [(max(span["from_ms"] - NOON_MS, 0), len(span["queues"])) for span in row["spans"]] == spans
    assert {(queue["broker_name"], queue["queue_id"]) for queue in row["spans"][0]["queues"]} == {("a", 0), ("a", 1)}


@pytest.mark.parametrize(("only_own", "names"), [(True, ["a"]), (False, ["a", "b"])])
def test_brokers_of_another_cluster_can_be_left_out(
    spark: SparkSession,
    tmp_path: Path,
    only_own: bool,  # noqa: FBT001
    names: list[str],
) -> None:
    own, other = json.loads(_body("a")), json.loads(_body("b", cluster="other"))
    both = json.dumps({key: own[key] + other[key] for key in own})
    hosts = _hosts(_routes(spark, tmp_path, _answer(NOON_MS, both)), only_own=only_own)
    assert [host[-1] for host in hosts] == names


@pytest.mark.parametrize(("day_of_other", "names"), [(DAY.date, {"a"}), (DAY.after.date, {"a", "b"})])
def test_they_are_left_out_on_days_on_which_both_send(
    spark: SparkSession, tmp_path: Path, day_of_other: dt.date, names: set[str]
) -> None:
    own, other = json.loads(_body("a")), json.loads(_body("b", cluster="other"))
    both = json.dumps({key: own[key] + other[key] for key in own})
    staged = _staged(spark, tmp_path, _answer(NOON_MS, both))
    sends = {**staged.inputs[0].line_counts, (PUBLISHED, "other", day_of_other): 1}
    of_two = dataclasses.replace(staged, inputs=(dataclasses.replace(staged.inputs[0], line_counts=sends),))
    assert {row["broker_name"] for row in of_two.topic_brokers(DAY).collect()} == names
    (queues,) = of_two.publish_queues(DAY).collect()
    assert {queue["broker_name"] for span in queues["spans"] for queue in span["queues"]} == names


def test_a_send_without_a_broker_name_gets_the_routes_name(spark: SparkSession, tmp_path: Path) -> None:
    sends = [
        line(seq=1, broker_name=None, broker_addr="a:10911"),
        line(seq=2, broker_name="", broker_addr="a-s:10911"),
        line(seq=3, broker_name="said", broker_addr="a:10911"),  # what the line says stays
        line(seq=4, broker_name=None, broker_addr="unknown:10911"),
    ]
    folder = write(tmp_path / "logs", {"a.jsonl": b"\n".join(sends)})
    routes = write(tmp_path / "routes", {"r.jsonl": _answer(NOON_MS, _body("a"))})
    paths = {"inputs.sends.path": str(folder), "inputs.routes.path": str(routes)}
    staged = stage(spark, folder, settings=load_settings([], [], paths))
    named = {row["seq"]: row["broker_name"] for row in staged.sends(DAY).collect()}
    assert named == {1: "a", 2: "a", 3: "said"}
    assert bad_lines(staged, folder) == {("a.jsonl", 4): ("broker_unresolved", "broker_addr=unknown:10911")}
    assert fates(staged) == {"PUBLISHED": 3, "QUARANTINED": 1}
    hosts = staged.topic_brokers(DAY).collect()
    assert [(row["broker_name"], row["start_ms"]) for row in hosts] == [("a", NOON_MS)]


@pytest.mark.parametrize(
    ("files", "error", "sentence"),
    [
        ({}, InputMissingError, "no file in {routes} (hidden ones are not read); give a folder that holds the routes"),
        ({"r.jsonl.gz": b"text"}, InputUnreadableError, "{routes}/r.jsonl.gz is named .gz but is not gzip"),
    ],
)
def test_routes_that_cannot_be_read_stop_the_run(
    spark: SparkSession, tmp_path: Path, files: dict[str, bytes], error: type[Exception], sentence: str
) -> None:
    folder = write(tmp_path / "logs", {"a.jsonl": line()})
    routes = tmp_path / "routes"
    routes.mkdir()
    write(routes, files)
    paths = {"inputs.sends.path": str(folder), "inputs.routes.path": str(routes)}
    with pytest.raises(error) as caught:
        stage(spark, folder, settings=load_settings([], [], paths))
    assert str(caught.value).startswith(sentence.format(routes=routes))
