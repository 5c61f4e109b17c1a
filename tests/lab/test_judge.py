"""The judge itself: what is missed, invented or wrong in a few rows, and what is not."""

from __future__ import annotations

from typing import Any

from tests.lab import judge
from tests.lab.deeds import Deed, DeedKind
from tests.lab.judge import Producer

S = 1_000
FREEZE = Deed(DeedKind.FREEZE, ("a",), 100 * S, 106 * S)
KILL = Deed(DeedKind.CONSUMER_KILLED, ("c1",), 200 * S, 200 * S)
P1 = Producer("p1", "shop", "5.3.3", True, 0, 600 * S, {"a": [103 * S]})
P2 = Producer("p2", "shop", "4.9.8", True, 0, 600 * S, {"a": [111 * S]})
OFF = Producer("off", "old", "4.9.8", False, 0, 600 * S)
QUEUE = ("T", "a", 0)


def isolation(client_id: str, start_s: float, end_s: float, broker: str = "a") -> dict[str, Any]:
    return {
        "client_id": client_id, "broker_name": broker, "start_ms": int(start_s * S), "end_ms": int(end_s * S),
        "enforced": True,
    }  # fmt: skip


def finding(kind: str, at_s: float, broker: str | None = "a", **other: str) -> dict[str, Any]:
    row = {"kind": kind, "cause": "X", "start_ms": int(at_s * S), "broker_name": broker, "client_id": "p1"}
    return row | {"sentence": ""} | other


def rebalance(at_s: float, joined: list[str] | None = None, left: list[str] | None = None) -> dict[str, Any]:
    return {"changed_at_ms": int(at_s * S), "trigger": "VIEW", "joined": joined, "left": left}


def owner(client_id: str, start_s: float, end_s: float, source: str = "CLIENT_LOG") -> dict[str, Any]:
    return {
        "client_id": client_id, "topic": "T", "broker_name": "a", "queue_id": 0, "source": source,
        "start_ms": int(start_s * S), "end_ms": int(end_s * S),
    }  # fmt: skip


def group_finding(kind: str, start_s: float, end_s: float) -> dict[str, Any]:
    return {
        "kind": kind, "basis": "OBSERVED", "start_ms": int(start_s * S), "end_ms": int(end_s * S), "topic": "T",
        "broker_name": "a", "queue_id": 0, "consumer_group": "CG", "sentence": "",
    }  # fmt: skip


def group_event(kind: str, at_s: float, clients: tuple[str, ...] = (), brokers: tuple[str, ...] = ()) -> dict[str, Any]:
    return {
        "kind": kind, "start_ms": int(at_s * S), "client_ids": list(clients), "broker_names": list(brokers),
        "consumer_group": "CG", "sentence": "",
    }  # fmt: skip


def check(writer: str, isolated: int, differing: int, cause: str | None) -> dict[str, Any]:
    return {
        "source": "RECORDED", "writer": writer, "cause": cause, "isolated_ms": isolated, "replayed_ms": isolated,
        "differing_ms": differing,
    }  # fmt: skip


def test_each_producer_with_the_switch_on_isolates_the_broker() -> None:
    rows = [isolation("p1", 103, 113), isolation("p2", 90, 95)]
    (fault,) = judge.missed_isolations([FREEZE], [P1, P2, OFF], rows)
    assert str(fault).startswith("MISSED: p2 (shop) isolates a in FREEZE a")
    assert list(judge.missed_isolations([FREEZE], [P1], [isolation("p1", 90, 700)])) == []  # since before
    assert len(list(judge.missed_isolations([FREEZE], [P1], [isolation("p1", 103, 113, "b")]))) == 1


def test_a_producer_that_did_not_meet_the_broker_need_not_but_somebody_does() -> None:
    other = Producer("p", "shop", "5.3.3", True, 0, 600 * S, {"a": [99 * S, 112 * S], "b": [103 * S]})
    assert list(judge.missed_isolations([FREEZE], [P1, other], [isolation("p1", 103, 113)])) == []
    (fault,) = judge.missed_isolations([FREEZE], [other], [])
    assert str(fault).startswith("MISSED: an attempt at a that fails or is slow in FREEZE a")


def event(
    from_s: float, last_s: float, until_s: float | None, kind: str = "TIMED_OUT", *brokers: str
) -> dict[str, Any]:
    until_ms = None if until_s is None else int(until_s * S)
    return {
        "brokers": [*(brokers or "a")], "bad_from_ms": int(from_s * S), "last_bad_ms": int(last_s * S),
        "bad_until_ms": until_ms, "kind": kind, "failed_attempts": 1, "slow_attempts": 3,
    }  # fmt: skip


