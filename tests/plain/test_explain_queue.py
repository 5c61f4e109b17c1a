"""Who should own a queue, by which lists and places, and how a difference is explained."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from jobs.answers.explain_queue import QueueOwners, queue_owners, queue_text
from jobs.errors import InputMissingError

T = 1_772_323_200_000  # 2026-03-01 00:00 UTC
SPAN = {"start_ms": T, "end_ms": T + 60_000}
QUEUES = [(broker, number) for broker in ("broker-a", "broker-b") for number in range(4)]
Row = dict[str, Any]


def members(broker: str, *client_ids: str) -> Row:
    return {"broker_name": broker, "client_ids": list(client_ids), **SPAN}


def allocation(owners: Mapping[str, str], strategy: str = "AVG", view: str | None = None, **other: object) -> list[Row]:
    """`a0` to the owner; every queue of `QUEUES` has a row."""
    return [
        {
            "broker_name": broker, "queue_id": number, "client_id": owners.get(f"{broker[-1]}{number}"),
            "strategy": strategy, "strategy_source": "RUNNING_INFO", "view_broker_name": view, "is_carried": False,
            "in_route": True,
        } | other
        for broker, number in QUEUES
    ]  # fmt: skip


def held(client_id: str, source: str = "CLIENT_LOG") -> Row:
    is_log = source == "CLIENT_LOG"
    return {
        "broker_name": "broker-a", "queue_id": 3, "client_id": client_id, "source": source,
        "process": "client.log pid 7" if is_log else None, "last_answer_ms": None if is_log else T + 5_000, **SPAN,
    }  # fmt: skip


def finding(cause: str, **other: object) -> Row:
    return {
        "kind": "AGAINST_STRATEGY", "cause": cause, "basis": "OBSERVED", "topic": "T", "broker_name": "broker-a",
        "queue_id": 3, "sentence": "a client that should not own the queue has it", **SPAN,
    } | other  # fmt: skip


def owners(
    allocated: list[Row],
    *,
    listed: list[Row],
    holding: list[Row],
    findings: list[Row] | None = None,
    logged: tuple[str, ...] = (),
) -> QueueOwners:
    rows = {
        "group_members": listed, "queue_allocation": allocated, "queue_ownership": holding,
        "allocation_findings": findings or [],
    }  # fmt: skip
    change = {"trigger": "JOINED", "joined": ["c3"], "left": [], "moved": 3, "queues": 8}
    changes = [{"changed_at_ms": T + at_ms, **change} for at_ms in (90_000, 1_000, 30_000)]
    return queue_owners("g", "T", ("broker-a", 3), T + 30_000, rows, changes, logged)


AVG = (
    dict.fromkeys(("a0", "a1", "a2"), "c1")
    | dict.fromkeys(("a3", "b0", "b1"), "c2")
    | dict.fromkeys(("b2", "b3"), "c3")
)
"""`AllocateMessageQueueAveragely`: blocks of 3, 3 and 2 for three members and eight queues."""
TRIO = [members("broker-a", "c1", "c2", "c3"), members("broker-b", "c1", "c2", "c3")]


def test_who_should_own_it_holds_it() -> None:
    found = owners(allocation(AVG), listed=TRIO, holding=[held("c2"), held("c2", "RUNNING_INFO")])
    assert found.verdict == "c2 should own it, and held it"
    (view,) = found.views
    assert (view.expected, view.computed, view.members) == (("c2",), ("c2",), ("c1", "c2", "c3"))
    assert [row["changed_at_ms"] - T for row in found.rebalances] == [30_000, 90_000]
    assert queue_text(found).splitlines() == [
        "queue broker-a:3 of T, group g, 2026-03-01 00:00:30.000 UTC",
        "  c2 should own it, and held it",
        "members, as each broker listed them:",
        "  broker-a: c1, c2, c3, 00:00:00.000 to 00:01:00.000",
        "  broker-b: c1, c2, c3, 00:00:00.000 to 00:01:00.000",
        "AVG (RUNNING_INFO), members which agree:",
        "  members in its order: 0 c1, 1 c2, 2 c3",
        "  queues in its order: 8, this one is number 3 from 0",
        "  8 queues for 3 members: it gives this one to number 1, c2",
        "held by:",
        "  c2, 00:00:00.000 to 00:01:00.000: the lines of client.log pid 7",
        "  c2, 00:00:00.000 to 00:01:00.000: its own answers, the last at 00:00:05.000",
        "findings then:",
        "  none",
        "rebalances, the last one and the next:",
        "  00:00:30.000 JOINED: joined c3; left nobody; moved 3 of 8 queues",
        "  00:01:30.000 JOINED: joined c3; left nobody; moved 3 of 8 queues",
    ]


def test_a_difference_has_the_published_cause() -> None:
    of_others = [finding("STALE_ROUTE", queue_id=1), finding("CLIENT_SILENT", topic="T2")]
    of_group = finding("NONE_NEEDED", topic=None, queue_id=None, basis="EXPECTED", kind="VIEWS_DIFFER")
    found = owners(
        allocation(AVG),
        listed=TRIO,
        holding=[held("c1")],
        findings=[of_group, finding("REBALANCE_NOT_RUN"), *of_others],
    )
    assert found.verdict == "c2 should own it, c1 held it: REBALANCE_NOT_RUN"
    assert [row["cause"] for row in found.findings] == ["REBALANCE_NOT_RUN", "NONE_NEEDED"]
    assert "  AGAINST_STRATEGY, REBALANCE_NOT_RUN: a client that should not own the queue has it" in queue_text(found)


def test_a_log_counts_instead_of_the_answers_of_its_client() -> None:
    """A stopped client's last answer stands for a while; its log says when it gave the queue up."""
    found = owners(allocation(AVG), listed=TRIO, holding=[held("c1"), held("c2", "RUNNING_INFO")], logged=("c1", "c2"))
    assert found.verdict.startswith("c2 should own it, c1 held it: ")
    assert "its own answers, the last at 00:00:05.000; its log counts instead" in queue_text(found)


