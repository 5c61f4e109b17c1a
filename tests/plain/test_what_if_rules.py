"""What each kind of write earns under each asked policy, and where policies do the same."""

from __future__ import annotations

import dataclasses

from jobs.settings.client_profiles import released_profiles
from jobs.what_if.requested_policies import AS_RUN, RequestedPolicies
from jobs.what_if.rules import Rule, _rows, earns_from_ms, longest_ms, rules, steps_ms
from udfs.ladder import Ladder
from udfs.policy import Policy

OLD = Policy("old", "P2", Ladder((100, 30_000), (0, 700)), 30_000, "LAST_WRITE", False, not_exist_isolates=True)
NEW = Policy("new", "P5", Ladder((50, 10_000), (40, 900)), 10_000, "MAX", False, not_exist_isolates=False)
GATED = dataclasses.replace(NEW, name="gated", ladder=Ladder((50,), (0,)), reachable_gates=True)
NEVER = dataclasses.replace(NEW, name="never", ladder=Ladder((50,), (0,)))
Earned = tuple[str, int, int]


def earned(policy: Policy, *steps: int) -> list[Earned]:
    """Kind, step, isolation; a rule's own columns are asked elsewhere."""
    rule = Rule(7, (policy.name,), (policy,))
    return [(kind, step, isolation) for kind, step, _, _, isolation, _, _ in _rows(rule, policy, steps)]


def test_a_failure_earns_by_the_constant_for_any_latency() -> None:
    assert earned(OLD, 0, 100, 30_000) == [
        ("NOT_EXIST", 0, 700), ("NOT_EXIST", 100, 700),
        ("TOOK", 30_000, 700), ("NOT_EXIST", 30_000, 700),
        ("FAILED", 0, 700),
    ]  # fmt: skip


def test_from_5_1_4_a_broker_that_does_not_exist_counts_with_its_latency() -> None:
    assert earned(NEW, 0, 50, 10_000) == [
        ("TOOK", 50, 40), ("NOT_EXIST", 50, 40),
        ("TOOK", 10_000, 900), ("NOT_EXIST", 10_000, 900),
        ("FAILED", 0, 900),
    ]  # fmt: skip


def test_what_earns_nothing_has_no_row_unless_the_flag_may_isolate() -> None:
    assert earned(NEVER, 0, 50) == []
    assert earned(GATED, 0, 50) == [("FAILED", 0, 0)]


def test_how_a_rule_is_shown_in_its_rows() -> None:
    def tails(rule: Rule) -> set[tuple[object, ...]]:
        return {
            (of_policy, number, latest_stays, gated)
            for member in rule.members
            for _, _, of_policy, number, _, latest_stays, gated in _rows(rule, member, [0, 50])
        }

    assert tails(Rule(3, ("new", "alike"), (NEW,))) == {(None, 3, True, False)}
    assert tails(Rule(0, (AS_RUN,), (OLD, GATED))) == {("old", 0, False, False), ("gated", 0, True, True)}


def test_policies_that_differ_in_one_thing_share_no_rule() -> None:
    others = [
        NEW,
        dataclasses.replace(NEW, name="of another profile", profile="P4"),
        dataclasses.replace(NEW, name="ladder", ladder=Ladder((50, 10_001), (40, 900))),
        dataclasses.replace(NEW, name="constant", failure_latency_ms=50),
        dataclasses.replace(NEW, name="constant that reaches the same", failure_latency_ms=20_000),
        dataclasses.replace(NEW, name="write rule", write_rule="LAST_WRITE"),
        dataclasses.replace(NEW, name="flag", reachable_gates=True),
        dataclasses.replace(NEW, name="not exist", not_exist_isolates=True),
    ]
    found = rules(RequestedPolicies(tuple(others), as_run=False), [OLD])
    assert [(rule.number, rule.names) for rule in found] == [
        (1, ("new", "of another profile", "constant that reaches the same")),
        (2, ("ladder",)),
        (3, ("constant",)),
        (4, ("write rule",)),
        (5, ("flag",)),
        (6, ("not exist",)),
    ]


def test_as_run_is_a_rule_of_every_own_policy_and_comes_last() -> None:
    asked = RequestedPolicies((NEW,), as_run=True)
    assert rules(asked, [OLD, NEW]) == (Rule(1, ("new",), (NEW,)), Rule(0, (AS_RUN,), (OLD, NEW)))
    assert rules(RequestedPolicies((NEW,), as_run=False), [OLD, NEW]) == (Rule(1, ("new",), (NEW,)),)


def test_the_longest_isolation_the_steps_and_the_first_that_isolates() -> None:
    both = [Rule(1, ("old",), (OLD,)), Rule(2, ("new", AS_RUN), (NEW, NEVER))]
    assert longest_ms(both) == 900
    assert longest_ms([]) == 0
    assert steps_ms(both) == [0, 50, 100, 10_000, 30_000]
    assert earns_from_ms(both) == 50
    assert earns_from_ms([Rule(1, ("old",), (OLD,))]) == 30_000
    assert earns_from_ms([Rule(1, ("never",), (NEVER,))]) is None
    at_once = dataclasses.replace(NEW, ladder=Ladder((0,), (5,)))
    assert earns_from_ms([Rule(1, ("at once",), (at_once,))]) == 0


def test_a_floor_that_falls_earns_by_the_last_that_is_reached() -> None:
    falling = dataclasses.replace(NEW, ladder=Ladder((300, 20), (40, 0)))
    assert earns_from_ms([Rule(1, ("falling",), (falling,))]) is None
    assert released_profiles()[-1].policy("P5").ladder.lowest_ms == 550
