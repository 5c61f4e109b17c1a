"""The views answer their questions over a published lake, in Spark and in DuckDB alike."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from jobs.lake.tables_io import Lake
from jobs.serving.register import register
from jobs.serving.views import VIEWS, read_view
from jobs.tables import TABLES
from tests.given.lakes import LiteralLake, in_duckdb, publish
from tests.given.site import D1, D2, D3, START, at
from udfs.plain_outcome import ANSWERS

Ask = Callable[[str], list[tuple[Any, ...]]]
MINUTE = 60_000
HOSTILE = "b'; DROP TABLE sends; --\n<script>\"`$"


def run(day: Any, flow: str = "FAULT_LATENCY", status: str = "SUCCEEDED", **other: Any) -> dict[str, Any]:
    return {"run_id": f"{day}{status}", "command": "nightly", "flow": flow, "status": status, **other}


def isolation(start: int, seconds: int, **other: Any) -> dict[str, Any]:
    end = start + seconds * 1000
    same = {"client_id": "p1", "producer_group": "PG", "process": "A", "broker_name": "broker-a", "cause": "LATENCY"}
    times = {"start_ms": start, "end_ms": end, "end_earliest_ms": end, "end_latest_ms": end}
    return same | times | {"enforced": True, "ended_by": "EXPIRED"} | other


def minute(start: int, broker: str, **figures: int) -> dict[str, Any]:
    return {"broker_name": broker, "window_start_ms": start, "sends": 1, **figures}


def attempt(ended: int, latency: int, outcome: str = "SEND_OK", mode: str = "SYNC") -> dict[str, Any]:
    return {"client_id": "p1", "broker_name": "broker-a", "ended_at_ms": ended, "latency_ms": latency,
            "outcome": outcome, "mode": mode, "row_hash": ended}  # fmt: skip


def call(**other: Any) -> dict[str, Any]:
    return {"client_id": "p1", "producer_group": "PG", "attempts": 1} | other


def held(client: str | None, since: int, until: int, queue: int = 0, **other: Any) -> dict[str, Any]:
    return {"consumer_group": "G", "topic": "T", "broker_name": "broker-a", "queue_id": queue, "client_id": client,
            "start_ms": since, "end_ms": until, "source": "RUNNING_INFO"} | other  # fmt: skip


def producer(client_id: str, isolated_ms: int, sends: int, **other: Any) -> dict[str, Any]:
    same = {"producer_group": "PG", "enforced": True, "isolations": 1}
    return same | {"client_id": client_id, "isolated_ms": isolated_ms, "sends": sends} | other


def rebalance(topic: str, step: int, trigger: str, moved: int) -> dict[str, Any]:
    moves = {"queues": 8, "moved": moved, "fewest_moves": 1, "moved_beyond_fewest": moved - 1}
    return {"consumer_group": "G", "topic": topic, "changed_at_ms": NIGHT + step, "trigger": trigger} | moves


def finding(kind: str, severity: str, sentence: str, **other: Any) -> dict[str, Any]:
    return {"kind": kind, "severity": severity, "sentence": sentence, "start_ms": NIGHT} | other


NIGHT = at(D2, "01:00:00")
EVENT = {
    "event_id": "e", "broker_name": "broker-a", "brokers": ["broker-a"], "kind": "TIMED_OUT", "severity": "WARNING",
    "bad_from_ms": NIGHT, "last_bad_ms": NIGHT + 700, "bad_until_ms": NIGHT + 5_000,
}  # fmt: skip


@pytest.fixture(scope="module")
def spark(spark: SparkSession) -> SparkSession:
    """A session of its own, whose current database is nobody else's."""
    return spark.newSession()


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> LiteralLake:
    """Two nights of `main`, the first of them the last one of `other`; a third day only failed."""
    made = LiteralLake(tmp_path_factory.mktemp("views") / "lake")
    for day in (D1, D2):
        made.add("run_log", day, run(day), run(day, "ALLOCATION"), run(day, status="STARTED"))
    made.add("run_log", D1, run(D1, cluster="other"))
    made.add("run_log", D3, run(D3, status="FAILED"), run(D3, "ALLOCATION"))  # its last night is a later one
    made.add(
        "isolation_intervals", D1, isolation(at(D1, "12:00:00"), 120), isolation(at(D1, "12:00:00"), 7, cluster="other")
    )
    made.add(
        "isolation_intervals",
        D2,
        isolation(NIGHT, 60, end_latest_ms=NIGHT + 61_500),
        isolation(NIGHT + 1, 15, client_id="p2"),
        isolation(NIGHT + 90_000, 15, client_id="p2"),
        isolation(NIGHT, 30, broker_name=HOSTILE),
        isolation(NIGHT, 999, client_id="p3", enforced=False),
        isolation(NIGHT + 2, 0, client_id="p4"),
    )
    made.add(
        "broker_windows",
        D1,
        minute(at(D1, "12:00:00"), "broker-a", isolated_ms=60_000, failures=1),
        minute(at(D1, "12:01:00"), "broker-a", isolated_ms=60_000),
        minute(at(D1, "12:00:00"), "broker-gone"),
    )
    made.add(
        "broker_windows",
        D2,
        minute(NIGHT, "broker-a", isolated_ms=90_000, sends=20, failures=3),
        minute(NIGHT, HOSTILE, isolated_ms=30_000),
        minute(NIGHT, "broker-c"),
    )
    info = {"event_id": "info", "severity": "INFO", "bad_from_ms": NIGHT + 20 * MINUTE}
    everywhere = {
        "event_id": "all", "broker_name": None, "brokers": ["broker-a", "broker-c"],
        "bad_from_ms": NIGHT + 60 * MINUTE, "last_bad_ms": NIGHT + 61 * MINUTE, "bad_until_ms": None,
    }  # fmt: skip
    made.add("events", D2, EVENT, EVENT | info, EVENT | everywhere)
    made.add(
        "sends",
        D2,
        attempt(NIGHT - 10 * MINUTE - 1, 9_999),  # before the ten minutes
        *(attempt(NIGHT - 10 * MINUTE + step, step) for step in range(1, 21)),  # 1 to 20 ms
        attempt(NIGHT, 3_000, "RemotingTimeoutException"),
        attempt(NIGHT + 1, 700),
        attempt(NIGHT + 2, 5_000, "SENT", "ONEWAY"),
        attempt(NIGHT + 5_000, 4),  # the end is exclusive
        attempt(NIGHT + 5_000 + 10 * MINUTE, 9_999),
    )
    failed, retried, slow = call(failed=True), call(retried=True), call(slow=True)
    made.add("send_calls", D1, failed)
    made.add("send_calls", D2, failed, call(failed=True, retried=True, slow=True), call(failed=True, attempts=0),
             retried, call(retried=True, slow=True), slow, call(), call(slow=True, producer_group="PG_b"))  # fmt: skip
    made.add("producer_days", D1, producer("p1@1", 120_000, 10))
    made.add("producer_days", D2, producer("p1@2", 60_000, 8), producer("p2@2", 30_000, 2))
    made.add("producer_days", D2, producer("off", 999_000, 1, producer_group="OFF", enforced=False))
    made.add(
        "queue_ownership",
        D1,
        held("c1", at(D1, "22:00:00"), START[D2]),
        held("c0", at(D1, "20:00:00"), at(D1, "22:00:00")),
    )
    made.add("queue_ownership", D2, held("c1", START[D2], at(D2, "00:30:00.020")),
             held("c2", at(D2, "00:10:00"), at(D2, "00:30:00"), queue=1),
             held("c3", at(D2, "00:00:00"), at(D2, "00:10:00"), queue=1),
             held("c9", at(D2, "00:00:00"), at(D2, "00:20:00"), queue=2),
             held("c4", at(D2, "00:10:00"), at(D2, "00:29:50"), queue=4),
             held("c5", at(D2, "00:29:50"), at(D2, "00:30:00"), queue=4))  # fmt: skip
    allocated: dict[str, Any] = {"strategy": "AVG", "strategy_source": "SETTINGS", "in_route": True, "source": None}
    made.add("queue_allocation", D1, held("c1", at(D1, "21:00:00"), START[D2], **allocated))
    made.add("queue_allocation", D2, held("c1", START[D2], at(D2, "00:31:00"), **allocated),
             held(None, START[D2], at(D2, "00:31:00"), queue=3, **allocated))  # fmt: skip
    made.add(
        "rebalances", D2, rebalance("T", 0, "JOINED", 4), rebalance("T", 9, "LEFT", 1), rebalance("U", 5, "QUEUES", 2)
    )
    made.add("rebalances", D3, rebalance("T", 0, "JOINED", 5))
    made.add(
        "allocation_findings",
        D2,
        {"kind": "FLAPPING", "consumer_group": "H", "sentence": "H flaps"},
        {"kind": "FLAPPING", "consumer_group": None},
        {"kind": "IDLE_CLIENT", "consumer_group": "G"},
    )
    made.add(
        "findings",
        D2,
        finding("CLOCK_STEP", "INFO", "a clock stepped"),
        finding("SENT_WHILE_ISOLATED", "WARNING", "it sent on"),
        finding("ALL_ISOLATED", "CRITICAL", "nothing was left", client_id=HOSTILE, event_id="e"),
    )
    return made


