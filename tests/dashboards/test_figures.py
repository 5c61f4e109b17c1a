"""Figures of the dashboards, asked of a small lake as charts ask them, and worked out by hand."""

from __future__ import annotations

import datetime as dt
from typing import Any

import duckdb
import pytest

from dashboards.superset.build import Dashboard, read_definition
from tests.given.lakes import LiteralLake, in_duckdb, publish
from tests.given.site import D1, D2, at

DEFINITION = read_definition()
BY_SLUG = {dashboard.slug.removeprefix("faultline-"): dashboard for dashboard in DEFINITION.dashboards}
NIGHT, BROKER, GROUP, CONSUMERS, FLEET = (
    BY_SLUG[slug] for slug in ("night", "broker", "producer-group", "consumer-groups", "fleet")
)
NINE = at(D2, "09:00:00")
Row = dict[str, Any]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> duckdb.DuckDBPyConnection:
    """Clusters `main` and `other` with the same broker, producer, producer group and consumer group."""
    folder = tmp_path_factory.mktemp("lake") / "lake"
    lake = LiteralLake(folder)
    _producers(lake)
    _brokers(lake)
    _consumers(lake)
    publish(folder, D1, D2)
    publish(folder, D1, cluster="other")
    publish(folder, D1, flow="ALLOCATION")
    return in_duckdb(folder)


def _producers(lake: LiteralLake) -> None:
    """Of `main`: two with one client id, one whose switch is assumed, one not replayed, one with the switch off."""
    new: Row = {"client_version": "5.1.4", "enforced": True}
    lake.add(
        "producer_days",
        D2,
        new | _who("c1", "g1") | {"sends": 100, "isolations": 2, "isolated_ms": 60_000, "contradictions": 1},
        new | _who("c1", "g2") | {"sends": 200, "failures": 6, "isolations": 1, "isolated_ms": 120_000},
        new | _who("c2", "g1") | {"enforced": False, "switch_assumed": True, "sends": 50, "isolated_ms": 300_000},
        _who("c3", "g1") | {"enforced": True, "not_replayed": "CLIENT_VERSION_UNKNOWN", "sends": 50},
        new | _who("c4", "g1") | {"enforced": False, "sends": 100, "isolated_ms": 30_000},
        new | _who("c1", "g1") | {"cluster": "other", "not_replayed": "SEVERAL_PROCESSES", "sends": 10},
    )
    isolation: Row = {"broker_name": "broker-a", "process": "p", "enforced": True, "policy": "P4", "cause": "LATENCY"}
    isolation |= {"start_ms": NINE, "counted_until_ms": NINE + 60_000}
    midnight = at(D2, "00:00:00")
    over_midnight = isolation | _who("c1", "g1") | {"broker_name": "broker-b"}
    lake.add(
        "isolation_intervals",
        D2,
        isolation | _who("c1", "g1") | {"end_ms": NINE + 60_000},
        isolation | _who("c1", "g2") | {"end_ms": NINE + 120_000},
        isolation | _who("c2", "g1") | {"end_ms": NINE + 300_000, "enforced": False},
        over_midnight
        | {"start_ms": midnight, "end_ms": midnight + 60_000, "counted_until_ms": midnight + 60_000}
        | {"continued_from_previous_day": True},
    )
    before = {"start_ms": midnight - 180_000, "end_ms": midnight, "counted_until_ms": midnight}
    lake.add("isolation_intervals", D1, over_midnight | before | {"continues_next_day": True})
    lake.add(
        "send_calls",
        D2,
        new | _who("c1", "g1") | {"failed": True, "retried": True},
        _who("c3", "g1") | {"retried": True, "slow": True},
        new | _who("c1", "g2") | {"slow": True},
        new | _who("c1", "g1") | {"cluster": "other", "failed": True},
    )


def _brokers(lake: LiteralLake) -> None:
    """An event of two brokers in `main`, one that cost nothing, and one of the same id in `other`."""
    minute: Row = {"window_start_ms": NINE, "sends": 250}
    lake.add(
        "broker_windows",
        D2,
        minute | {"broker_name": "broker-a", "failures": 6, "isolating_producers": 2, "isolated_ms": 180_000},
        minute | {"broker_name": "broker-b"},
        minute | {"cluster": "other", "broker_name": "broker-a", "sends": 10},
    )
    event: Row = {"kind": "REFUSED", "severity": "WARNING", "bad_from_ms": NINE, "last_bad_ms": NINE + 30_000}
    lake.add(
        "events",
        D2,
        event | {"event_id": "e1", "brokers": ["broker-a", "broker-b"], "lost_sends": 5},
        event | {"event_id": "e2", "brokers": ["broker-a"], "broker_name": "broker-a", "severity": "INFO"},
        event | {"event_id": "e1", "brokers": ["broker-a"], "slow_sends": 1, "cluster": "other"},
    )


