"""What `what-if` is asked: profiles, own ladders, sweeps, and each mistake in a sentence."""

from __future__ import annotations

import pytest

from jobs.errors import FaultlineError, UsageError
from jobs.settings.client_profiles import released_profiles
from jobs.what_if.requested_policies import AS_RUN, RequestedPolicies, requested_policies
from jobs.what_if.summary import with_best
from tests.given.what_if_answers import line

PROFILES = released_profiles()


def ask(**options: list[str]) -> RequestedPolicies:
    return requested_policies(PROFILES, **options)


def test_nothing_asked_is_each_producer_as_it_is_and_every_profile() -> None:
    assert ask().names == (AS_RUN, "P1", "P2", "P3", "P4", "P5")


def test_a_ladder_rests_on_the_profile_it_names_or_the_newest() -> None:
    short, old = ask(ladders=["short=550,2000/1000,5000", "a=b=100/7@P2"]).policies
    assert (short.name, short.profile, short.ladder.floors_ms, short.ladder.isolations_ms) == (
        "short", "P5", (550, 2000), (1000, 5000),
    )  # fmt: skip
    assert (short.write_rule, short.failure_isolation_ms) == ("MAX", 5000)
    assert (old.name, old.profile, old.write_rule, old.failure_isolation_ms) == ("a=b", "P2", "LAST_WRITE", 7)


def test_arrays_need_not_rise() -> None:
    (policy,) = ask(ladders=["odd=1000,10/5,9"]).policies
    assert policy.ladder.floors_ms == (1000, 10)


def test_a_sweep_is_every_floor_with_every_isolation() -> None:
    policies = ask(sweeps=["P5/0.5,1/1,3"]).policies
    assert [each.name for each in policies] == ["P5 x0.5/x1", "P5 x0.5/x3", "P5 x1/x1", "P5 x1/x3"]
    assert policies[1].ladder.floors_ms == (25, 50, 275, 900, 1500, 2500, 7500)
    assert policies[1].ladder.isolations_ms == (0, 0, 6000, 15000, 18000, 30000, 90000)


def test_a_sweep_rests_on_its_profile_and_rounds() -> None:
    (policy,) = ask(sweeps=["P1/0.333/0.0001"]).policies
    assert (policy.name, policy.profile, policy.write_rule) == ("P1 x0.333/x0.0001", "P1", "LAST_WRITE")
    assert policy.ladder.floors_ms == (17, 33, 183, 333, 666, 999, 4995)  # 16.65, 33.3, 183.15 …
    assert policy.ladder.isolations_ms == (0, 0, 3, 6, 12, 18, 60)


def test_the_most_that_may_be_asked() -> None:
    assert len(ask(sweeps=[f"P5/{','.join(map(str, range(1, 501)))}/1"]).policies) == 500
    (longest,) = ask(ladders=["a=86400000/86400000"]).policies
    assert longest.ladder.longest_ms == 86_400_000
    (widest,) = ask(sweeps=["P5/1000/1"]).policies
    assert widest.ladder.floors_ms[-1] == 15_000_000


@pytest.mark.parametrize(
    ("options", "kind", "sentence"),
    [
        (
            {"names": ["P9"]},
            UsageError,
            "--policy 'P9' is not a released profile; known are AS_RUN, P1, P2, P3, P4, P5",
        ),
        ({"names": ["P1", "P1"]}, UsageError, "policy 'P1' is asked twice"),
        ({"names": [AS_RUN, AS_RUN]}, UsageError, "policy 'AS_RUN' is asked twice"),
        ({"ladders": ["a=1/1", "a=2/2"]}, UsageError, "policy 'a' is asked twice"),
        ({"ladders": ["short"]}, UsageError, "--ladder 'short' has no form like short=550,2000/1000,5000@P5"),
        ({"ladders": ["short=5"]}, UsageError, "give floors/isolations"),
        ({"ladders": ["=5/5"]}, UsageError, "has no name"),
        ({"ladders": [" =5/5"]}, UsageError, "has no name"),
        ({"ladders": ["a=86400001/5"]}, UsageError, "--ladder 'a' has 86400001 ms; give 0 to 86400000"),
        ({"sweeps": [f"P5/{','.join(map(str, range(1, 502)))}/1"]}, UsageError, "501 policies are asked; ask at most"),
        ({"sweeps": ["P5/1000.1/1"]}, UsageError, "'1000.1' is not a list of factors"),
        ({"ladders": ["P5=5/5"]}, UsageError, "'P5' is the name of a released policy"),
        ({"ladders": ["AS_RUN=5/5"]}, UsageError, "'AS_RUN' is the name of a released policy"),
        ({"ladders": ["a=5,6/5"]}, UsageError, "has 2 floors but 1 isolations; give one isolation per floor"),
        ({"ladders": ["a=5/-5"]}, UsageError, "--ladder 'a' has -5 ms; give 0 to 86400000"),
        ({"ladders": ["a=5/86400001"]}, UsageError, "give 0 to 86400000 (one day)"),
        ({"ladders": ["a=x/5"]}, UsageError, "'x' is not a list of milliseconds like 550,2000"),
        ({"ladders": ["a=5/5@P7"]}, UsageError, "--ladder 'a' 'P7' is not a released profile; known are"),
        ({"sweeps": ["P5"]}, UsageError, "--sweep 'P5' has no form like P5/0.5,1,2/1,2,4"),
        ({"sweeps": ["P5/1/0"]}, UsageError, "'0' is not a list of factors"),
        ({"sweeps": ["P5/nan/1"]}, UsageError, "'nan' is not a list of factors"),
        ({"sweeps": ["P1/1/500"]}, UsageError, "--sweep 'P1/1/500' has 90000000 ms; give 0 to 86400000"),
        ({"sweeps": ["P5/1/1", "P5/1.0/1"]}, UsageError, "policy 'P5 x1/x1' is asked twice"),
        ({"sweeps": [f"P5/{','.join(map(str, range(1, 600)))}/1"]}, UsageError, "599 policies are asked; ask at most"),
    ],
)
def test_a_mistake_is_one_sentence(options: dict[str, list[str]], kind: type[FaultlineError], sentence: str) -> None:
    with pytest.raises(kind) as raised:
        ask(**options)
    assert sentence in str(raised.value)
    assert "\n" not in str(raised.value)


def test_the_best_are_those_that_no_other_beats() -> None:
    lines = [line("none", 0, 0), line("worse", 5, 9), line("many", 9, 8), line("few", 5, 2), line("twin", 5, 2)]
    told = [(each.policy, each.is_best) for each in with_best(lines)]
    assert told == [("many", True), ("few", True), ("twin", True), ("worse", False), ("none", True)]