def test_a_deed_at_a_broker_is_one_event_and_the_other_way_round() -> None:
    seen, attempts = event(100.05, 106, 106.1), {"a": [90 * S, 100_050, 108 * S]}
    assert list(judge.missed_events([FREEZE, KILL], attempts, [seen])) == []
    assert list(judge.invented_events([FREEZE], {}, [seen])) == []
    assert list(judge.missed_events([FREEZE], {"a": [90 * S, 106 * S]}, [])) == []  # nobody sent to it meanwhile
    for rows in ([], [seen, event(103, 106, 107)], [event(100.05, 106, 106.1, "TIMED_OUT", "b")]):
        assert len(list(judge.missed_events([FREEZE], attempts, rows))) == 1
    for row in (event(100.2, 106, 107), event(100, 104, 105.8), event(100, 106, 107, "REFUSED")):
        assert len(list(judge.missed_events([FREEZE], attempts, [row]))) == 1
    assert list(judge.missed_events([FREEZE], attempts, [event(100, 106, None)])) == []
    invented = [event(113, 114, 115), event(100, 106, 107, "SLOW", "a", "b")]
    assert len(list(judge.invented_events([FREEZE], {}, invented))) == 2


def test_an_event_without_a_deed_is_real_where_another_hand_saw_it() -> None:
    slow, start = event(300, 301, 302, "SLOW"), Deed(DeedKind.PRODUCER_STARTS, ("shop",), 290 * S, 291 * S)
    assert [*judge.events_without_deed([FREEZE, KILL], [slow, event(101, 104, 105)])] == [slow]
    assert [*judge.events_without_deed([start], [slow])] == []
    two, outside = {"a": [300_600, 301_000]}, {"a": [299_999, 300_600, 302 * S]}
    assert list(judge.invented_events([FREEZE], two, [slow])) == []
    for seen in ({}, {"b": two["a"]}, {"a": [300_600]}, outside):
        (fault,) = judge.invented_events([FREEZE], seen, [slow])
        assert str(fault) == "INVENTED: an event of ['a'], SLOW from 300000"
    both = event(300, 301, 302, "SLOW", "a", "b")
    assert len(list(judge.invented_events([FREEZE], two, [both]))) == 1
    assert list(judge.invented_events([FREEZE], {**two, "b": [300_700]}, [both])) == []


def test_a_lost_send_has_an_event() -> None:
    row = {
        "client_id": "p1",
        "broker_names": ["a"],
        "end_ms": 1,
        "failed": True,
        "attempts": 1,
        "event_id": None,
        "outcome": "X",
    }
    assert len(list(judge.losses_without_event([row]))) == 1
    fine = (
        row | {"outcome": "RemotingTooMuchRequestException"},
        row | {"event_id": "e"},
        row | {"failed": False},
        row | {"attempts": 0},
    )
    assert list(judge.losses_without_event(fine)) == []


def test_isolations_agree_with_what_clients_held_while_they_lived() -> None:
    truth = {("p1", "a"): [(103 * S, 113 * S)]}
    assert list(judge.wrong_isolations(truth, [isolation("p1", 103, 113)], [P1], 0.9999)) == []
    off = isolation("p1", 0, 90) | {"enforced": False}
    assert list(judge.wrong_isolations(truth, [isolation("p1", 103, 113), off], [P1], 0.9999)) == []
    few, share = judge.wrong_isolations(truth, [isolation("p1", 106, 113)], [P1], 0.9999)
    assert "lacks [(103000, 106000)], adds []" in str(few)
    assert "0.70000" in str(share)
    dead = Producer("p1", "shop", "5.3.3", True, 0, 104 * S)
    assert list(judge.wrong_isolations(truth, [isolation("p1", 103, 700)], [dead], 0.9999)) == []


def test_an_application_that_logged_other_losses() -> None:
    assert list(judge.wrong_losses({"shop": [1, 2]}, {}, {"shop": [1, 2]}, [])) == []
    assert list(judge.wrong_losses({"shop": [1, 2]}, {"shop": 1}, {"shop": [1]}, [])) == []
    assert len(list(judge.wrong_losses({"shop": [1]}, {"shop": 1}, {"shop": [1, 2]}, []))) == 1
    (fault,) = judge.wrong_losses({"shop": [1, 2]}, {}, {"shop": [1]}, [])
    assert str(fault) == "WRONG: shop logged 2 failed sends, 1 are published"
    killed = Deed(DeedKind.PRODUCER_KILLED, ("shop",), 2 * S, 2 * S)
    assert list(judge.wrong_losses({"shop": [1_900]}, {}, {"shop": []}, [killed])) == []


