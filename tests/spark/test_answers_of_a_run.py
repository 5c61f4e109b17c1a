"""What a run says of the tables: sums, order, limits, and only the days and clusters that it published.

Literal rows of three days and three clusters; the run published two days of the north and the south.
"""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from jobs.allocation.summary import AllocationSummary, Fault, Group, summarize_allocation
from jobs.fault_latency.broker_counts import Broker
from jobs.fault_latency.incident_counts import Incident
from jobs.fault_latency.producer_counts import Contradicting, Producer, ProducerGroup, contradicting
from jobs.fault_latency.summary import FindingKind, Summary, summarize
from jobs.runs.run import DayResult, Run, RunResult
from jobs.settings.load import load_settings
from jobs.sources.staged import Counts
from jobs.tables import (
    ALLOCATION_FINDINGS,
    BROKER_INCIDENTS,
    BROKER_WINDOWS,
    FINDINGS,
    GROUP_MEMBERS,
    ISOLATION_INTERVALS,
    PRODUCER_DAYS,
    QUARANTINE,
    QUEUE_ALLOCATION,
    REBALANCES,
    ROUTE_CHANGES,
    TOPIC_BROKERS,
    TOPIC_QUEUES,
)
from jobs.tables.day import Day
from tests.given.lakes import LiteralLake
from tests.given.site import D1, D2, D3, START, Line

NORTH, SOUTH = {"cluster": "north"}, {"cluster": "south"}
ELSEWHERE = ((D1, NORTH), (D2, {"cluster": "east"}))
"""Rows of a day or cluster that the run did not publish: they count nowhere."""
T = START[D2]


def _producer(client: str, group: str = "g1", *, isolated_ms: int = 0, isolations: int = 0, **other: object) -> Line:
    base = {"client_id": client, "producer_group": group, "enforced": True, "client_version": "5.9.0"}
    return base | {"isolated_ms": isolated_ms, "isolations": isolations, **other}