def _consumers(lake: LiteralLake) -> None:
    """Group G with a queue of one owner, one of two, one of three; `other` has another owner of the first."""
    span: Row = {"consumer_group": "G", "start_ms": NINE, "end_ms": NINE + 60_000}
    queue = span | {"topic": "T", "broker_name": "broker-a", "source": "RUNNING_INFO"}
    lake.add(
        "queue_ownership",
        D2,
        queue | {"queue_id": 0, "client_id": "m1"},
        *(queue | {"queue_id": 1, "client_id": client} for client in ("m1", "m2")),
        *(queue | {"queue_id": 2, "client_id": client} for client in ("m1", "m2", "m3")),
        queue | {"queue_id": 0, "client_id": "n1", "cluster": "other"},
        *(queue | {"topic": name, "queue_id": 0, "client_id": "m1"} for name in ("%RETRY%G", "NO-%RETRY%")),
    )
    assigned = ({"queue_id": 0, "client_id": "m1"}, {"queue_id": 3, "client_id": None})
    lake.add("queue_allocation", D2, *(queue | each for each in assigned))
    lake.add(
        "group_members",
        D2,
        span | {"broker_name": "broker-a", "members": 3},
        span | {"broker_name": "broker-a", "members": 1, "cluster": "other"},
    )


def _who(client_id: str, producer_group: str) -> Row:
    return {"client_id": client_id, "producer_group": producer_group}


def _ask(lake: duckdb.DuckDBPyConnection, dashboard: Dashboard, title: str, **chosen: str) -> list[tuple[Any, ...]]:
    """The rows of a chart, as Superset asks for them: what it groups by, then its metrics; or its columns."""
    (chart,) = (each for each in dashboard.charts if each.title == title)
    dataset = DEFINITION.datasets[chart.of]
    chosen = {"Cluster": "main", "Day": str(D2)} | {name.replace("_", " "): value for name, value in chosen.items()}
    applied = [each for each in dashboard.filters if each.name in chosen and each.name not in chart.ignores]
    conditions = [f"{each.column} = '{chosen[each.name]}'" for each in applied if each.column in dataset.types]
    conditions += [f"({chart.where})"] if chart.where else []
    added = "".join(f", {sql} AS {name}" for name, sql in dataset.columns.items())
    source = f"(SELECT *{added} FROM {f'({dataset.sql})' if dataset.sql else dataset.name})"
    keys = list(dict.fromkeys(name for name in (*chart.rows, chart.line, *chart.by, *chart.columns) if name))
    figures = [dataset.metrics[name][1] for name in chart.metrics]
    grouped = f"GROUP BY {', '.join(keys)}" if keys and figures else ""
    query = f"SELECT {', '.join([*keys, *figures])} FROM {source} WHERE {' AND '.join(conditions)} {grouped}"
    return sorted(lake.execute(query).fetchall(), key=str)


@pytest.mark.parametrize(
    ("dashboard", "title", "chosen", "figure"),
    [
        (NIGHT, "Published (last day)", {}, D2),
        (NIGHT, "Published (last day)", {"Cluster": "other"}, D1),
        (CONSUMERS, "Published (last day)", {}, D1),
        (NIGHT, "Sends lost", {}, 1),
        (NIGHT, "Events that cost sends", {}, 1),
        (NIGHT, "Events that cost sends", {"Cluster": "other"}, 1),
        (NIGHT, "Events that cost sends", {"Broker": "broker-b"}, 1),
        (NIGHT, "Isolation (producer-minutes)", {}, 3.0),
        (NIGHT, "Isolation (producer-minutes)", {"Broker": "broker-b"}, 0.0),
        (NIGHT, "Isolation (producer-minutes)", {"Cluster": "other"}, None),
        (NIGHT, "Producers whose isolation is unknown", {}, 2),
        (NIGHT, "Producers whose isolation is unknown", {"Cluster": "other"}, 1),
        (BROKER, "Producers that isolated it", {"Broker": "broker-a"}, 2),
        (BROKER, "Failed attempts (%)", {"Broker": "broker-a"}, 2.4),
        (GROUP, "Sends lost", {"Producer_group": "g1"}, 1),
        (GROUP, "Sends saved by a retry", {"Producer_group": "g1"}, 1),
        (GROUP, "Slow sends", {"Producer_group": "g1"}, 0),
        (GROUP, "Isolation (broker-minutes)", {"Producer_group": "g1"}, 1.0),
        (GROUP, "Isolation (broker-minutes)", {"Producer_group": "g1", "Cluster": "other"}, None),
        (FLEET, "Producers", {}, 5),
        (FLEET, "Producers with the switch off", {}, 1),
        (FLEET, "Producers whose switch is not known", {}, 1),
        (FLEET, "Isolation (broker-minutes)", {}, 3.0),
        (FLEET, "Contradictions", {}, 1),
        (FLEET, "Contradictions", {"Cluster": "other"}, None),
        (CONSUMERS, "Owners are known until (UTC)", {"Consumer_group": "G"}, dt.datetime.combine(D2, dt.time(9, 1))),
    ],
)
def test_a_number_is_that_of_the_chosen_cluster(
    lake: duckdb.DuckDBPyConnection, dashboard: Dashboard, title: str, chosen: dict[str, str], figure: object
) -> None:
    assert _ask(lake, dashboard, title, **chosen) == [(figure,)]