def test_a_consumer_that_goes_is_a_rebalance() -> None:
    within = (0, 600 * S)
    assert list(judge.missed_rebalances([KILL], [rebalance(202, left=["ip@c1"])], within)) == []
    for row in (rebalance(202, joined=["ip@c1"]), rebalance(202, left=["ip@c2"]), rebalance(220, left=["ip@c1"])):
        assert len(list(judge.missed_rebalances([KILL], [row], within))) == 1
    assert list(judge.missed_rebalances([KILL], [], (0, 205 * S))) == []  # nobody asked afterwards


def test_a_rebalance_without_a_deed_is_invented() -> None:
    good = [rebalance(202, left=["ip@c1"]), rebalance(150), rebalance(120, left=["ip@c9"])]
    assert list(judge.invented_rebalances([FREEZE, KILL], good)) == []
    bad = [rebalance(300, left=["ip@c1"]), rebalance(90), rebalance(202, left=["ip@c2"])]
    assert len(list(judge.invented_rebalances([FREEZE, KILL], bad))) == 3


def test_owners_are_those_of_the_listeners() -> None:
    truth = {("ip@c1", QUEUE): [(10 * S, 100 * S)]}

    def wrong(*rows: dict[str, Any], deeds: tuple[Deed, ...] = ()) -> list[str]:
        return list(map(str, judge.wrong_owners(truth, rows, deeds, (0, 600 * S), 0.99)))

    assert wrong(owner("ip@c1", 11, 100.5)) == []
    assert wrong(owner("ip@c1", 11, 100.5), owner("ip@c1", 90, 130, "RUNNING_INFO")) == []  # the log alone counts
    assert "lacks [(10000, 20000)], adds []" in wrong(owner("ip@c1", 20, 100))[0]
    assert "lacks [], adds [(100000, 130000)]" in wrong(owner("ip@c1", 10, 130, "RUNNING_INFO"))[0]
    killed = Deed(DeedKind.CONSUMER_KILLED, ("c1",), 100 * S, 100 * S)
    assert wrong(owner("ip@c1", 10, 95), deeds=(killed,)) == []


def test_a_queue_without_owner_has_none_and_one_with_two_has_two() -> None:
    truth = {
        ("c1", QUEUE): [(10 * S, 100 * S)], ("c2", QUEUE): [(90 * S, 200 * S)], ("other", QUEUE): [(0, 300 * S)],
    }  # fmt: skip
    groups = {"c1": "CG", "c2": "CG", "other": "CG_other"}
    deeds = [Deed(DeedKind.CONSUMER_STOPS, ("c2",), 195 * S, 200 * S)]
    good = [group_finding("UNASSIGNED", 0, 11), group_finding("DOUBLY_OWNED", 90, 101)]
    good.append(group_finding("UNASSIGNED", 195, 300))  # stopping, it held none at some time
    assert list(judge.invented_owner_findings(truth, groups, deeds, good)) == []
    bad = [group_finding("UNASSIGNED", 0, 20), group_finding("DOUBLY_OWNED", 80, 100)]
    assert len(list(judge.invented_owner_findings(truth, groups, deeds, bad))) == 2
    assert list(judge.invented_owner_findings(truth, groups, deeds, [bad[0] | {"basis": "EXPECTED"}])) == []


def test_a_finding_about_a_group_follows_a_deed() -> None:
    rows = [group_finding("UNASSIGNED", at_s, at_s + 1) for at_s in (150, 199, 300)]
    (fault,) = judge.invented_group_findings([FREEZE, KILL], rows)
    assert "from 300000" in str(fault)


def test_who_comes_or_goes_is_one_event_of_that_kind() -> None:
    within, killed = (0, 600 * S), group_event("KILLED", 196, ("ip@c1", "ip@c2"))
    assert list(judge.missed_group_events([KILL], [killed], within)) == []
    for rows in ([], [killed, killed], [killed | {"kind": "STOPPED"}], [killed | {"start_ms": 230 * S}]):
        assert len(list(judge.missed_group_events([KILL], rows, within))) == 1
    assert list(judge.missed_group_events([KILL], [], (0, 205 * S))) == []  # nobody asked afterwards