@pytest.fixture(scope="module", params=["spark", "duckdb"])
def ask(request: pytest.FixtureRequest, lake: LiteralLake) -> Iterator[Ask]:
    """A question in SQL about the lake to its rows, by each engine."""
    if request.param == "spark":
        spark: SparkSession = request.getfixturevalue("spark")
        assert register(spark, Lake(spark, str(lake.folder)), "questions").views == VIEWS
        spark.catalog.setCurrentDatabase("questions")
        yield lambda sql: [tuple(row) for row in spark.sql(sql).collect()]
        spark.catalog.setCurrentDatabase("default")
        spark.sql("DROP DATABASE questions CASCADE")
        return
    yield by_duckdb(lake)


def by_duckdb(lake: LiteralLake) -> Ask:
    file = in_duckdb(lake.folder)
    return lambda sql: file.sql(sql).fetchall()


def test_who_isolated_a_broker_last_night(ask: Ask) -> None:
    found = ask(
        "SELECT client_id, start_at = end_at, isolated_ms, end_uncertain_ms, cause, ended_by FROM broker_isolations"
        " WHERE last_night AND cluster = 'main' AND broker_name = 'broker-a' ORDER BY isolated_ms DESC"
    )
    twice = [("p2", False, 15_000, 0, "LATENCY", "EXPIRED")] * 2
    assert found == [("p1", False, 60_000, 1_500, "LATENCY", "EXPIRED"), *twice]
    nights = ask("SELECT cluster, event_date, last_night, count(*) FROM broker_isolations GROUP BY ALL ORDER BY ALL")
    assert nights == [("main", D1, False, 1), ("main", D2, True, 4), ("other", D1, True, 1)]