def test_an_event_of_two_brokers_is_listed_once(lake: duckdb.DuckDBPyConnection) -> None:
    start = dt.datetime.combine(D2, dt.time(9))
    both = ("WARNING", "broker-a and broker-b", "REFUSED", start, 30.0, "e1", 5, 0, 0)
    one = ("INFO", "broker-a", "REFUSED", start, 30.0, "e2", 0, 0, 0)
    assert _ask(lake, NIGHT, "Events, by sends lost") == [one, both]
    assert _ask(lake, NIGHT, "Events, by sends lost", Broker="broker-b") == [both]
    assert _ask(lake, BROKER, "Events at this broker", Broker="broker-b") == [
        ("WARNING", "REFUSED", "e1", 2, start, 30.0, 5, 0, 0)
    ]


def test_versions_are_compared_by_what_they_sent(lake: duckdb.DuckDBPyConnection) -> None:
    title = "Lost, saved and slow sends per million attempts by client version: 20 that lose most"
    known, unknown = _ask(lake, FLEET, title)
    assert known == ("5.1.4", pytest.approx(1e6 / 450), 0, pytest.approx(1e6 / 450))
    assert unknown == ("unknown", 0, 20_000, 0)


def test_isolation_by_version_leaves_out_who_was_not_replayed(lake: duckdb.DuckDBPyConnection) -> None:
    title = "Isolation per producer by client version (broker-minutes): 20 most"
    assert _ask(lake, FLEET, title) == [("5.1.4", 1.5), ("unknown", None)]
    assert _ask(lake, FLEET, "Producers by client version and switch") == [
        ("5.1.4", "not known", 1),
        ("5.1.4", "off", 1),
        ("5.1.4", "on", 2),
        ("unknown", "on", 1),
    ]
    listed = {(row[0], row[2], row[4], row[8]) for row in _ask(lake, GROUP, "Its producers", Producer_group="g1")}
    assert listed == {
        ("c1", "on", None, 1.0),
        ("c2", "not known", None, 5.0),
        ("c3", "on", "CLIENT_VERSION_UNKNOWN", None),
        ("c4", "off", None, 0.5),
    }


def test_an_isolation_over_midnight_is_one(lake: duckdb.DuckDBPyConnection) -> None:
    title = "How long a ladder isolates for which cause (isolations that began on the day)"
    assert _ask(lake, FLEET, title) == [("P4", "LATENCY", 2, 90.0, 120.0, 3.0)]
    assert _ask(lake, FLEET, title, Day=str(D1)) == [("P4", "LATENCY", 1, 240.0, 240.0, 4.0)]


def test_owners_are_those_of_one_cluster(lake: duckdb.DuckDBPyConnection) -> None:
    title = "Owners of queues at the end of the data: by running info, client log and strategy"
    assert _ask(lake, CONSUMERS, title, Consumer_group="G", Topic="T") == [
        ("T", "broker-a", 0, "RUNNING_INFO", "m1"),
        ("T", "broker-a", 0, "STRATEGY", "m1"),
        ("T", "broker-a", 1, "RUNNING_INFO", "m1 and m2"),
        ("T", "broker-a", 2, "RUNNING_INFO", "3 owners: m1 to m3"),
        ("T", "broker-a", 3, "STRATEGY", "nobody"),
    ]
    assert _ask(lake, CONSUMERS, title, Consumer_group="G", Cluster="other") == [
        ("T", "broker-a", 0, "RUNNING_INFO", "n1")
    ]


def test_only_topics_that_begin_so_are_retry_topics(lake: duckdb.DuckDBPyConnection) -> None:
    shown = _ask(lake, CONSUMERS, "Who owned each queue (retry topics left out)", Consumer_group="G")
    assert {queue.partition(" ")[0] for queue, *_ in shown} == {"T", "NO-%RETRY%"}


@pytest.mark.parametrize("dashboard", BY_SLUG.values(), ids=lambda each: each.slug)
def test_first_choices_are_of_one_cluster_and_day(lake: duckdb.DuckDBPyConnection, dashboard: Dashboard) -> None:
    """Filters choose their first values without knowing those of others; a group without rebalances can be chosen."""
    first = {}
    required = [each for each in dashboard.filters if not each.several]
    for each in required:
        dataset = DEFINITION.datasets[each.of]
        order = dataset.metrics[each.most][1] if each.most else each.column
        source = f"({dataset.sql})" if dataset.sql else each.of
        asked = f"SELECT *, {dataset.columns['day']} AS day FROM {source}"
        (first[each.column],) = lake.execute(
            f"SELECT {each.column} FROM ({asked}) GROUP BY {each.column} ORDER BY {order} DESC LIMIT 1"
        ).fetchall()[0]
    assert (first["cluster"], first["day"]) == ("main", str(D2))
    assert first.get("broker_name", "broker-a") == "broker-a"
    assert first.get("producer_group", "g2") == "g2"
    assert first.get("consumer_group", "G") == "G"
