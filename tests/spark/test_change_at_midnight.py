"""A change that is captured at exactly 00:00:00.000: the day that it begins knows what was before it."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from pyspark.sql import SparkSession

from jobs.settings.load import load_settings
from tests.given.site import D1, D2, START, Line
from tests.given.snapshot_site import SnapshotSite, connection, route, running_info

SECONDS = range(-60, 120, 5)
"""When snapshots were taken, from midnight on; the last one holds for another five."""
COLUMNS = ("consumer_group", "broker_name", "queue_id", "kind", "cause", "start_ms", "end_ms")


def _ms(second: int) -> int:
    return START[D2] + second * 1_000


def _holds(group: str, client_id: str, queues: Iterable[int], second: int, topic: str) -> Line:
    held = [(topic, "a", queue) for queue in queues]
    return running_info(_ms(second), client_id, "AllocateMessageQueueAveragely", held, [topic], consumer_group=group)


@pytest.fixture(scope="module")
def site(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SnapshotSite:
    """Two days. At midnight y joins x in JOINED, which get queue 2 right after 15 s; the group STALE consumes R, which
    gets two more queues then, and follows after 40 s. In LATER and on W, which has no master, nothing changes, but the
    first connection, or route, after midnight comes late."""
    made = SnapshotSite(spark, tmp_path_factory.mktemp("midnight"), load_settings([], [], {}))
    consumers, routes, answers = list[Line](), list[Line](), list[Line]()
    for second in SECONDS:
        joined = "x" if second < 0 else "xy"
        consumers.append(connection(_ms(second), [*joined], "T", consumer_group="JOINED"))
        consumers.append(connection(_ms(second), ["x", "y"], "R", consumer_group="STALE"))
        if not 0 <= second < 20:
            consumers.append(connection(_ms(second), ["x"], "T", consumer_group="LATER"))
            of_w = route(_ms(second), topic="W", a=1)
            routes.append(of_w | {"body": of_w["body"].replace("{0:", "{1:")})
        routes.append(route(_ms(second), topic="T", a=3))
        routes.append(route(_ms(second), topic="R", a=2 if second < 0 else 4))
        of_joined = {"x": (0, 1, 2), "y": ()} if second < 15 else {"x": (0, 1), "y": (2,)}
        of_stale = {"x": (0,), "y": (1,)} if second < 40 else {"x": (0, 1), "y": (2, 3)}
        answers += [_holds("JOINED", each, of_joined[each], second, "T") for each in joined]
        answers += [_holds("STALE", each, of_stale[each], second, "R") for each in "xy"]
    made.log("consumers", consumers)
    made.log("routes", routes)
    made.log("running_info", answers)
    made.run(D1, D2)
    return made


def test_clients_get_their_time_to_follow(site: SnapshotSite) -> None:
    """What lasts for less than two rebalances is in the event of the day that begins."""
    events = site.rows("group_events", "consumer_group", "kind", "start_ms", "settled_ms", "queues")
    assert [tuple(event.values())[:4] for event in events] == [
        ("JOINED", "JOINED", _ms(0), _ms(15)), ("STALE", "ROUTE_CHANGED", _ms(0), _ms(40)),
    ]  # fmt: skip
    found = [
        (event["consumer_group"], *(queue[name] for name in COLUMNS[1:]))
        for event in events
        for queue in event["queues"]
    ]
    assert sorted(found) == [
        ("JOINED", "a", 2, "AGAINST_STRATEGY", "REBALANCE_NOT_RUN", _ms(0), _ms(15)),
        ("STALE", "a", 1, "AGAINST_STRATEGY", "STALE_ROUTE", _ms(0), _ms(40)),
        ("STALE", "a", 2, "UNASSIGNED", "STALE_ROUTE", _ms(0), _ms(40)),
        ("STALE", "a", 3, "UNASSIGNED", "STALE_ROUTE", _ms(0), _ms(40)),
    ]
    assert site.rows("allocation_findings", basis="OBSERVED") == []


def test_the_route_changed_then(site: SnapshotSite) -> None:
    columns = ("event_date", "topic", "changed_at_ms", "change", "readable_before", "readable_after")
    assert [tuple(row.values()) for row in site.rows("route_changes", *columns)] == [(D2, "R", _ms(0), "CHANGED", 2, 4)]


def test_what_it_moved(site: SnapshotSite) -> None:
    columns = ("event_date", "consumer_group", "changed_at_ms", "trigger", "joined", "left", "queues", "moved",
               "fewest_moves")  # fmt: skip
    assert [tuple(row.values()) for row in site.rows("rebalances", *columns)] == [
        (D2, "JOINED", _ms(0), "JOINED", ["y"], [], 3, 1, 1),
        (D2, "STALE", _ms(0), "QUEUES", [], [], 4, 1, 0),  # xy → xxyy
    ]


def test_other_strategies_are_asked_for_it_too(site: SnapshotSite) -> None:
    columns = ("event_date", "strategy", "is_own", "rebalances", "moves", "imbalance_mean")
    rows = (tuple(row.values()) for row in site.rows("strategy_comparison", *columns, consumer_group="JOINED"))
    assert [row for row in rows if row[1] != "CONSISTENT_HASH"] == [
        (D1, "AVG", True, 0, 0, 0),
        (D1, "AVG_BY_CIRCLE", False, 0, 0, 0),
        (D2, "AVG", True, 1, 1, 1),  # two and one throughout: what x had alone was yesterday
        (D2, "AVG_BY_CIRCLE", False, 1, 1, 1),
    ]


def test_a_topic_is_consumed_from_midnight_on_whenever_a_connection_names_it_again(site: SnapshotSite) -> None:
    rows = site.rows("queue_allocation", "queue_id", "start_ms", "end_ms", consumer_group="LATER")
    assert [tuple(row.values()) for row in rows] == [
        (queue, *times) for queue in range(3) for times in ((_ms(-60), _ms(0)), (_ms(0), _ms(120)))
    ]


def test_a_broker_stays_without_a_master_until_a_route_names_it_again(site: SnapshotSite) -> None:
    columns = ("start_ms", "end_ms", "readable", "writable", "has_master")
    assert [tuple(row.values()) for row in site.rows("topic_queues", *columns, topic="W")] == [
        (_ms(-60), _ms(0), True, False, False),
        (_ms(0), _ms(120), True, False, False),
    ]


def test_no_stretch_is_without_length(site: SnapshotSite) -> None:
    for table in ("topic_queues", "group_members", "queue_allocation", "queue_ownership"):
        rows = site.rows(table, "event_date", "start_ms", "end_ms")
        assert {row["event_date"] for row in rows} == {D1, D2}
        assert all(row["start_ms"] < row["end_ms"] for row in rows)