def test_the_worst_broker_by_producer_minutes(ask: Ask) -> None:
    found = ask(
        "SELECT place, broker_name, isolated_producer_minutes, isolations, isolating_producers, events, sends,"
        " failures FROM worst_brokers WHERE last_night AND cluster = 'main' ORDER BY place"
    )
    assert found == [
        (1, "broker-a", 1.5, 3, 2, 2, 20, 3),
        (2, HOSTILE, 0.5, 1, 1, 0, 1, 0),
        (3, "broker-c", 0.0, 0, 0, 1, 1, 0),
    ]


def test_latency_before_during_and_after_an_event(ask: Ask) -> None:
    found = ask(
        "SELECT phase, sends, failures, latency_p50_ms, latency_p95_ms, latency_p99_ms, latency_max_ms, last_night"
        " FROM event_latencies WHERE event_id = 'e' ORDER BY from_ms"
    )
    assert found == [
        ("BEFORE", 20, 0, 10, 19, 20, 20, True),
        ("DURING", 3, 1, 700, 700, 700, 700, True),
        ("AFTER", 1, 0, 4, 4, 4, 4, True),
    ]


def test_an_event_of_several_brokers_has_phases_at_each(ask: Ask) -> None:
    """Without a later answer it lasts to the last bad attempt."""
    found = ask(
        "SELECT broker_name, phase, from_ms, until_ms FROM event_latencies WHERE event_id = 'all'"
        " ORDER BY broker_name, from_ms"
    )
    since, until = NIGHT + 60 * MINUTE, NIGHT + 61 * MINUTE + 1
    phases = [
        ("BEFORE", since - 10 * MINUTE, since), ("DURING", since, until), ("AFTER", until, until + 10 * MINUTE),
    ]  # fmt: skip
    assert found == [(broker, *phase) for broker in ("broker-a", "broker-c") for phase in phases]