def test_a_killed_broker_is_one_event_of_each_group() -> None:
    kill = Deed(DeedKind.KILL_ALL_BROKERS, ("a", "b"), 100 * S, 130 * S)
    silent = group_event("BROKERS_UNREACHABLE", 104, brokers=("a", "b"))
    within = (0, 600 * S)
    assert list(judge.missed_group_events([kill], [silent], within)) == []
    (fault,) = judge.missed_group_events(
        [kill], [silent, silent | {"consumer_group": "CH", "broker_names": ["a"]}], within
    )
    assert "one event of CH" in str(fault)


def test_an_event_of_a_group_follows_a_deed() -> None:
    good = [
        group_event("KILLED", 195, ("ip@c1",)), group_event("BROKERS_UNREACHABLE", 104, brokers=("a",)),
        group_event("ROUTE_CHANGED", 180, brokers=("a",)),
    ]  # fmt: skip
    assert list(judge.invented_group_events([FREEZE, KILL], good)) == []
    bad = [
        group_event("KILLED", 190, ("ip@c1",)), group_event("LEFT", 200, ("ip@c2",)),
        group_event("ROUTE_CHANGED", 190, brokers=("a",)),
    ]  # fmt: skip
    assert len(list(judge.invented_group_events([FREEZE, KILL], bad))) == 3


def test_a_finding_about_producers_follows_a_deed() -> None:
    start = Deed(DeedKind.PRODUCER_STARTS, ("shop",), 0, 2 * S)
    good = [
        finding("AVOIDED_TOO_LONG", 107, event_id="e"),
        finding("ALL_ISOLATED", 103, None),
        finding("COLLATERAL_ISOLATION", 103, "b"),
        finding("SENT_WHILE_ISOLATED", 110, cause="SWITCH_OFF", client_id="off"),
        finding("SENT_WHILE_ISOLATED", 400, cause="ALL_ISOLATED"),
        finding("LONE_ISOLATION", 10),
    ]
    assert list(judge.invented_findings([start, FREEZE], [P1, OFF], good)) == []
    bad = [
        finding("AVOIDED_TOO_LONG", 107, "b", event_id="e"),
        finding("AVOIDED_TOO_LONG", 107) | {"event_id": None},
        finding("LONE_ISOLATION", 103),
        finding("SENT_WHILE_ISOLATED", 110, cause="SWITCH_OFF"),
        finding("SENT_WHILE_ISOLATED", 110, cause="UNEXPLAINED"),
        finding("CLOCK_STEP", 103),
    ]
    assert len(list(judge.invented_findings([start, FREEZE], [P1, OFF], bad))) == len(bad)


def test_a_producer_that_starts_may_isolate_all_brokers() -> None:
    late = Producer("late", "shop", "4.9.8", True, 20 * S, 600 * S)
    rows = [finding("ALL_ISOLATED", at_s, None, client_id="late") for at_s in (10, 20, 34, 36)]
    faults = list(map(str, judge.invented_findings([FREEZE], [P1, late], rows)))
    assert faults == [f"INVENTED: ALL_ISOLATED X from {at_s}000: " for at_s in (10, 36)]
    consequences = [
        finding("DEAD_BROKER_MAGNET", 21, client_id="late"),
        finding("SENT_WHILE_ISOLATED", 21, cause="ALL_ISOLATED", client_id="late"),
    ]
    assert list(judge.invented_findings([FREEZE], [P1, late], consequences)) == []
    for row in (*(row | {"client_id": "p1"} for row in consequences), consequences[1] | {"cause": "UNEXPLAINED"}):
        assert len(list(judge.invented_findings([FREEZE], [P1, late], [row]))) == 1


def test_a_replay_agrees_by_release_or_says_what_no_line_shows() -> None:
    def faults(*rows: dict[str, Any]) -> list[str]:
        return list(map(str, judge.disagreeing_replays(rows, [P1, P2])))

    assert faults(check("p1", 10_000, 150, None), check("p2", 10_000, 400, "UNEXPLAINED")) == []
    assert faults(check("p2", 10_000, 9_000, "REMOVED_ITEM")) == []
    assert faults(check("p1", 10_000, 400, "UNEXPLAINED")) == [
        "WRONG: verify: p1 agrees to 0.96078, less than 0.98 ['UNEXPLAINED']"
    ]
    assert len(faults(check("p2", 10_000, 1_000, "LOST_LINES"))) == 1
    assert faults(check("p1", 0, 0, None)) == []
