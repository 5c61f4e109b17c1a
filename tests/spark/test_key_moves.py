"""Order keys that left their queue, through the published table: each cause, keys that stay, what routes tell."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from jobs.settings.load import load_settings
from jobs.sources.staged_sends import StagedSends
from tests.given.site import D1, D2, Line, Site, at, send, write_lines
from tests.given.snapshot_site import route

NOON, SECOND, MINUTE = at(D1, "12:00:00"), 1_000, 60_000
KEY = "order-35"
"""Its hash leads to index 1 of 4 queues, 5 of 6 and 1 of 8."""


def keyed(at_ms: int, queue: str, order_key: str | None = KEY, **other: object) -> Line:
    """One send to a queue written `a1`, by the caller's selector."""
    line = send(at_ms, broker_name=queue[0], queue_id=int(queue[1:]), order_key=order_key, queue_chosen_by="CALLER")
    return line | other


@pytest.fixture(scope="module")
def site(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Site:
    """One day, a story per topic: 4 queues each, unless it tells of other ones."""
    t = NOON
    stories = {
        "STAYS": [keyed(t + n, "a1") for n in range(5)],
        # Another key, no key, the empty key, no queue: none of them moves KEY, nor is moved.
        "OTHERS": [
            keyed(t, "a1"),
            keyed(t + 1, "a0", "order-1"),
            keyed(t + 2, "a3", None),
            keyed(t + 3, "a2", None),
            keyed(t + 4, "a3", ""),
            keyed(t + 5, "a2", ""),
            keyed(t + 6, "a2", queue_id=None),
            keyed(t + 7, "a1"),
        ],
        # The name server told 6 queues at noon. p1 learns it 25 s later, p2 12 s before the capture.
        "GROWS": [
            keyed(t - 10 * MINUTE, "a1"),
            keyed(t - 12 * SECOND, "a5", client_id="p2"),
            keyed(t + 20 * SECOND, "a1"),
            keyed(t + 25 * SECOND, "a5"),
            keyed(t + 10 * MINUTE, "a5"),
        ],
        # More queues at noon, and as before ten minutes later.
        "THERE-AND-BACK": [keyed(t - 10 * MINUTE, "a1"), keyed(t + 20 * MINUTE, "a2")],
        "SHRINKS": [keyed(t - MINUTE, "a5"), keyed(t + MINUTE, "a1")],
        "RETRIES": [
            keyed(t, "a1", invoke_id=1, outcome="RemotingTimeoutException"),
            keyed(t + 1, "a2", invoke_id=1, attempt=2, outcome="RemotingTimeoutException"),
            keyed(t + 2, "a3", invoke_id=1, attempt=3),
            keyed(t + 3, "a1", invoke_id=2),  # the next send goes where the hash leads
            keyed(t + 4, "a2", invoke_id=2, attempt=2, process_id="another"),  # its own invoke 2
        ],
        "TWO": [
            keyed(t, "a1"),
            keyed(t + 1, "a3", client_id="p2"),
            keyed(t + 2, "a2", producer_group="PG2"),
            keyed(t + 3, "a1", client_id="p2"),
        ],
        "STRAYS": [keyed(t, "a1"), keyed(t + 1, "a3"), keyed(t + 2, "a1")],
        "OLD": [keyed(t, "a1", client_version="4.7.1"), keyed(t + 1, "a3", client_version="4.7.1")],
        "GO": [keyed(t, "a1", client_language="GO"), keyed(t + 1, "a3", client_language="GO")],
        "NO-ROUTE": [keyed(t, "a1"), keyed(t + 1, "a3")],
        "STATIC": [keyed(t, "a1"), keyed(t + 1, "a3")],
        # The order of an order topic is its own: b before a. So the hash leads to b1, then to a1.
        "ORDERED": [keyed(t - MINUTE, "b1"), keyed(t + MINUTE, "a1")],
        "READ-ONLY": [keyed(t - MINUTE, "b1"), keyed(t + MINUTE, "a1")],
        # The same milliseconds: each producer's own order, then one after the other.
        "AT-ONCE": [
            keyed(t, "a2", client_id="p2", seq=2),
            keyed(t, "a1", client_id="p2", seq=1),
            keyed(t, "a1", seq=7),
            keyed(t, "a1", seq=8),
        ],
    }
    sends = [line | {"topic": topic} for topic, lines in stories.items() for line in lines]
    grown = ("GROWS", "THERE-AND-BACK")
    special = ("SHRINKS", "NO-ROUTE", "STATIC", "ORDERED", "READ-ONLY")
    order = {"orderTopicConf": "b:2;a:2"}
    routes = [
        *(route(t - 20 * MINUTE, topic=topic, a=4) for topic in stories if topic not in special),
        *(route(t, topic=topic, a=6) for topic in grown),
        route(t + 10 * MINUTE, topic="THERE-AND-BACK", a=4),
        route(t - 20 * MINUTE, topic="SHRINKS", a=6),
        route(t, topic="SHRINKS", a=4),
        route(at(D2, "00:00:00"), topic="STRAYS", a=8),  # of the day after
        _with(route(t - 20 * MINUTE, topic="STATIC", a=4), topicQueueMappingByBroker={"a": {"topic": "STATIC"}}),
        _with(route(t - 20 * MINUTE, topic="ORDERED", b=2, a=2), **order),
        _with(route(t, topic="ORDERED", b=2, a=2), orderTopicConf="a:2;b:2"),
        route(t - 20 * MINUTE, topic="READ-ONLY", a=(4, 4, 4), b=4),
        route(t, topic="READ-ONLY", b=4, a=4),
    ]
    folder = tmp_path_factory.mktemp("site")
    write_lines(folder / "routes" / "routes.jsonl", routes)
    made = Site(spark, folder, load_settings([], [], {"inputs.routes.path": str(folder / "routes")}))
    made.log(sends)
    made.run(D1)
    return made


def _with(line: Line, **body: object) -> Line:
    """The route with more in its body, whose keys stand unquoted, as older name servers write them."""
    return line | {"body": line["body"][:-1] + "," + json.dumps(body)[1:]}


def _moves(site: Site, topic: str) -> list[tuple[Any, ...]]:
    """(from, to, cause, queues before and after), in order of time."""
    names = ("moved_at_ms", "from_broker_name", "from_queue_id", "to_broker_name", "to_queue_id", "cause")
    rows = site.rows("order_key_moves", *names, "queues_before", "queues", topic=topic)
    return [
        (
            f"{row['from_broker_name']}{row['from_queue_id']}",
            f"{row['to_broker_name']}{row['to_queue_id']}",
            row["cause"],
            (row["queues_before"], row["queues"]),
        )
        for row in rows
    ]


@pytest.mark.parametrize("topic", ["STAYS", "OTHERS"])
def test_a_key_that_stays_is_in_no_row(site: Site, topic: str) -> None:
    assert _moves(site, topic) == []


def test_a_change_of_queue_numbers_moves_keys_while_producers_learn_of_it(site: Site) -> None:
    assert _moves(site, "GROWS") == [
        ("a1", "a5", "QUEUES_CHANGED", (4, 6)),
        ("a5", "a1", "QUEUES_CHANGED", (4, 6)),
        ("a1", "a5", "QUEUES_CHANGED", (4, 6)),
    ]
    told = site.rows("order_key_moves", "moved_at_ms", "by_hash_before", "by_hash", topic="GROWS")
    assert [(row["by_hash_before"], row["by_hash"]) for row in told] == [(True, True)] * 3


def test_queues_that_came_and_went_between_two_sends_explain_nothing(site: Site) -> None:
    assert _moves(site, "THERE-AND-BACK") == [("a1", "a2", "NOT_BY_HASH", (4, 4))]


def test_a_retry_goes_to_another_queue_and_the_next_send_comes_back(site: Site) -> None:
    four = (4, 4)
    assert _moves(site, "RETRIES") == [
        ("a1", "a2", "RETRIED", four),
        ("a2", "a3", "RETRIED", four),
        ("a3", "a1", "BACK_BY_HASH", four),
        ("a1", "a2", "NOT_BY_HASH", four),
    ]
    told = site.rows("order_key_moves", "moved_at_ms", "from_outcome", "outcome", topic="RETRIES")
    assert [(row["from_outcome"], row["outcome"]) for row in told[:3]] == [
        ("RemotingTimeoutException", "RemotingTimeoutException"),
        ("RemotingTimeoutException", "SEND_OK"),
        ("SEND_OK", "SEND_OK"),
    ]


def test_producers_with_selectors_of_their_own(site: Site) -> None:
    four = (4, 4)
    assert _moves(site, "TWO") == [
        ("a1", "a3", "OTHER_PRODUCER", four),
        ("a3", "a2", "OTHER_PRODUCER", four),
        ("a2", "a1", "BACK_BY_HASH", four),
    ]
    names = ("moved_at_ms", "from_client_id", "from_producer_group", "client_id", "producer_group")
    assert [tuple(row.values())[1:] for row in site.rows("order_key_moves", *names, topic="TWO")] == [
        ("p1", "PG", "p2", "PG"),
        ("p2", "PG", "p1", "PG2"),
        ("p1", "PG2", "p2", "PG"),
    ]


@pytest.mark.parametrize(
    ("topic", "moves"),
    [
        ("STRAYS", [("a1", "a3", "NOT_BY_HASH", (4, 4)), ("a3", "a1", "BACK_BY_HASH", (4, 4))]),
        ("OLD", [("a1", "a3", "NOT_BY_HASH", (4, 4))]),
        ("GO", [("a1", "a3", "UNKNOWN", (4, 4))]),
        ("NO-ROUTE", [("a1", "a3", "UNKNOWN", (None, None))]),
        ("STATIC", [("a1", "a3", "UNKNOWN", (None, None))]),
        ("SHRINKS", [("a5", "a1", "QUEUES_CHANGED", (6, 4))]),
        ("ORDERED", [("b1", "a1", "QUEUES_CHANGED", (4, 4))]),
        ("READ-ONLY", [("b1", "a1", "QUEUES_CHANGED", (4, 8))]),
        ("AT-ONCE", [("a1", "a2", "NOT_BY_HASH", (4, 4))]),
    ],
)
def test_a_move_and_its_cause(site: Site, topic: str, moves: list[tuple[Any, ...]]) -> None:
    assert _moves(site, topic) == moves


@pytest.mark.parametrize(
    ("topic", "by_hash"),
    [("ORDERED", (True, True)), ("READ-ONLY", (True, True)), ("STRAYS", (True, False)), ("GO", (None, None))],
)
def test_what_the_hash_says_of_both_queues(site: Site, topic: str, by_hash: tuple[bool | None, bool | None]) -> None:
    row = site.rows("order_key_moves", "moved_at_ms", "by_hash_before", "by_hash", topic=topic)[0]
    assert (row["by_hash_before"], row["by_hash"]) == by_hash


def test_a_move_is_a_row_of_sends(site: Site) -> None:
    names = ("row_hash", "client_id", "order_key", "topic")
    sends = site.rows("sends", *names)
    moves = site.rows("order_key_moves", *names)
    assert len(moves) == 21
    assert all(row in sends for row in moves)


@pytest.mark.slow  # three nights
def test_a_day_is_on_its_own_and_one_without_keys_is_empty_and_looks_at_no_route(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = Site(spark, tmp_path)
    site.log([keyed(NOON, "a1"), keyed(NOON + 1, "a2"), keyed(at(D2, "00:00:00"), "a1")])
    site.run(D1, D2)
    assert _moves(site, "T") == [("a1", "a2", "UNKNOWN", (None, None))]
    site.log([send(NOON), send(NOON + 1, queue_id=1)])
    monkeypatch.delattr(StagedSends, "publish_queues")
    site.run(D1)
    assert site.rows("order_key_moves") == []