def test_an_event_of_one_attempt_has_that_attempt(tmp_path: Path) -> None:
    made = LiteralLake(tmp_path / "lake")
    made.add("run_log", D2, run(D2))
    made.add("events", D2, EVENT | {"bad_from_ms": NIGHT - 1, "last_bad_ms": NIGHT, "bad_until_ms": None})
    made.add("broker_windows", D2, minute(NIGHT, "broker-a"))
    made.add("sends", D2, attempt(NIGHT, 1, "RemotingConnectException"))
    found = by_duckdb(made)("SELECT phase, sends, failures FROM event_latencies ORDER BY from_ms")
    assert found == [("BEFORE", 0, 0), ("DURING", 1, 1), ("AFTER", 0, 0)]


def test_what_is_around_an_event_may_lie_on_the_days_beside_it(tmp_path: Path) -> None:
    made = LiteralLake(tmp_path / "lake")
    made.add("run_log", D2, run(D2))
    starts, ends = at(D2, "00:05:00"), at(D2, "23:55:00")
    made.add("events", D2, EVENT | {"bad_from_ms": starts, "last_bad_ms": starts, "bad_until_ms": ends})
    made.add("broker_windows", D2, minute(starts, "broker-a"), minute(starts + MINUTE, "broker-a"))
    for day, clock in ((D1, "23:54:59"), (D1, "23:58:00"), (D2, "00:04:00"), (D2, "12:00:00"), (D3, "00:02:00")):
        made.add("sends", day, attempt(at(day, clock), 1))
    found = by_duckdb(made)("SELECT phase, sends, from_ms, until_ms FROM event_latencies ORDER BY from_ms, sends")
    before, after = (starts - 10 * MINUTE, starts), (ends, ends + 10 * MINUTE)
    assert found == [("BEFORE", 2, *before), ("DURING", 1, starts, ends), ("AFTER", 1, *after)]


def test_the_outcomes_in_a_view_are_those_of_the_rule() -> None:
    listed = re.findall(r"outcome IN \(([^)]*)\)", read_view("event_latencies").select)
    assert [tuple(re.findall(r"'(\w+)'", each)) for each in listed] == [(*ANSWERS, "SENT"), ANSWERS]


def test_what_the_night_cost_by_producer_group(ask: Ask) -> None:
    columns = "event_date, last_night, producer_group, lost, unsent, saved, slow"
    assert ask(f"SELECT {columns} FROM send_costs ORDER BY event_date, producer_group") == [
        (D1, False, "PG", 1, 0, 0, 0),
        (D2, True, "PG", 3, 1, 2, 1),
        (D2, True, "PG_b", 0, 0, 0, 1),
    ]