def _write_first_flow(lake: LiteralLake) -> None:
    for day, where in ELSEWHERE:
        lake.add("producer_days", day, where | _producer("p1", isolated_ms=10**9, isolations=500, contradictions=9))
        lake.add("broker_windows", day, where | {"broker_name": "b1", "sends": 10**6, "isolated_ms": 10**9})
        lake.add("broker_incidents", day, where | {"broker_name": "b1", "start_ms": 0, "end_ms": 5, "peak_share": 1.0})
        lake.add("quarantine", day, where | {"source": "sends", "reason": "not_json", "reasons": ["not_json"]})
        finding = {"kind": "CLOCK_STEP", "severity": "CRITICAL", "start_ms": 0, "end_ms": 1}
        lake.add("findings", day, where | finding | {"failures": 10**6, "sentence": "of another night"})
    lake.add(
        "producer_days", D2,
        NORTH | _producer("p1", isolated_ms=5_000, isolations=3, contradictions=1),
        NORTH | _producer("p1", "g2", isolated_ms=9_000, isolations=1),
        SOUTH | _producer("p2", isolated_ms=7_000, isolations=50, enforced=False),
        SOUTH | _producer("p3", contradictions=1, recorded_updates=1),
        *(SOUTH | _producer(f"r{number}", "", contradictions=1) for number in range(8)),
        SOUTH | _producer("p4", enforced=False, switch_assumed=True, not_replayed="CLIENT_TOO_OLD"),
        *(SOUTH | _producer(client, not_replayed="NOT_A_JAVA_CLIENT") for client in ("p5", "p6")),
        *(SOUTH | _producer(f"q{number}", isolated_ms=10 * number, isolations=1) for number in range(1, 9)),
    )  # fmt: skip
    lake.add(
        "producer_days", D3,
        NORTH | _producer("p1", isolated_ms=4_000, isolations=2, contradictions=1, client_version="5.10.0"),
    )  # fmt: skip
    lake.add(
        "broker_windows", D2,
        NORTH | {"broker_name": "b1", "sends": 10, "failures": 1, "isolated_ms": 2_000, "window_start_ms": T},
        NORTH | {"broker_name": "b1", "sends": 20, "failures": 2, "isolated_ms": 1_000, "window_start_ms": T + 60_000},
        SOUTH | {"broker_name": "b1", "sends": 5, "failures": 0, "isolated_ms": 0},
        NORTH | {"broker_name": "b2", "sends": 7, "failures": 7, "isolated_ms": 9_000},
        *(SOUTH | {"broker_name": f"c{number:02}", "sends": 1} for number in range(50)),
    )  # fmt: skip
    lake.add("broker_windows", D3, NORTH | {"broker_name": "b0", "sends": 1, "isolated_ms": 3_000})
    held = {"broker_name": "b1", "enforced": True, "start_ms": T, "end_ms": T + 9, "ended_by": "EXPIRED"}
    lake.add(
        "isolation_intervals", D2,
        NORTH | held | {"client_id": "p1", "producer_group": "g1"},
        NORTH | held | {"client_id": "p1", "producer_group": "g1", "start_ms": T + 5},
        NORTH | held | {"client_id": "p1", "producer_group": "g2"},
        SOUTH | held | {"client_id": "p2", "enforced": False},
        SOUTH | held | {"client_id": "p3", "end_ms": T},
    )  # fmt: skip
    incident = {"peak_producers": 3, "producers": 4, "sends": 20, "lost": 7, "peak_share": 0.75}
    lake.add(
        "broker_incidents", D2,
        SOUTH | incident | {"broker_name": "b2", "start_ms": T + 500, "end_ms": T + 2_750},
        NORTH | incident | {"broker_name": "b1", "start_ms": T + 500, "end_ms": T + 1_500, "is_minor": True},
        *(NORTH | incident | {"broker_name": "b3", "start_ms": T + 1_000 * n, "end_ms": T + 1_000 * n + n}
          for n in range(101, 0, -1)),
    )  # fmt: skip
    found = {"start_ms": T, "end_ms": T + 1, "severity": "CRITICAL", "kind": "ALL_ISOLATED"}
    rare = {"kind": "LONE_ISOLATION", "severity": "INFO"}
    lake.add(
        "findings", D2,
        *(NORTH | found | {"failures": failures, "sentence": f"lost {failures}"} for failures in (None, 2, 30)),
        NORTH | found | {"failures": 2, "sentence": "lost 2 later", "start_ms": T + 5, "end_ms": T + 6},
        SOUTH | found | {"failures": 99, "sentence": "no matter", "severity": "WARNING"},
        *(NORTH | found | {"kind": "DEAD_BROKER_MAGNET", "sentence": f"s{n}", "failures": 1} for n in range(4)),
        *(NORTH | found | rare | {"sentence": f"s{n}"} for n in range(2)),
        NORTH | found | rare | {"kind": "CLOCK_STEP", "sentence": "s"},
        *(NORTH | found | rare | {"kind": "COLLATERAL_ISOLATION", "sentence": f"s{n}"} for n in range(2)),
    )  # fmt: skip
    lake.add(
        "quarantine", D2,
        *(NORTH | {"source": "sends", "reason": reasons[0], "reasons": reasons, "line": n}
          for n, reasons in enumerate((["not_json"], ["latency_missing", "outcome_missing"], ["not_json"]))),
        SOUTH | {"source": "sends", "reason": "line_too_long", "reasons": None},  # of an older release
        *(NORTH | {"source": "routes", "reason": "not_json", "reasons": ["not_json"], "line": n} for n in range(3)),
        *(NORTH | {"source": "consumers", "reason": reasons[0], "reasons": reasons, "line": n}
          for n, reasons in enumerate((["captured_at_missing"], ["captured_at_missing", "topic_missing"],
                                       ["body_not_json"]))),
        NORTH | {"source": "fault_item_logs", "reason": "wrong_type", "reasons": ["wrong_type"]},  # verify's
        NORTH | {"source": "fault_item_updates", "reason": "op_unknown", "reasons": ["op_unknown"]},
    )  # fmt: skip


