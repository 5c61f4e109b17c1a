"""`--fail-on`: which conditions are understood, and which of them hold."""

from __future__ import annotations

import dataclasses

import pytest

from jobs.answers.digest import Digest, Kind
from jobs.cli.fail_on import check_conditions, parse_condition
from jobs.errors import ConditionMetError, UsageError
from tests.given.quiet_answers import COUNTS, QUIET

FINDINGS = [Kind("ALL_ISOLATED", 4, 2, 0, ""), Kind("CLOCK_STEP", 1, 0, 1, "")]


def _incidents(count: int) -> dict[str, object]:
    return {"counts": COUNTS | {"incidents": count, "minor_incidents": 50}}


def _nights(night: dict[str, object]) -> list[Digest]:
    """What happened in the first of two nights."""
    return [dataclasses.replace(QUIET, **night), QUIET]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("condition", "night", "held"),
    [
        ("incident", _incidents(1), "incident 1"),
        ("incident>1", _incidents(2), "incident 2"),
        ("contradictions", {"contradictions": 1}, "contradictions 1"),
        ("contradictions>10", {"contradictions": 11}, "contradictions 11"),
        ("INCIDENT", _incidents(1), "incident 1"),
        ("critical", {"findings": FINDINGS}, "CRITICAL 5"),
        ("WARNING>1", {"findings": FINDINGS}, "WARNING 2"),
        ("info", {"findings": [Kind("CLOCK_STEP", 0, 0, 1, "")]}, "INFO 1"),
        ("ALL_ISOLATED", {"findings": FINDINGS}, "ALL_ISOLATED 6"),
        ("clock_step>1", {"findings": FINDINGS}, "CLOCK_STEP 2"),
        (" missing-producer ", {"missing_producers": ["PG_a", "PG_b"]}, "missing-producer 2"),
    ],
)
def test_a_condition_that_holds_is_an_exit_code_of_its_own(condition: str, night: dict[str, object], held: str) -> None:
    with pytest.raises(ConditionMetError) as caught:
        check_conditions([parse_condition(condition)], _nights(night))
    assert str(caught.value) == f"--fail-on held: {held}; the tables are published"
    assert caught.value.exit_code == 7


@pytest.mark.parametrize(
    ("condition", "night"),
    [
        ("incident", {"contradictions": 5, "missing_producers": ["PG_a"]}),
        ("contradictions>10", {"contradictions": 10}),
        ("missing-producer>1", {"missing_producers": ["PG_a"]}),
        ("CRITICAL>5", {"findings": FINDINGS}),
        ("CRITICAL", {"findings": [Kind("ALL_ISOLATED", 0, 1, 1, "")]}),
        ("ALL_ISOLATED>6", {"findings": FINDINGS}),
        ("WIDE_ISOLATION", {"findings": FINDINGS}),
    ],
)
def test_a_condition_that_does_not_hold_is_silent(condition: str, night: dict[str, object]) -> None:
    check_conditions([parse_condition(condition)], _nights(night))


def test_every_condition_that_holds_is_named() -> None:
    night = _nights(_incidents(3) | {"missing_producers": ["PG_a"]})
    with pytest.raises(ConditionMetError, match="held: incident 3, missing-producer 1;"):
        check_conditions([parse_condition(each) for each in ("incident", "contradictions", "missing-producer")], night)


def test_nights_count_together() -> None:
    nights = [QUIET, *_nights(_incidents(3) | {"findings": FINDINGS}), *_nights(_incidents(1))]
    with pytest.raises(ConditionMetError, match="held: incident 4, CRITICAL 5;"):
        check_conditions([parse_condition("incident>3"), parse_condition("critical")], nights)


def test_no_condition_never_holds() -> None:
    check_conditions([], _nights(_incidents(9)))
    check_conditions([], None)


def test_what_cannot_be_read_cannot_be_judged() -> None:
    with pytest.raises(ConditionMetError, match=r"^--fail-on could not be judged, as the published tables cannot be"):
        check_conditions([parse_condition("incident>3")], None)


@pytest.mark.parametrize(
    "text", ["incidents", "incident>", "incident>-1", "contradictions<3", "incident>1.5", "", "FLAPPING", "critical>"]
)
def test_an_invalid_condition_is_reported(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_condition(text)
    assert str(caught.value).startswith(f"--fail-on {text!r} is not a condition")
    assert "; give incident, contradictions, missing-producer, CRITICAL, WARNING, INFO, SENT_WHILE" in str(caught.value)
    assert caught.value.exit_code == 2


def test_the_nearest_word_is_named() -> None:
    with pytest.raises(
        UsageError, match=r"--fail-on 'critcal>3' is not a condition \(did you mean 'CRITICAL'\?\); give "
    ):
        parse_condition("critcal>3")