def test_what_changed_since_the_day_before(ask: Ask) -> None:
    names = ("isolated_ms", "isolations", "events", "sends")
    figures = ", ".join(f"{name}, {name}_before" for name in names)
    found = ask(f"SELECT subject, name, change, {figures} FROM day_changes WHERE last_night AND cluster = 'main'"
                " ORDER BY subject, change, name")  # fmt: skip
    assert found == [
        ("BROKER", "broker-a", "BETTER", 90_000, 120_000, 3, 1, 2, 0, 20, 2),
        ("BROKER", "broker-gone", "GONE", None, 0, None, 0, None, 0, None, 1),
        ("BROKER", HOSTILE, "NEW", 30_000, None, 1, None, 0, None, 1, None),
        ("BROKER", "broker-c", "NEW", 0, None, 0, None, 1, None, 1, None),
        ("PRODUCER_GROUP", "PG", "BETTER", 90_000, 120_000, 2, 1, None, None, 10, 10),
    ]
    first = ask("SELECT DISTINCT change, isolated_ms_before FROM day_changes WHERE event_date = DATE '2026-03-01'")
    assert first == [("UNKNOWN", None)]


@pytest.mark.parametrize(
    ("before", "now", "change"),
    [
        ((1, 9), (2, 0), "WORSE"),
        ((2, 0), (1, 9), "BETTER"),
        ((1, 1), (1, 2), "WORSE"),
        ((1, 2), (1, 1), "BETTER"),
        ((1, 1), (1, 1), "SAME"),
    ],
)
def test_longer_isolated_is_worse_and_as_long_with_more_failures_too(
    tmp_path: Path, before: tuple[int, int], now: tuple[int, int], change: str
) -> None:
    made = LiteralLake(tmp_path / "lake")
    for day, (isolated_ms, failures) in ((D1, before), (D2, now)):
        made.add("run_log", day, run(day))
        made.add("broker_windows", day, minute(START[day], "b", isolated_ms=isolated_ms, failures=failures))
        made.add("broker_windows", day, minute(START[day] + MINUTE, "b", isolated_ms=1, failures=1))
        made.add("events", day, EVENT | {"brokers": ["b"], "severity": "INFO"})
    asked = "SELECT change, failures_before, failures, events_before, events FROM day_changes WHERE last_night"
    assert by_duckdb(made)(asked) == [(change, before[1] + 1, now[1] + 1, 0, 0)]


def test_a_day_that_is_not_published_is_compared_with_nothing(ask: Ask) -> None:
    assert ask("SELECT count(*) FROM day_changes WHERE event_date = DATE '2026-03-03'") == [(0,)]


def test_who_owns_a_queue_and_since_when(ask: Ask) -> None:
    columns = "queue_id, source, client_id, since_ms, until_ms, strategy"
    found = ask(f"SELECT {columns} FROM queue_owners WHERE is_current ORDER BY source, queue_id")
    assert found == [
        (0, "RUNNING_INFO", "c1", at(D1, "22:00:00"), at(D2, "00:30:00.020"), None),
        (1, "RUNNING_INFO", "c2", at(D2, "00:10:00"), at(D2, "00:30:00"), None),
        (4, "RUNNING_INFO", "c5", at(D2, "00:29:50"), at(D2, "00:30:00"), None),
        (0, "STRATEGY", "c1", at(D1, "21:00:00"), at(D2, "00:31:00"), "AVG"),
        (3, "STRATEGY", None, START[D2], at(D2, "00:31:00"), "AVG"),
    ]
    before = ask("SELECT queue_id, client_id FROM queue_owners WHERE NOT is_current ORDER BY queue_id")
    assert before == [(0, "c0"), (1, "c3"), (2, "c9"), (4, "c4")]