def _write_second_flow(lake: LiteralLake) -> None:
    queue = {"consumer_group": "G", "topic": "T", "broker_name": "b", "strategy": "AVG", "strategy_source": "SETTINGS"}
    move = {"consumer_group": "G", "topic": "T", "trigger": "JOINED"}
    members = {"broker_name": "b", "start_ms": T, "end_ms": T + 1}
    for day, where in ELSEWHERE:
        lake.add("queue_allocation", day, where | queue | {"topic": f"other {day}", "strategy": "MIXED"})
        lake.add("rebalances", day, where | move | {"changed_at_ms": 7, "moved": 1_000, "fewest_moves": 1_000})
        lake.add("group_members", day, where | members | {"consumer_group": "other"})
        lake.add("route_changes", day, where | {"topic": "T", "change": "ADDED"})
    lake.add(
        "queue_allocation", D2,
        NORTH | queue,
        NORTH | queue | {"queue_id": 1},
        NORTH | queue | {"topic": "U"},
        *(NORTH | queue | {"consumer_group": f"H{n:02}", "strategy": "CONFIG", "strategy_source": "ASSUMED"}
          for n in range(11)),
    )  # fmt: skip
    lake.add(
        "rebalances", D2,
        NORTH | move | {"changed_at_ms": 1, "moved": 4, "fewest_moves": 2},
        NORTH | move | {"changed_at_ms": 1, "topic": "U", "moved": 3, "fewest_moves": 3},
        NORTH | move | {"changed_at_ms": 2, "moved": 1, "fewest_moves": 0},
        NORTH | move | {"consumer_group": "H07", "changed_at_ms": 3},
    )  # fmt: skip
    lake.add("group_members", D2, *(NORTH | members | {"consumer_group": each} for each in ("G", "G", "H00", "alone")))
    unread = {"topic": "T", "queue_id": 0, "finding": "UNREAD"}
    lake.add("topic_queues", D2, *(
        NORTH | members | {"topic": "T", "queue_id": number, "finding": finding, "start_ms": T + number}
        for number, finding in ((0, "UNREAD"), (0, "UNREAD"), (1, "UNREAD"), (2, "IDLE"), (3, "NONE"))
    ), *(NORTH | members | unread | other for other in ({"topic": "U"}, {"broker_name": "c"})))  # fmt: skip
    lake.add("route_changes", D2, *(NORTH | {"topic": topic, "change": "REMOVED"} for topic in "TUV"))
    found = {"consumer_group": "G", "topic": "T", "broker_name": "b", "queue_id": 0, "kind": "UNASSIGNED",
             "cause": "VIEWS_DIFFER", "start_ms": T, "end_ms": T + 5}  # fmt: skip
    no_queue = {"broker_name": None, "queue_id": None, "cause": "NONE_NEEDED"}
    lake.add(
        "allocation_findings", D2,
        NORTH | found,
        NORTH | found | {"end_ms": T + 50},  # the same queue, for longer
        NORTH | found | {"queue_id": 1},
        NORTH | found | {"queue_id": 1, "kind": "DOUBLY_OWNED"},
        NORTH | found | {"queue_id": 2, "kind": "AGAINST_STRATEGY", "cause": "UNEXPLAINED"},
        NORTH | found | {"topic": "%RETRY%G", "end_ms": T + 10**6},  # nobody asks who owns a retry topic
        *(NORTH | found | {"cause": cause} for cause in ("REBALANCE_NOT_RUN", "STALE_ROUTE")),  # takes its time
        *(NORTH | found | {"consumer_group": f"H{n:02}", "end_ms": T + 4} for n in range(10)),
        *(NORTH | found | no_queue | {"kind": "IDLE_CLIENT", "topic": topic, "start_ms": T + n}
          for n, topic in enumerate(("T", "T", "U", None))),
        NORTH | found | no_queue | {"kind": "TOPIC_WITHOUT_ROUTE", "consumer_group": None},
    )  # fmt: skip


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, RunResult]:
    """The lake, and the run that published two of its days."""
    tables = (
        ALLOCATION_FINDINGS, BROKER_INCIDENTS, BROKER_WINDOWS, FINDINGS, GROUP_MEMBERS, ISOLATION_INTERVALS,
        PRODUCER_DAYS, QUARANTINE, QUEUE_ALLOCATION, REBALANCES, ROUTE_CHANGES, TOPIC_BROKERS,
        TOPIC_QUEUES,
    )  # fmt: skip
    lake = LiteralLake(tmp_path_factory.mktemp("answers"), tables)
    _write_first_flow(lake)
    _write_second_flow(lake)
    run = Run("r", "nightly", (D2, D3), allow_empty=False, cascade=True, clock=dt.datetime.now)
    done = RunResult(
        run,
        days=[
            DayResult(Day(D2, "north"), Counts(9, 5, 1, 2, 1, 0), "EMPTY", "", "", {}),
            DayResult(Day(D3, "north"), None, "PREVIOUS_DAY", "", "", {}, cascaded=True),
        ],
        other_days={D1: 4},
        clusters=["north", "south"],
        hidden_files=(".a", "_b"),
        stale_days=[dt.date(2026, 3, 7)],
    )
    return lake.folder, done


