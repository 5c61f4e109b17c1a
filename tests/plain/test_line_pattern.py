"""The pattern of a text log: RE2's, for the whole line, and no line is bait for it."""

from __future__ import annotations

import re
from time import perf_counter

import pytest

from jobs.settings.line_pattern import line_pattern

SEND = (
    r"^(?<time>\S+) (?:INFO|WARN) (?<topic>.*?) broker=(?<broker>[^ ]+)(?: cause=(?<cause>\w+))?"
    r" cost=(?<cost>-?\d{1,9})us(?<rest>.*)$"
)


@pytest.mark.parametrize(
    ("pattern", "line", "values"),
    [
        (SEND, "12Z WARN a b broker=é cause=X cost=-17us", ("12Z", "a b", "é", "X", "-17", "")),
        (SEND, "12Z INFO  broker=b cost=1us and\rmore", ("12Z", "", "b", "", "1", " and\rmore")),
        (SEND, "12Z INFO a broker=b cost=1234567890us", None),
        (SEND, " 12Z INFO a broker=b cost=1us", None),
        (SEND, "12Z INFO a broker=b cause= cost=1us", None),
        # A choice is tried another way where that makes the line fit.
        ("(?<a>.*),(?<b>.*)", "x,y,z", ("x,y", "z")),
        ("(?<a>.*?),(?<b>.*)", "x,y,z", ("x", "y,z")),
        ("(?<a>a|ab)c", "abc", ("ab",)),
        ("x|(?<a>y)", "x", ("",)),
        ("(?P<a>.)", "\u2028", ("\u2028",)),
        ("(?i)took (?<a>.)", "TOOK é", ("é",)),
    ],
)
def test_a_line_fits_as_a_whole_or_not_at_all(pattern: str, line: str, values: tuple[str, ...] | None) -> None:
    (found,) = line_pattern(pattern).values([line]).to_pylist()
    assert (found and tuple(found.values())) == values


@pytest.mark.parametrize(
    ("pattern", "sentence"),
    [
        ("", "'' has no named group; put each value into one"),
        ("took (?:[0-9]+)", "has no named group"),
        ("(x)(?<a>y)", "is refused by RE2: Regular expression contains unnamed groups; write (?<name>…) for a value"),
        ("(?<a>x)(?=y)", "'(?<a>x)(?=y)' is refused by RE2: Invalid regular expression: invalid perl operator: (?="),
        (r"(?<a>x)\1", r"invalid escape sequence: \1; write (?<name>…)"),
        ("(?<a>[", "missing ]"),
        ("(?<a>x)|y)|(z", "unexpected )"),
        (r"(?<a>x)\Q", "is refused by RE2: Invalid regular expression: missing )"),
        ("(?<a>x){1001}", "is refused by RE2: Invalid regular expression: invalid repetition size: {1001}"),
        ("(?<a>x)(?<a>y)", "has two groups 'a'; give each its own name"),
        ("(?<a>x)" + "y" * 4_000, "has 4,007 characters; give at most 4,000"),
    ],
)
def test_a_pattern_that_cannot_be_used_is_refused(pattern: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=re.escape(sentence)):
        line_pattern(pattern)


@pytest.mark.fault(20)
@pytest.mark.parametrize(
    ("pattern", "bait"),
    [
        (SEND, "12:00Z INFO " + " broker=b" * 11_000),
        ("(?<a>.*?)x(?<b>.*?)x(?<c>.*?)x(?<d>.*?)y!", "x" * 100_000),
        ("(?:ab|a|b)*(?<a>c)", "ab" * 50_000),
        ("(?<a>(?:x+)+)y", "x" * 100_000),
    ],
    ids=range(4),
)
def test_a_line_made_as_bait_takes_time_by_its_length(pattern: str, bait: str) -> None:
    started = perf_counter()
    assert line_pattern(pattern).values([bait]).to_pylist() == [None]
    assert perf_counter() - started < 30