def test_groups_that_keep_rebalancing(ask: Ask) -> None:
    moves = "member_changes, queue_changes, queues_moved, moved_beyond_fewest"
    columns = f"consumer_group, rebalances, topics, {moves}, flapping_findings"
    asked = f"SELECT last_night, {columns} FROM flapping_groups ORDER BY event_date, consumer_group"
    assert ask(asked) == [
        (False, "G", 3, 2, 2, 1, 7, 4, 0),
        (False, "H", 0, 0, 0, 0, 0, 0, 1),
        (True, "G", 1, 1, 1, 0, 5, 4, 0),
    ]


def test_the_findings_of_the_night_gravest_first(ask: Ask) -> None:
    found = ask(
        "SELECT severity, kind, event_id, client_id, sentence FROM night_findings WHERE last_night"
        " ORDER BY severity_rank"
    )
    assert found == [
        ("CRITICAL", "ALL_ISOLATED", "e", HOSTILE, "nothing was left"),
        ("WARNING", "SENT_WHILE_ISOLATED", None, None, "it sent on"),
        ("INFO", "CLOCK_STEP", None, None, "a clock stepped"),
    ]


def test_a_view_documents_its_question_and_each_of_its_columns(lake: LiteralLake) -> None:
    file = in_duckdb(lake.folder)
    for view in map(read_view, VIEWS):
        assert view.question.endswith("?")
        assert file.sql(f"FROM {view.name}").columns == list(view.columns)
        resting = (
            "SELECT table_name FROM duckdb_tables() WHERE regexp_matches(?, '\\b(FROM|JOIN) ' || table_name || '\\b')"
        )
        assert {name for (name,) in file.execute(resting, [view.select]).fetchall()} == {
            table.name for table in view.tables
        }


@pytest.mark.parametrize("name", VIEWS)
def test_the_query_in_the_head_of_a_view_runs(ask: Ask, name: str) -> None:
    (query,) = re.findall(r"^-- Ask it: (.+)$", read_view(name).select, re.MULTILINE)
    assert isinstance(ask(query), list)


def test_every_file_of_sql_is_a_view() -> None:
    folder = Path(__file__).parents[2] / "jobs" / "serving" / "sql"
    assert sorted(file.stem for file in folder.glob("*.sql")) == sorted(VIEWS)


STITCHED = [
    (False, 950, 970, "LATENCY", "EXPIRED", 1),
    (True, 900, 2_100, "LATENCY", "CLEARED", 3),
    (True, 2_500, 2_600, "MQBrokerException", "EXPIRED", 1),
]


@pytest.fixture(scope="module")
def stitched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One isolation cut at two midnights, and two others of the same item."""
    made = LiteralLake(
        tmp_path_factory.mktemp("stitched") / "lake", [each for each in TABLES if each.name == "isolation_intervals"]
    )

    def row(start: int, end: int, ended_by: str, **other: Any) -> dict[str, Any]:
        return isolation(start, 0, end_ms=end, ended_by=ended_by, continues_next_day=ended_by == "DAY_END") | other

    made.add("isolation_intervals", D1, row(900, 1_000, "DAY_END"), row(950, 970, "EXPIRED", enforced=False))
    made.add("isolation_intervals", D2, row(1_000, 2_000, "DAY_END", continued_from_previous_day=True))
    made.add("isolation_intervals", D3, row(2_000, 2_100, "CLEARED", continued_from_previous_day=True),
             row(2_500, 2_600, "EXPIRED", cause="MQBrokerException"))  # fmt: skip
    publish(made.folder, D3)
    return made.folder


def test_an_isolation_over_two_midnights_is_whole(spark: SparkSession, stitched: Path) -> None:
    asked = "SELECT enforced, start_ms, end_ms, cause, ended_by, days FROM ({}) ORDER BY enforced, start_ms"
    asked = asked.format(read_view("whole_isolations").select)
    own = spark.newSession()  # the view would hide the table of that name from the others
    own.read.format("delta").load(str(stitched / "isolation_intervals")).createTempView("isolation_intervals")
    assert [tuple(row) for row in own.sql(asked).collect()] == STITCHED
    assert in_duckdb(stitched).sql(asked).fetchall() == STITCHED