def test_a_difference_too_short_for_a_finding() -> None:
    found = owners(allocation(AVG), listed=TRIO, holding=[held("c1")])
    assert found.verdict.endswith("no finding: they differ for less than a finding needs")


def test_each_list_of_members_has_its_own_owner() -> None:
    """Broker-b lists c3 alone, to which AVG gives every queue."""
    listed = [members("broker-a", "c1", "c2", "c3"), members("broker-b", "c3")]
    alone = dict.fromkeys((f"{broker[-1]}{number}" for broker, number in QUEUES), "c3")
    allocated = [*allocation(alone, view="broker-b"), *allocation(AVG, view="broker-a")]
    found = owners(allocated, listed=listed, holding=[held("c2")], findings=[finding("VIEWS_DIFFER")])
    assert [(view.broker_name, view.members, view.expected, view.computed) for view in found.views] == [
        ("broker-a", ("c1", "c2", "c3"), ("c2",), ("c2",)),
        ("broker-b", ("c3",), ("c3",), ("c3",)),
    ]
    assert found.verdict == "c2, c3 should own it, c2 held it: VIEWS_DIFFER"


@pytest.mark.parametrize("strategy", ["MACHINE_ROOM", "MIXED", "CONFIG"])
def test_a_strategy_with_settings_of_its_own_is_the_runs_word(strategy: str) -> None:
    found = owners(allocation({"a3": "c9"}, strategy), listed=TRIO, holding=[])
    assert found.views[0].computed != ("c9",)
    assert "  c9 by the run, which has more of the strategy than these lists" in queue_text(found)
    assert found.verdict == "c9 should own it; no answer and no log shows who held it"


def test_a_strategy_that_fails_leaves_the_queue_to_its_owner() -> None:
    found = owners(allocation(AVG, is_carried=True), listed=TRIO, holding=[])
    assert "  the strategy fails on these lists, so c2 keeps the queue" in queue_text(found)


def test_nobody_should_own_a_queue_of_a_group_without_members() -> None:
    found = owners(allocation({}), listed=[members("broker-a")], holding=[])
    assert found.verdict.startswith("nobody should own it")
    assert "  members in its order: none" in queue_text(found)


def test_a_popped_broker_answers_for_each_of_its_queues() -> None:
    found = owners(allocation({"a0": "c1"}, "POP:AVG", queue_id=-1), listed=TRIO, holding=[])
    assert found.views[0].expected == ("c1",)


def test_who_held_it_is_told_although_nothing_was_computed() -> None:
    found = owners([], listed=[], holding=[held("c2")])
    assert found.verdict == "c2 held it; who should is not computed"


def test_names_are_escaped() -> None:
    found = owners(allocation({"a3": "\x1b[31m"}), listed=[members("broker-a", "\x1b[31m")], holding=[held("\x1b[31m")])
    assert "\x1b" not in queue_text(found)


def test_an_unknown_queue_is_one_sentence() -> None:
    start = (
        "nothing is known of queue 'broker-x:0' of 'T' for group 'g' at 2026-03-01 00:00:00.000; known then: broker-a:0"
    )
    with pytest.raises(InputMissingError) as raised:
        queue_owners("g", "T", ("broker-x", 0), T, {
            "group_members": [], "queue_allocation": allocation(AVG), "queue_ownership": [], "allocation_findings": [],
        }, [])  # fmt: skip
    assert f"{raised.value}".startswith(start)
    assert raised.value.exit_code == 3
