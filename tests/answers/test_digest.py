"""The digest of a night: what it counts, puts in order and leaves out, and how `show night` says it."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from jobs.answers.digest import Digest, digests, digests_of
from jobs.answers.digest_text import night_text, nights_text
from jobs.answers.published import open_published
from jobs.answers.troubled_groups import FindingKind, Group, finding_kinds
from jobs.cli import main as cli
from jobs.errors import InputMissingError
from jobs.tables import BROKER_WINDOWS, ISOLATION_INTERVALS, PRODUCER_DAYS, RUN_LOG
from tests.given.lakes import LiteralLake, publish, write_rows
from tests.given.quiet_answers import COUNTS, QUIET
from tests.given.site import D1, D2, D3, START, Line

NORTH, EAST = {"cluster": "north"}, {"cluster": "east"}
T = START[D2]
ELSEWHERE = ((D1, NORTH), (D2, EAST))
"""Rows of a day or cluster that is not asked about: they count nowhere."""


def _trouble(name: str, seconds: float, **other: object) -> Line:
    """An event that begins with the day, and lasts so long."""
    end_ms = T + int(seconds * 1_000)
    return {
        "event_id": f"e{name}", "broker_name": f"b{name}", "brokers": [f"b{name}"], "kind": "REFUSED",
        "severity": "WARNING", "bad_from_ms": T, "last_bad_ms": end_ms - 9, "bad_until_ms": end_ms, "producers": 4,
        "hit_producers": 2, "avoiding_producers": 3, "avoided_from_ms": T + 500, "avoided_until_ms": end_ms + 60_000,
        "avoided_after_ms": 60_000, **other,
    }  # fmt: skip


EVENTS = (
    _trouble("1", 9.5, severity="INFO"),
    _trouble("1b", 1.0, lost_sends=1),
    _trouble("2", 2.2, lost_sends=2, saved_sends=1, slow_sends=1),
)


def _producer(client: str, group: str = "g1", *, isolated_ms: int = 0, isolations: int = 0, **other: object) -> Line:
    base = NORTH | {"client_id": client, "producer_group": group, "enforced": True, "client_version": "5.9.0"}
    return base | {"isolated_ms": isolated_ms, "isolations": isolations, **other}


def _first_flow(lake: LiteralLake) -> None:
    finding = {"severity": "CRITICAL", "kind": "ALL_ISOLATED", "cause": "ALL_ISOLATED", "start_ms": T, "end_ms": T + 1}
    for day, where in ELSEWHERE:
        lake.add("producer_days", day, _producer("p1", isolated_ms=10**9, isolations=500, contradictions=9) | where)
        lake.add("producer_days", day, _producer("gone", "PG_gone_2") | where, _producer("gone", "PG_gone_1") | where)
        lake.add("broker_windows", day, where | {"broker_name": "b1", "sends": 10**6, "isolated_ms": 10**9})
        lake.add("events", day, where | {"event_id": "e", "severity": "CRITICAL", "brokers": ["b1"]})
        lake.add("send_calls", day, where | {"attempts": 1, "failed": True})
        lake.add("quarantine", day, where | {"source": "sends", "reason": "not_json", "reasons": ["not_json"]})
        lake.add("findings", day, where | finding | {"failures": 10**6, "sentence": "of another night"})
    lake.add(
        "producer_days", D2,
        _producer("p1", isolated_ms=5_000, isolations=3, contradictions=1),
        _producer("p1", "g2", isolated_ms=9_000, isolations=1),
        _producer("p1", isolated_ms=6_000, isolations=50, enforced=False),
        _producer("p2", isolated_ms=1_000, isolations=50, enforced=False),
        _producer("p3", contradictions=1, recorded_updates=1),
        *(_producer(f"r{number}", "", contradictions=1) for number in range(3)),
        _producer("p4", enforced=False, switch_assumed=True, not_replayed="CLIENT_TOO_OLD"),
        *(_producer(client, not_replayed="NOT_A_JAVA_CLIENT") for client in ("p5", "p6")),
        *(_producer(f"q{number}", isolated_ms=10 * number, isolations=1) for number in range(1, 9)),
    )  # fmt: skip
    lake.add(
        "broker_windows", D2,
        NORTH | {"broker_name": "b1", "sends": 10, "failures": 1, "isolated_ms": 2_000, "window_start_ms": T},
        NORTH | {"broker_name": "b1", "sends": 20, "failures": 2, "isolated_ms": 1_000, "window_start_ms": T + 60_000},
        NORTH | {"broker_name": "b2", "sends": 7, "failures": 7, "isolated_ms": 9_000},
        NORTH | {"broker_name": "b0", "sends": 1, "isolated_ms": 3_000},
    )  # fmt: skip
    held = NORTH | {"broker_name": "b1", "enforced": True, "start_ms": T, "end_ms": T + 9, "ended_by": "EXPIRED"}
    lake.add(
        "isolation_intervals", D2,
        held | {"client_id": "p1", "producer_group": "g1"},
        held | {"client_id": "p1", "producer_group": "g1", "start_ms": T + 5},
        held | {"client_id": "p1", "producer_group": "g2"},
        held | {"client_id": "p2", "enforced": False},
        held | {"client_id": "p3", "end_ms": T},
    )  # fmt: skip
    lake.add("events", D2, *(NORTH | row for row in EVENTS))
    call = NORTH | {"attempts": 1, "client_id": "p1"}
    lake.add(
        "send_calls", D2,
        *(call | {"producer_group": group, "failed": True} for group in ("g1", "g2", "g2")),
        call | {"producer_group": "g2", "retried": True}, call | {"producer_group": "g2", "slow": True},
        call | {"producer_group": "g2"},
    )  # fmt: skip
    follows = NORTH | finding | {"event_id": "e2", "sentence": "in e2"}
    lake.add("findings", D2, follows, follows | {"kind": "AVOIDED_TOO_LONG", "severity": "WARNING", "failures": 0,
                                                 "sentence": "e2 took too long"})  # fmt: skip
    rare = NORTH | finding | {"kind": "CLOCK_STEP", "severity": "INFO", "failures": 50}
    lake.add(
        "findings", D2,
        *(NORTH | finding | {"failures": failures, "sentence": f"lost {failures}"} for failures in (None, 2, 30)),
        NORTH | finding | {"failures": 99, "sentence": "no matter", "severity": "WARNING"},
        *(NORTH | finding | {"kind": "DEAD_BROKER_MAGNET", "sentence": f"s{n}", "start_ms": T - n} for n in range(4)),
        *(rare | {"sentence": f"c{n}"} for n in (2, 1)),
    )  # fmt: skip
    lake.add(
        "quarantine", D2,
        *(NORTH | {"source": "sends", "reason": reasons[0], "reasons": reasons, "line": n}
          for n, reasons in enumerate((["not_json"], ["latency_missing", "outcome_missing"], ["not_json"]))),
        NORTH | {"source": "sends", "reason": "line_too_long", "reasons": None},
        NORTH | {"source": "routes", "reason": "not_json", "reasons": ["not_json"]},
    )  # fmt: skip


def _second_flow(lake: LiteralLake) -> None:
    queue = {"consumer_group": "G", "topic": "T", "broker_name": "b", "strategy": "AVG", "strategy_source": "SETTINGS"}
    move = {"consumer_group": "G", "topic": "T", "trigger": "JOINED"}
    for day, where in ELSEWHERE:
        lake.add("queue_allocation", day, where | queue | {"consumer_group": "other", "strategy_source": "ASSUMED"})
        lake.add("rebalances", day, where | move | {"changed_at_ms": 7, "moved": 1_000, "fewest_moves": 1_000})
    lake.add(
        "queue_allocation", D2,
        NORTH | queue,
        *(NORTH | queue | {"consumer_group": f"H{n:02}", "strategy_source": "ASSUMED"} for n in range(11)),
    )  # fmt: skip
    lake.add(
        "rebalances", D2,
        NORTH | move | {"changed_at_ms": 1, "moved": 4, "fewest_moves": 2},
        NORTH | move | {"changed_at_ms": 2, "moved": 1, "fewest_moves": 0},
        NORTH | move | {"consumer_group": "H07", "changed_at_ms": 3, "moved": 1},
    )  # fmt: skip
    stretch = NORTH | {"broker_name": "b", "topic": "T", "start_ms": T, "end_ms": T + 1}
    lake.add("topic_queues", D2, *(
        stretch | {"queue_id": number, "finding": finding, "start_ms": T + place}
        for place, (number, finding) in enumerate(
            ((0, "UNREAD"), (0, "UNREAD"), (1, "UNREAD"), (2, "IDLE"), (3, "NONE"))
        )
    ), stretch | {"queue_id": 0, "finding": "UNREAD", "topic": "U"})  # fmt: skip
    found = {"consumer_group": "G", "topic": "T", "broker_name": "b", "queue_id": 0, "kind": "UNASSIGNED",
             "cause": "VIEWS_DIFFER", "start_ms": T, "end_ms": T + 5, "sentence": "short"}  # fmt: skip
    lake.add(
        "allocation_findings", D2,
        NORTH | found,
        NORTH | found | {"queue_id": 1, "end_ms": T + 50, "sentence": "long"},
        NORTH | found | {"topic": "%RETRY%G", "end_ms": T + 10**6},  # nobody asks who owns a retry topic
        *(NORTH | found | {"cause": cause} for cause in ("REBALANCE_NOT_RUN", "STALE_ROUTE")),  # takes its time
        NORTH | found | {"kind": "TOPIC_WITHOUT_ROUTE", "cause": "NONE_NEEDED", "consumer_group": None,
                         "sentence": "no route", "queue_id": None},
    )  # fmt: skip


def _kind(kind: str, critical: int, warning: int, info: int, worst: str) -> dict[str, Any]:
    return {"kind": kind, "critical": critical, "warning": warning, "info": info, "worst": worst}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lake = LiteralLake(tmp_path_factory.mktemp("digest"))
    for cluster in ("north", "east"):
        for flow in ("FAULT_LATENCY", "ALLOCATION"):
            publish(lake.folder, D1, D2, cluster=cluster, flow=flow)
    _first_flow(lake)
    _second_flow(lake)
    return lake.folder


@pytest.fixture(scope="module")
def night(lake: Path) -> Digest:
    (digest,) = digests(str(lake), ["north"], [D2], owners={"g1": "team-one", "PG_gone*": "ops", "H*": "consumers"})
    return digest


def test_the_night_itself(night: Digest) -> None:
    assert (night.date, night.cluster, night.not_given) == ("2026-03-02", "north", [])
    assert night.headline == (
        "3 sends lost, 1 saved by a retry, 1 slow. 2 events and 1 of severity INFO; the worst: b2 refused sends from 2"
        " of 4 producers for 2.2 s and answered again at 00:00:02; 3 producers avoided it, for up to 1 min 00 s after"
        " that."
    )
    counts = {"sends": 38, "failures": 10, "isolations": 3, "events": 2, "info_events": 1, "findings": 12}
    assert night.counts.items() >= (counts | {"lost": 3, "unsent": 0, "saved": 1, "slow": 1}).items()
    assert night.counts.items() >= (counts | {"rebalances": 3, "moved": 6, "group_findings": 6}).items()
    assert night.costs == [
        {"producer_group": "g2", "lost": 2, "unsent": 0, "saved": 1, "slow": 1},
        {"producer_group": "g1", "lost": 1, "unsent": 0, "saved": 0, "slow": 0},
    ]
    assert night.owners == {"g1": "team-one", "PG_gone_1": "ops", "PG_gone_2": "ops"} | {
        f"H{n:02}": "consumers" for n in (0, 1, 2, 3, 4, 5, 7)
    }


def test_producers_with_the_switch_on_that_isolated_longest(night: Digest) -> None:
    names = ("client_id", "producer_group", "isolated_ms", "isolations")
    found = [tuple(each[name] for name in names) for each in night.producers]
    assert found[:2] == [("p1", "g2", 9_000, 1), ("p1", "g1", 5_000, 3)]
    assert [each[0] for each in found[2:]] == [f"q{number}" for number in range(8, 2, -1)]
    assert night.producer_count == 2 + 1 + 1 + 3 + 1 + 2 + 8


def test_their_groups(night: Digest) -> None:
    assert night.producer_groups == [
        {"producer_group": "g2", "producers": 1, "isolated_ms": 9_000, "isolations": 1},
        {"producer_group": "g1", "producers": 9, "isolated_ms": 5_360, "isolations": 11},
    ]
    assert night.producer_group_count == 2


def test_groups_of_the_day_before_that_sent_nothing(night: Digest) -> None:
    assert night.missing_producers == ["PG_gone_1", "PG_gone_2"]


def test_every_group_that_no_longer_sends_is_missing_in_its_own_cluster(tmp_path: Path) -> None:
    """PG_000 still sends in the south alone, where it did not before; PG_001 in both as ever."""
    groups = [f"PG_{number:03}" for number in range(150)]
    for cluster in ("north", "south"):
        publish(tmp_path, D1, D2, cluster=cluster)
    before = [("north", group) for group in groups] + [("south", "PG_001")]
    now = [("north", "PG_001"), ("south", "PG_001"), ("south", "PG_000")]
    for day, sent in ((D1, before), (D2, now)):
        rows = [{"event_date": day, "cluster": cluster, "producer_group": group} for cluster, group in sent]
        write_rows(tmp_path, PRODUCER_DAYS, rows)
    north, south = digests(str(tmp_path), ["north", "south"], [D2])
    assert north.missing_producers == [group for group in groups if group != "PG_001"]
    assert south.missing_producers == []


def test_brokers_by_isolation_then_name(night: Digest) -> None:
    assert [tuple(each.values()) for each in night.brokers] == [
        ("b2", 7, 7, 9_000, 0),
        ("b0", 1, 0, 3_000, 0),
        ("b1", 30, 3, 3_000, 2),
    ]


def test_of_many_brokers_fifty(tmp_path: Path) -> None:
    publish(tmp_path, D1)
    names = [f"b{number:02}" for number in range(60)]
    write_rows(tmp_path, BROKER_WINDOWS, [{"event_date": D1, "broker_name": name, "sends": 1} for name in names])
    (night,) = digests(str(tmp_path), ["main"], [D1])
    assert (night.broker_count, [each["broker_name"] for each in night.brokers]) == (60, names[:50])
    assert "\nBrokers (8 of 60)\n" in night_text(night)


def test_events_the_gravest_first_with_what_follows_from_them(night: Digest) -> None:
    assert [(each["where"], each["last_bad_ms"] - each["bad_from_ms"]) for each in night.events] == [
        ("b2", 2_191), ("b1b", 991), ("b1", 9_491),
    ]  # fmt: skip
    worst = night.events[0]
    assert worst.items() >= EVENTS[2].items()
    assert (worst["findings"], worst["worst"]) == ({"ALL_ISOLATED": 1, "AVOIDED_TOO_LONG": 1}, "in e2")
    assert [(each["findings"], each["worst"]) for each in night.events[1:]] == [({}, None)] * 2


def test_findings_by_kind_the_critical_first_and_the_worst_of_each(night: Digest) -> None:
    """Of the gravest severity; then what lost most sends; then the first. Those of events are counted alone."""
    assert night.findings == [
        _kind("DEAD_BROKER_MAGNET", 4, 0, 0, "s3"),
        _kind("ALL_ISOLATED", 3, 1, 0, "lost 30"),
        _kind("AVOIDED_TOO_LONG", 0, 1, 0, "e2 took too long"),
        _kind("CLOCK_STEP", 0, 0, 2, "c1"),
    ]
    assert night.in_full == ["e2 took too long"]
    assert night.kinds == {"ALL_ISOLATED": 5, "DEAD_BROKER_MAGNET": 4, "CLOCK_STEP": 2, "AVOIDED_TOO_LONG": 1}
    assert night.severities == {"CRITICAL": 8, "WARNING": 2 + 2, "INFO": 2 + 1}  # findings and events


def test_rejected_lines_count_under_each_reason(night: Digest) -> None:
    assert [(each["source"], each["reason"], each["lines"]) for each in night.rejected] == [
        ("sends", "not_json", 2),
        ("routes", "not_json", 1),
        ("sends", "latency_missing", 1),
        ("sends", "line_too_long", 1),
        ("sends", "outcome_missing", 1),
    ]


def test_groups_and_their_findings_without_what_passes(night: Digest) -> None:
    assert night.group_count == 12
    assert [each.consumer_group for each in night.groups] == ["G", "H07", *(f"H{n:02}" for n in range(6))][:8]
    assert [(each.consumer_group, each.kind, each.count, each.sentence) for each in night.group_findings] == [
        ("G", "UNASSIGNED", 2, "long"),
        (None, "TOPIC_WITHOUT_ROUTE", 1, "no route"),
    ]
    assert night.queues == {"IDLE": 1, "UNREAD": 3}


def test_what_it_rests_on(night: Digest) -> None:
    assert night.contradictions == 5
    assert night.rests_on == [
        "isolations: 15 of 16 producers with the switch on by replay of their sends, 1 as their clients recorded them",
        "no topic routes: brokers of a topic are those in its sends",
        "producers with the switch off would have isolated for 7.0 s (enforced = false)",
        "1 producer does not log sendLatencyFaultEnable; assumed off (setting fault_latency_enabled)",
        "1 producer not replayed: CLIENT_TOO_OLD",
        "2 producers not replayed: NOT_A_JAVA_CLIENT",
        (
            "5 first attempts contradict the replay (producer_days.contradictions):"
            " 1 of (unknown group) (client 5.9.0, r0), 1 of (unknown group) (client 5.9.0, r1),"
            " 1 of (unknown group) (client 5.9.0, r2), 2 of others"
        ),
        "ownership: unknown, as neither running info nor client logs show who held a queue",
        "the strategy of 11 groups is assumed, as nothing says it: H00, H01, H02, …",
    ]


def test_a_day_that_started_from_nothing_says_so(tmp_path: Path) -> None:
    publish(tmp_path, D1, D3, started_from="EMPTY")
    publish(tmp_path, D2, started_from="PREVIOUS_DAY")
    first, second, _ = digests(str(tmp_path), ["main"], [D1, D2, D3])
    empty = "the day before was not in the lake: 2026-03-01 starts with no isolation"
    assert any(each.startswith(empty) for each in first.rests_on)
    assert not any("the day before" in each for each in second.rests_on)


def test_each_published_day_has_a_digest_of_its_own(lake: Path) -> None:
    found = digests(str(lake), ["east", "north"], [D1, D2, D3])
    assert [(each.cluster, each.date) for each in found] == [
        ("east", "2026-03-01"), ("east", "2026-03-02"), ("north", "2026-03-01"), ("north", "2026-03-02"),
    ]  # fmt: skip
    with pytest.raises(InputMissingError):
        digests(str(lake), ["west"], [D1])


def test_a_flow_without_input_is_no_quiet_night(tmp_path: Path) -> None:
    publish(tmp_path, D1, flow="ALLOCATION")
    publish(tmp_path, D2)
    write_rows(tmp_path, ISOLATION_INTERVALS, [])
    groups, sends = digests_of(open_published(str(tmp_path), None, D1, D2))
    assert (groups.not_given, sends.not_given) == (["no send log was given"], ["no consumer snapshots were given"])
    assert "  no send log was given" in night_text(groups)
    assert "Findings" not in night_text(groups)
    assert night_text(sends).endswith(
        "\n\nFindings\n  none\n\nWhat this rests on\n  no consumer snapshots were given\n"
        "  no topic routes: brokers of a topic are those in its sends"
    )


@pytest.mark.parametrize("flow", ["FAULT_LATENCY", "ALLOCATION"])
def test_a_run_of_either_flow_that_failed_is_no_quiet_night(tmp_path: Path, flow: str) -> None:
    publish(tmp_path, D1, D2)
    row = {"event_date": D1, "flow": flow, "status": "FAILED", "event_seq": 9}
    write_rows(tmp_path, RUN_LOG, [row])
    failed, fine = digests(str(tmp_path), ["main"], [D1, D2])
    warning = "the last run of 2026-03-01 has not succeeded: its tables may not fit together; run it again"
    assert (failed.warning, fine.warning) == (warning, None)
    assert night_text(failed).split("\n")[2] == f"  {warning}"
    assert nights_text([failed] * 4).split("\n")[0].endswith(f". {warning}")


def _sections(**changed: Any) -> list[list[str]]:
    return [part.split("\n") for part in night_text(dataclasses.replace(QUIET, **changed)).split("\n\n")]


def _section(title: str, **changed: Any) -> list[str]:
    (found,) = [lines for lines in _sections(**changed) if lines[0].startswith(title)]
    return found


def _event(number: int, seconds: float = 19.0, **changed: Any) -> dict[str, Any]:
    start_ms = START[D1] + number * 60_000
    return {
        "where": f"b\x1b{number}", "brokers": ["b"], "what": "timed out", "bad_from_ms": start_ms,
        "last_bad_ms": start_ms + int(seconds * 1000), "hit_producers": 19, "avoiding_producers": 17, "producers": 21,
        "avoided_until_ms": start_ms + 599_000, "avoided_after_ms": 580_000, "lost_sends": 1_010, "saved_sends": 12,
        "slow_sends": 3, "notes": [], "findings": {}, "worst": None, **changed,
    }  # fmt: skip


def test_a_quiet_night_is_short() -> None:
    assert _sections() == [["2026-11-21, cluster north", "  A quiet night."], ["Findings", "  none"]]


def test_of_many_events_the_eight_gravest_in_order_of_time() -> None:
    events = [_event(number) for number in [9, 0, 2, 4, 6, 8, 7, 5, 3, 1]]
    title, header, *rows = _section("Events", events=events)
    assert title.endswith(", UTC (the 8 gravest of 10)")
    assert header == (
        "  broker  what       from      bad for  producers hit  avoided by  until     after it answered  lost   saved"
        "  slow"
    )
    assert rows[0] == (
        "  b\\x1b0  timed out  00:00:00  19.0 s   19 of 21       17          00:09:59  9 min 40 s         1,010  12   "
        "  3"
    )
    assert [int(row.split()[0].removeprefix("b\\x1b")) for row in rows] == [0, 2, 4, 5, 6, 7, 8, 9]


def test_below_an_event_stand_its_notes_its_findings_and_the_worst() -> None:
    found = {"SENT_WHILE_ISOLATED": 1_040, "COLLATERAL_ISOLATION": 3}
    events = [
        _event(0, notes=["goes on after 24:00"], findings=found, worst="so is \x1b[31mthis"),
        _event(1, avoided_until_ms=None, avoided_after_ms=None),
        _event(2, avoided_after_ms=None),
    ]
    _, _, first, *below, second, third = _section("Events", events=events)
    assert first.split()[0] == "b\\x1b0"
    assert below == [
        "    goes on after 24:00",
        "    findings: SENT_WHILE_ISOLATED 1,040, COLLATERAL_ISOLATION 3",
        "    so is \\x1b[31mthis",
    ]
    assert "19 of 21       17          –    " in second
    assert "19 of 21       17          00:11:59    " in third


def test_what_it_cost_by_producer_group_before_the_events() -> None:
    costs = [
        {"producer_group": f"g{number}\x1b", "lost": 1_000, "unsent": 0, "saved": 2, "slow": 3} for number in range(7)
    ]
    owners = {"g1\x1b": "ops"}
    counts = COUNTS | {"sends": 1_000, "failures": 25}
    head, cost, events, _ = _sections(costs=costs, owners=owners, events=[_event(0)], counts=counts)
    assert head[-1] == "  2.5 % of 1,000 send attempts failed."
    assert cost[:4] == [
        "What it cost: sends by producer group (5 of 7)",
        "  group         lost   saved by a retry  slow",
        "  g0\\x1b        1,000  2                 3",
        "  g1\\x1b [ops]  1,000  2                 3",
    ]
    assert len(cost) == 2 + 5
    assert events[0].startswith("Events: ")


def test_the_worst_of_each_critical_kind_is_said_in_words() -> None:
    kinds = [
        _kind("ALL_ISOLATED", 1_008, 9, 12, "so is \x1b[31mthis"),
        _kind("AVOIDED_TOO_LONG", 1, 9, 0, "too long 0"),
        _kind("CLOCK_STEP", 0, 0, 3, "it is not"),
    ]
    avoided = [f"too long {number}" for number in range(10)]
    assert _section("Findings", findings=kinds, in_full=avoided)[1:] == [
        "  kind              critical  warning  info",
        "  ALL_ISOLATED      1,008     9        12",
        "  AVOIDED_TOO_LONG  1         9        0",
        "  CLOCK_STEP        0         0        3",
        "  so is \\x1b[31mthis",
        *(f"  too long {number}" for number in range(8)),
        "  and 2 more",
    ]


def test_findings_that_all_follow_from_events_are_not_none() -> None:
    assert _section("Findings", kinds={"SENT_WHILE_ISOLATED": 3}) == ["Findings", "  none besides those of events"]


def _many(producers: int, groups: int) -> dict[str, Any]:
    return {
        "counts": COUNTS | {"isolating_producers": producers, "isolations": 9_000}, "producer_count": 1_300,
        "producer_group_count": groups, "owners": {"g": "team\x1b"},
        "producers": [{"client_id": "h\x1b@p", "producer_group": "g", "client_version": None, "isolated_ms": 59_900,
                       "isolations": 1}],
        "producer_groups": [{"producer_group": "g", "producers": 1_200, "isolated_ms": 3_600_000, "isolations": 8_765},
                            {"producer_group": "", "producers": 2, "isolated_ms": 1_000, "isolations": 3}],
    }  # fmt: skip


@pytest.mark.parametrize(("producers", "groups", "by_group"), [(9, 8, True), (8, 7, False), (9, 9, False)])
def test_groups_stand_for_producers_that_are_more_than_fit(producers: int, groups: int, *, by_group: bool) -> None:
    title, *table = _section("Producer", **_many(producers, groups))
    if by_group:
        assert title == f"Producer groups that isolated longest (producers: {producers} of 1,300, 9,000 isolations)"
        assert table == [
            "  group            producers  isolated (sum over brokers)  isolations",
            "  g [team\\x1b]     1,200      1 h 00 min                   8,765",
            "  (unknown group)  2          1.0 s                        3",
        ]
    else:
        assert title == f"Producers that isolated longest ({producers} of 1,300, 9,000 isolations)"
        assert table == [
            "  group         host   client  isolated (sum over brokers)  isolations  client id",
            "  g [team\\x1b]  h\\x1b  ?       59.9 s                       1           h\\x1b@p",
        ]


def test_an_event_tells_of_queues_but_not_that_a_group_has_no_consumer_for_hours() -> None:
    finding = {
        "consumer_group": "g",
        "cause": "NONE_NEEDED",
        "start_ms": 0,
        "end_ms": 9,
        "sentence": "",
        "event_id": "e",
    }
    of_queue = finding | {"kind": "UNASSIGNED", "basis": "OBSERVED"}
    of_group = finding | {"kind": "GROUP_WITHOUT_CONSUMERS", "basis": "EXPECTED"}
    assert [kind.kind for kind in finding_kinds([of_queue, of_group])] == ["GROUP_WITHOUT_CONSUMERS"]


def test_groups_and_their_findings_in_words() -> None:
    groups = {"group_count": 30, "groups": [Group("g\x1b1", 2, 12, 54, 28, 7, 90_000)], "owners": {"g\x1b1": "ops"},
              "group_events": [{"start_ms": 0, "sentence": "g\x1b: x joined"}],
              "group_findings": [FindingKind("g", "UNASSIGNED", "C", 1_003, 0, 5, "nobody\x1b has it")],
              "queues": {"UNREAD": 4, "IDLE": 1},
              "counts": COUNTS
              | {"group_events": 2, "rebalances": 12, "moved": 54, "group_findings": 1_003}}  # fmt: skip
    head, _, table, events, findings, notes = _sections(**groups)
    assert head[-1] == "  30 consumer groups: 2 events; 12 rebalances moved 54 queues; 1,003 findings about them."
    assert table[0] == "Consumer groups (1 of 30)"
    assert table[-1].split("  ")[1:2] == ["g\\x1b1 [ops]"]
    assert table[-1].split()[2:] == ["1", "min", "30", "s", "2", "12", "54", "28", "7"]
    assert events[0] == "Events of consumer groups, UTC (1 of 2)"
    assert events[-1].split("  ")[1:] == ["00:00:00.000", "g\\x1b: x joined"]
    assert findings[-1] == "  1,003  UNASSIGNED  nobody\\x1b has it"
    assert notes[1:] == [
        "  4 queues got messages and had no reader (topic_queues.finding = UNREAD)",
        "  1 queue read but never written (topic_queues.finding = IDLE)",
    ]


def test_missing_groups_five_at_most_each_with_its_owner() -> None:
    notes = _section("What", missing_producers=["g1", "g2", "g3", "g4", "g\n5", "g6"], owners={"g2": "ops"})
    assert notes[1:] == ["  producer groups of the day before that sent nothing: g1, g2 [ops], g3, g4, g\\n5, …"]


def test_rejected_lines_stand_in_the_head() -> None:
    rejected = [{"source": "sends", "reason": f"r{number}", "lines": 1_000} for number in range(9)]
    (line,) = (line for line in _sections(rejected=rejected)[0] if "Rejected" in line)
    assert line.startswith("  Rejected lines: 1,000 sends r0, 1,000 sends r1, ")
    assert line.endswith("sends r7, …; a line counts under each of its reasons (quarantine has file and line).")


@pytest.mark.parametrize(("count", "in_full"), [(3, True), (4, False)])
def test_many_nights_have_a_line_each(count: int, *, in_full: bool) -> None:
    text = nights_text([QUIET] * count)
    assert text.count("Findings\n  none") == (count if in_full else 0)
    assert text.count("2026-11-21, cluster north") == count
    if not in_full:
        assert text.split("\n")[0] == "2026-11-21, cluster north: A quiet night."


def test_show_night_says_what_a_run_says(capsys: pytest.CaptureFixture[str], lake: Path) -> None:
    where = ["show", "night", "--lake", str(lake), "--cluster", "north", "--date", f"{D2}"]
    (digest,) = digests(str(lake), ["north"], [D2])
    assert cli.main(where) == 0
    assert capsys.readouterr().out == f"{night_text(digest)}\n"
    assert cli.main([*where, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"nights": [json.loads(json.dumps(dataclasses.asdict(digest)))]}


@pytest.mark.parametrize(
    "more", [["--csv"], ["--broker", "b1"], ["--limit", "5"], ["--failed"], ["--queue", "b:1"], ["--since", "00:01"]]
)
def test_show_night_takes_whole_days(capsys: pytest.CaptureFixture[str], lake: Path, more: list[str]) -> None:
    assert cli.main(["show", "night", "--lake", str(lake), "--cluster", "north", "--date", f"{D2}", *more]) == 2
    assert "show night takes days, lake and --json alone; leave the others out" in capsys.readouterr().err


def test_the_last_published_day_is_the_default(capsys: pytest.CaptureFixture[str], lake: Path) -> None:
    assert cli.main(["show", "night", "--lake", str(lake), "--cluster", "north"]) == 0
    assert capsys.readouterr().out.startswith(f"{D2}, cluster north\n")
