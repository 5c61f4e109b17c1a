"""What stands at midnight: passed on over an empty day, dead with its process, marked when unknown, whole in a view."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from pyspark.sql import SparkSession

from jobs.answers.published import open_published
from jobs.answers.report import render
from jobs.answers.show import Narrowed, ask
from jobs.errors import InputMissingError, LakeBusyError
from jobs.lake.tables_io import Lake
from jobs.serving.register import register
from jobs.serving.views import read_view
from jobs.settings.load import load_settings
from jobs.tables import RUN_LOG, TABLES
from tests.given.site import D1, D2, D3, START, Line, Site, at, send

END_OF_D2, END_OF_D3 = START[D3], START[D3] + 86_400_000
EARLY = (at(D1, "00:09:59.999"), at(D1, "00:10:00.000"))


# p1, 5.1.4: broker-a unreachable from noon of the first day on. p2 likewise, until its process B starts on the third.
# p3, 5.3.3: broker-a isolated for 10 s, four of them on the first day. p4, 4.9.8: two brokers at the end of what
# nobody knows of, as there is no day before the first.
def _evicted(client: str, **other: object) -> Line:
    return send(at(D1, "12:00:00"), 10, "MQBrokerException", client_id=client, client_version="5.1.4", **other)


def _timed_out(ended_at_ms: int, broker: str) -> Line:
    failure = (3_000, "RemotingTimeoutException")
    return send(ended_at_ms, *failure, client_id="p4", client_version="4.9.8", broker_name=broker)


LOG = [
    _evicted("p1"),
    _evicted("p2", process_id="A"),
    send(at(D3, "10:00:00"), 10, client_id="p2", client_version="5.1.4", process_id="B", broker_name="broker-b"),
    send(at(D1, "23:59:56"), 10, "RemotingTimeoutException", client_id="p3"),
    _timed_out(EARLY[0], "broker-a"),
    _timed_out(EARLY[1], "broker-b"),
]


@pytest.fixture(scope="module")
def nights(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Site:
    """Three nights in order, by one command; nothing was sent on the second day."""
    site = Site(spark, tmp_path_factory.mktemp("nights"))
    site.log(LOG)
    site.run(D1, D2, D3, allow_empty=True)
    return site


@pytest.mark.fault(4)
def test_an_empty_day_passes_the_state_on(nights: Site) -> None:
    chosen = ("client_id", "process", "broker_name", "available_at_ms", "reachable", "cause", "last_ended_at_ms")
    state = nights.rows("fault_item_state", *chosen, event_date=D1)
    assert [(row["client_id"], row["available_at_ms"], row["reachable"]) for row in state] == [
        ("p1", at(D1, "12:00:10"), False),
        ("p2", at(D1, "12:00:10"), False),
        ("p3", at(D2, "00:00:06"), True),
        *(("p4", start + 600_000, True) for start in EARLY),
    ]
    still_isolated = state[:2]
    assert nights.rows("fault_item_state", *chosen, event_date=D2) == still_isolated
    assert nights.rows("sends", "client_id", event_date=D2) == []


def test_items_of_a_dead_process_are_gone(nights: Site) -> None:
    state = nights.rows("fault_item_state", "client_id", "process", "broker_name", event_date=D3)
    assert state == [
        {"client_id": "p1", "process": "p1", "broker_name": "broker-a"},
        {"client_id": "p2", "process": "B", "broker_name": "broker-b"},
    ]


def test_answers_without_spark_read_what_spark_wrote(spark: SparkSession, nights: Site) -> None:
    published = open_published(str(nights.lake), None, D1, D3)
    assert published.days == (D1, D2, D3)
    for table in TABLES:
        there = nights.rows(table.name) if (nights.lake / table.name).is_dir() else []
        of_these_days = [row for row in there if row["event_date"] in published.days]  # a refused one is logged too
        assert published.rows(table, table.schema.fieldNames()).num_rows == len(of_these_days)
    assert len(nights.rows("sends")) == spark.read.format("delta").load(str(nights.lake / "sends")).count() > 0
    answer = ask(published, "isolations", Narrowed({"client_id": "p2"}))
    assert [(row["event_date"], row["ended_by"]) for row in answer.rows] == [
        (D1, "DAY_END"),
        (D2, "DAY_END"),
        (D3, "RESTARTED"),
    ]
    assert "broker-a" in render(published)


@pytest.mark.fault(22)
def test_each_day_has_its_part_of_the_isolation(nights: Site) -> None:
    columns = ("start_ms", "end_ms", "ended_by", "continued_from_previous_day", "continues_next_day")
    noon, born = at(D1, "12:00:00"), at(D3, "09:59:59.990")
    assert [tuple(row.values()) for row in nights.rows("isolation_intervals", *columns, client_id="p2")] == [
        (noon, START[D2], "DAY_END", False, True),
        (START[D2], END_OF_D2, "DAY_END", True, True),
        (START[D3], born, "RESTARTED", True, False),
    ]
    failed, available = at(D1, "23:59:56"), at(D2, "00:00:06")
    why = (*columns, "cause", "after_unknown_start")
    assert [tuple(row.values()) for row in nights.rows("isolation_intervals", *why, client_id="p3")] == [
        (failed, START[D2], "DAY_END", False, True, "RemotingTimeoutException", False),
        (START[D2], available, "EXPIRED", True, False, "RemotingTimeoutException", False),
    ]


def test_a_view_has_it_whole(spark: SparkSession, nights: Site) -> None:
    own = spark.newSession()  # temporary views of other tests would hide the tables
    register(own, Lake(own, str(nights.lake)), "nights")
    whole = own.table("nights.whole_isolations").orderBy("client_id", "start_ms").collect()
    own.sql("DROP DATABASE nights CASCADE")
    noon = at(D1, "12:00:00")
    columns = ("client_id", "start_ms", "end_ms", "ended_by", "began_before_the_lake", "still_stands", "days", "cause")
    assert [tuple(row[name] for name in columns) for row in whole] == [
        ("p1", noon, END_OF_D3, None, False, True, 3, "MQBrokerException"),
        ("p2", noon, at(D3, "09:59:59.990"), "RESTARTED", False, False, 3, "MQBrokerException"),
        ("p3", at(D1, "23:59:56"), at(D2, "00:00:06"), "EXPIRED", False, False, 2, "RemotingTimeoutException"),
        *(("p4", start, start + 600_000, "EXPIRED", False, False, 1, "RemotingTimeoutException") for start in EARLY),
    ]
    # Once both are isolated, the fallback of p4 may have forgotten either: no route says who has queues of the topic.
    assert [(row["end_earliest_ms"], row["end_latest_ms"]) for row in whole] == [
        (EARLY[1] if row["client_id"] == "p4" else row["end_ms"], row["end_ms"]) for row in whole
    ]


def _row(day: dt.date, start: int, end: int, ended_by: str, **other: object) -> dict[str, Any]:
    stamps = {f"{name}_at": dt.datetime(2026, 3, 1, tzinfo=dt.UTC) for name in ("start", "end")}
    names = ("cluster", "client_id", "producer_group", "process", "broker_name", "profile", "policy", "client_version",
             "cause", "evidence")  # fmt: skip
    same = dict.fromkeys(names, "x")
    base = {"event_date": day, "start_ms": start, "end_ms": end, "end_earliest_ms": end, "end_latest_ms": end,
            "opener_latency_ms": 1, "extensions": 0, "ended_by": ended_by, "enforced": True,
            "continued_from_previous_day": False, "continues_next_day": ended_by == "DAY_END"}  # fmt: skip
    return same | stamps | base | other


@pytest.mark.fault(4, 14)
def test_a_day_without_lines_is_refused_and_logged(nights: Site) -> None:
    derived = [table.name for table in TABLES if (nights.lake / table.name).is_dir() and table is not RUN_LOG]
    before = {name: nights.version(name) for name in derived}
    assert before
    with pytest.raises(InputMissingError, match="no good line of 2026-03-09 in 6 lines of sends; they hold 2026-03-01"):
        nights.run(dt.date(2026, 3, 9))
    assert {name: nights.version(name) for name in derived} == before
    failed = nights.rows("run_log", "event_date", "message", status="FAILED")
    assert [row["event_date"] for row in failed] == [dt.date(2026, 3, 9)]
    assert "no good line of 2026-03-09" in failed[0]["message"]


@pytest.mark.fault(27)
def test_a_held_lake_refuses_a_second_run(spark: SparkSession, nights: Site) -> None:
    held = Lake(spark, str(nights.lake)).locked("first", lambda: dt.datetime(2026, 4, 1, tzinfo=dt.UTC))
    with held, pytest.raises(LakeBusyError, match=r"is held by run first \(process"):
        nights.run(D1)


def test_the_view_joins_only_what_belongs_together(spark: SparkSession) -> None:
    rows = [
        _row(D1, 10, 20, "EXPIRED"),
        _row(D1, 30, 100, "DAY_END", end_earliest_ms=90),  # the second day's row goes on from here
        _row(D2, 100, 120, "EXPIRED", continued_from_previous_day=True, extensions=2, end_latest_ms=130),
        _row(D2, 150, 200, "DAY_END"),  # the day after is not in the lake
        _row(D3, 300, 310, "CLEARED", continued_from_previous_day=True, broker_name="y"),  # nor the day before
    ]
    spark.createDataFrame(rows).createOrReplaceTempView("isolation_intervals")
    found = spark.sql(read_view("whole_isolations").select).orderBy("start_ms").collect()
    columns = ("start_ms", "end_ms", "end_earliest_ms", "end_latest_ms", "ended_by", "extensions", "days",
               "began_before_the_lake", "still_stands")  # fmt: skip
    assert [tuple(row[name] for name in columns) for row in found] == [
        (10, 20, 20, 20, "EXPIRED", 0, 1, False, False),
        (30, 120, 90, 130, "EXPIRED", 2, 2, False, False),
        (150, 200, 200, 200, None, 0, 1, False, True),
        (300, 310, 310, 310, "CLEARED", 0, 1, True, False),
    ]


def test_a_day_without_the_day_before_says_what_could_differ(nights: Site) -> None:
    """4.9.8 isolates for up to ten minutes: what starts later than that cannot have been carried."""
    marked = nights.rows("isolation_intervals", "broker_name", "after_unknown_start", client_id="p4")
    assert marked == [
        {"broker_name": "broker-a", "after_unknown_start": True},
        {"broker_name": "broker-b", "after_unknown_start": False},
    ]
    started = nights.rows("run_log", "event_date", "started_from", status="SUCCEEDED")
    assert sorted(started, key=lambda row: row["event_date"]) == [
        {"event_date": D1, "started_from": "EMPTY"},
        {"event_date": D2, "started_from": "PREVIOUS_DAY"},
        {"event_date": D3, "started_from": "PREVIOUS_DAY"},
    ]


@pytest.mark.slow  # six nights
def test_a_day_whose_sends_are_no_longer_kept_stays_as_it_is(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> None:
    site = Site(spark, tmp_path_factory.mktemp("kept"), load_settings([], ["retention.sends_days=1"], {}))
    failure = send(at(D1, "23:59:59"), 10, "RemotingTimeoutException")  # 10 s, into the second day
    rest = [send(at(D1, "06:00:00")), send(at(D2, "06:00:00")), send(at(D3, "06:00:00"))]
    site.log([failure, *rest])
    site.run(D1, D2, D3)
    assert site.rows("sends", "event_date") == [{"event_date": D3}]
    before = site.rows("isolation_intervals", event_date=D2)
    assert [(row["start_ms"], row["end_ms"]) for row in before] == [(START[D2], at(D2, "00:00:09"))]

    site.log(rest)  # a correction of the first day, whose end changes what the second started from
    result = site.run(D1)
    assert [done.day.date for done in result.days] == [D1]
    assert result.stale_days == [D2]
    assert site.rows("isolation_intervals", event_date=D2) == before
    assert len(site.rows("producer_days", event_date=D2)) == 1