@pytest.fixture(scope="module")
def said(spark: SparkSession, result: tuple[Path, RunResult]) -> Summary:
    lake, done = result
    return summarize(spark, load_settings([], [], {"lake": str(lake), "inputs.routes.path": ["/routes"]}), done)


@pytest.fixture(scope="module")
def groups(spark: SparkSession, result: tuple[Path, RunResult]) -> AllocationSummary:
    lake, done = result
    settings = load_settings([], [], {"lake": str(lake), "inputs.client_logs.path": ["/logs"], **ANSWERS})
    return summarize_allocation(spark, settings, done)


ANSWERS = {"inputs.running_info.path": ["/answers"]}
COUNTED = {"date": "2026-03-02", "cluster": "north", "rows_read": 9, "rows_published": 5, "rows_quarantined": 1,
           "rows_duplicate": 2, "rows_other_day": 1, "rows_other_cluster": 0}  # fmt: skip


def test_the_run_itself(said: Summary, result: tuple[Path, RunResult]) -> None:
    assert (said.run_id, said.clusters, said.lake) == ("r", ["north", "south"], str(result[0]))
    assert said.days == [COUNTED | {"started_from": "EMPTY"}]  # a recomputed day read no lines
    assert (said.cascaded_days, said.stale_days) == (["2026-03-03"], ["2026-03-07"])
    assert (said.other_days, said.hidden_files) == ({"2026-03-01": 4}, [".a", "_b"])
    by = "20 of 21 producers with the switch on by replay of their sends, 1 as their clients recorded them"
    assert said.rests_on == [f"isolations: {by}", "no topic routes: brokers of a topic are those in its sends"]


def test_producers_are_counted_over_days_and_their_sums_are_of_those_with_the_switch_on(said: Summary) -> None:
    assert said.producer_count == 23
    assert said.isolations == 3 + 1 + 2 + 8
    assert said.would_have_isolated_ms == 7_000
    assert said.switch_assumed_off == 1
    assert list(said.not_replayed.items()) == [("NOT_A_JAVA_CLIENT", 2), ("CLIENT_TOO_OLD", 1)]
    assert said.contradictions == 11


def test_the_eight_producers_that_contradict_the_replay_most(said: Summary) -> None:
    assert said.contradicting[:2] == [Contradicting("p1", "g1", 2), Contradicting("p3", "g1", 1)]
    assert said.contradicting[2:] == [Contradicting(f"r{number}", "", 1) for number in range(6)]


def test_a_producer_that_contradicts_nothing_is_not_among_them(spark: SparkSession) -> None:
    days = [("p1", "g", 0), ("p2", "g", 1), ("p2", "g", 0), ("p3", "g", 0)]
    found = contradicting(spark.createDataFrame(days, "client_id string, producer_group string, contradictions bigint"))
    assert [tuple(row) for row in found.collect()] == [("p2", "g", 1)]


def test_the_eight_producers_that_isolated_longest(said: Summary) -> None:
    assert said.producers[:2] == [
        Producer("p1", "g1", "5.10.0", 9_000, 5, 2),
        Producer("p1", "g2", "5.9.0", 9_000, 1, 0),
    ]
    assert [each.client_id for each in said.producers[2:]] == [f"q{number}" for number in range(8, 2, -1)]


def test_the_groups_whose_producers_isolated_longest(said: Summary) -> None:
    assert said.producer_groups == [ProducerGroup("g1", 9, 9_360, 13), ProducerGroup("g2", 1, 9_000, 1)]
    assert (said.isolating_producers, said.isolating_groups) == (10, 2)


def test_brokers_by_isolation_then_name_fifty_at_most(said: Summary) -> None:
    assert said.brokers[:3] == [
        Broker("b2", 7, 7, 9_000, 0),
        Broker("b0", 1, 0, 3_000, 0),
        Broker("b1", 35, 3, 3_000, 2),
    ]
    assert [each.broker_name for each in said.brokers[3:]] == [f"c{number:02}" for number in range(47)]


