"""`--fail-on`: which conditions are understood, and which of them hold."""

from __future__ import annotations

import dataclasses

import pytest

from jobs.answers.digest import Digest
from jobs.cli.fail_on import check_conditions, parse_condition
from jobs.errors import ConditionMetError, UsageError
from tests.given.quiet_answers import COUNTS, QUIET

FOUND: dict[str, object] = {
    "severities": {"CRITICAL": 5, "WARNING": 2, "INFO": 1},
    "kinds": {"ALL_ISOLATED": 6, "CLOCK_STEP": 2},
}
"""Severities are of findings and events."""


def _events(count: int) -> dict[str, object]:
    return {"counts": COUNTS | {"events": count, "info_events": 50}}


def _nights(night: dict[str, object]) -> list[Digest]:
    """What happened in the first of two nights."""
    return [dataclasses.replace(QUIET, **night), QUIET]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("condition", "night", "held"),
    [
        ("event", _events(1), "event 1"),
        ("event>1", _events(2), "event 2"),
        ("contradictions", {"contradictions": 1}, "contradictions 1"),
        ("contradictions>10", {"contradictions": 11}, "contradictions 11"),
        ("EVENT", _events(1), "event 1"),
        ("critical", FOUND, "CRITICAL 5"),
        ("WARNING>1", FOUND, "WARNING 2"),
        ("info", FOUND, "INFO 1"),
        ("ALL_ISOLATED", FOUND, "ALL_ISOLATED 6"),
        ("clock_step>1", FOUND, "CLOCK_STEP 2"),
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
        ("event", {"contradictions": 5, "missing_producers": ["PG_a"]}),
        ("contradictions>10", {"contradictions": 10}),
        ("missing-producer>1", {"missing_producers": ["PG_a"]}),
        ("CRITICAL>5", FOUND),
        ("CRITICAL", {"severities": {"WARNING": 1, "INFO": 1}}),
        ("ALL_ISOLATED>6", FOUND),
        ("LONE_ISOLATION", FOUND),
        ("event", {"counts": COUNTS | {"info_events": 3}}),
    ],
)
def test_a_condition_that_does_not_hold_is_silent(condition: str, night: dict[str, object]) -> None:
    check_conditions([parse_condition(condition)], _nights(night))


def test_every_condition_that_holds_is_named() -> None:
    night = _nights(_events(3) | {"missing_producers": ["PG_a"]})
    with pytest.raises(ConditionMetError, match="held: event 3, missing-producer 1;"):
        check_conditions([parse_condition(each) for each in ("event", "contradictions", "missing-producer")], night)


def test_nights_count_together() -> None:
    nights = [QUIET, *_nights(_events(3) | FOUND), *_nights(_events(1))]
    with pytest.raises(ConditionMetError, match="held: event 4, CRITICAL 5;"):
        check_conditions([parse_condition("event>3"), parse_condition("critical")], nights)


def test_no_condition_never_holds() -> None:
    check_conditions([], _nights(_events(9)))
    check_conditions([], None)


def test_what_cannot_be_read_cannot_be_judged() -> None:
    with pytest.raises(ConditionMetError, match=r"^--fail-on could not be judged, as the published tables cannot be"):
        check_conditions([parse_condition("event>3")], None)


@pytest.mark.parametrize(
    "text", ["incident", "events", "event>", "event>-1", "contradictions<3", "event>1.5", "", "FLAPPING", "critical>"]
)
def test_an_invalid_condition_is_reported(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_condition(text)
    assert str(caught.value).startswith(f"--fail-on {text!r} is not a condition")
    assert "; give event, contradictions, missing-producer, CRITICAL, WARNING, INFO, SENT_WHILE" in str(caught.value)
    assert caught.value.exit_code == 2


def test_the_nearest_word_is_named() -> None:
    with pytest.raises(
        UsageError, match=r"--fail-on 'critcal>3' is not a condition \(did you mean 'CRITICAL'\?\); give "
    ):
        parse_condition("critcal>3")