def test_the_hundred_longest_incidents_and_how_many_there_are(said: Summary) -> None:
    """Minor ones come last; a row of an earlier release is none."""
    assert (said.incident_count, said.minor_incident_count) == (102, 1)
    assert len(said.incidents) == 100
    assert said.incidents[:2] == [
        Incident("b2", "2026-03-02 00:00:00", "2026-03-02 00:00:02", 2.25, 3, 4, 20, 7, False),
        Incident("b3", "2026-03-02 00:01:41", "2026-03-02 00:01:41", 0.101, 3, 4, 20, 7, False),
    ]
    assert said.incidents[-1].seconds == 0.003


def test_findings_by_kind_the_critical_first_and_the_three_worst(said: Summary) -> None:
    assert said.findings == [
        FindingKind("ALL_ISOLATED", 4, 1, 0),
        FindingKind("DEAD_BROKER_MAGNET", 4, 0, 0),
        FindingKind("COLLATERAL_ISOLATION", 0, 0, 2),
        FindingKind("LONE_ISOLATION", 0, 0, 2),
        FindingKind("CLOCK_STEP", 0, 0, 1),
    ]
    assert said.worst_findings == ["lost 30", "lost 2", "lost 2 later"]


def test_reasons_of_bad_sends_and_bad_routes(said: Summary) -> None:
    """A line counts under each of its reasons."""
    reasons = [
        ("not_json", 2), ("latency_missing", 1), ("line_too_long", 1), ("op_unknown", 1), ("outcome_missing", 1)
    ]  # fmt: skip
    assert list(said.quarantine_reasons.items()) == reasons
    assert said.bad_routes == 3


def test_bad_routes_of_the_other_flow_are_not_of_a_run_without_routes(
    spark: SparkSession, result: tuple[Path, RunResult]
) -> None:
    lake, done = result
    assert summarize(spark, load_settings([], [], {"lake": str(lake)}), done).bad_routes == 0


def test_a_producer_that_no_longer_sends_is_named_once(said: Summary) -> None:
    assert said.missing_producers == []  # g1 of the day before sends on


def test_the_run_of_the_second_flow_itself(groups: AllocationSummary, result: tuple[Path, RunResult]) -> None:
    assert (groups.run_id, groups.clusters, groups.lake) == ("r", ["north", "south"], str(result[0]))
    assert groups.days == [COUNTED]
    assert (groups.stale_days, groups.other_days) == (["2026-03-07"], {"2026-03-01": 4})
    assert groups.hidden_files == [".a", "_b"]
    reasons = [("not_json", 3), ("captured_at_missing", 2), ("body_not_json", 1), ("topic_missing", 1)]
    assert list(groups.quarantine_reasons.items()) == reasons
    assert groups.rests_on == ["ownership: by consumers' logs, and by their answers"]


def test_the_ten_groups_whose_queues_moved_most(groups: AllocationSummary) -> None:
    assert groups.group_count == 3
    assert groups.groups[:2] == [
        Group("G", "AVG", "SETTINGS", 2, 3, 8, 5),
        Group("H07", "CONFIG", "ASSUMED", 1, 1, 0, 0),
    ]
    assert [each.consumer_group for each in groups.groups[2:]] == [f"H{n:02}" for n in range(9) if n != 7]


def test_the_ten_worst_reasons_of_groups_the_unexplained_first(groups: AllocationSummary) -> None:
    assert groups.faults[:2] == [
        Fault("G", "UNEXPLAINED", 0, 0, 1, 5),
        Fault("G", "VIEWS_DIFFER", 2, 1, 0, 50),
    ]
    assert groups.faults[2:] == [Fault(f"H{n:02}", "VIEWS_DIFFER", 1, 0, 0, 4) for n in range(8)]


def test_kinds_that_concern_groups_not_queues_and_queues_by_what_was_found(groups: AllocationSummary) -> None:
    assert groups.kinds == {"IDLE_CLIENT": 3, "TOPIC_WITHOUT_ROUTE": 1}
    assert (groups.unread_queues, groups.idle_queues, groups.route_changes) == (4, 1, 3)
