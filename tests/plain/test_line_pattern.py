"""The pattern of a text log: one syntax, checked at the start, and no line is bait for it."""

from __future__ import annotations

import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.settings.line_pattern import line_pattern

SEND = (
    r"^(?<time>\S+) (?:INFO|WARN) (?<topic>.*?) broker=(?<broker>[^ ]+)(?: cause=(?<cause>\w+))?"
    r" cost=(?<cost>-?\d{1,9})us(?<rest>.*)$"
)


@pytest.mark.parametrize(
    ("pattern", "line", "values"),
    [
        (
            SEND,
            "12:00Z WARN a b broker=é cause=X cost=-17us",
            {"time": "12:00Z", "topic": "a b", "broker": "é", "cause": "X", "cost": "-17", "rest": None},
        ),
        (
            SEND,
            "12:00Z INFO  broker=b cost=1us and\rmore",
            {"time": "12:00Z", "topic": None, "broker": "b", "cause": None, "cost": "1", "rest": " and\rmore"},
        ),
        (SEND, "12:00Z INFO a broker=b cost=1234567890us", None),
        (SEND, " 12:00Z INFO a broker=b cost=1us", None),
        (SEND, "12:00Z DEBUG a broker=b cost=1us", None),
        (SEND, "12:00Z INFO a broker=b cause= cost=1us", None),
        # Lazily up to the first place, and never further.
        ("(?<a>.*?),b(?<c>.*)", "x,a,b,b,b", {"a": "x,a", "c": ",b,b"}),
        ("(?<a>.+?),(?<c>.*)", ",,b", {"a": ",", "c": "b"}),
        ("(?<a>.??),(?<c>.*)", "x,b", {"a": "x", "c": "b"}),
        ("(?<a>.??),(?<c>.*)", "xx,b", None),
        ("(?<a>[ab]*?)b(?<c>.*)", "aabb", {"a": "aa", "c": "b"}),
        # The first that fits, and what may be left out where it fits.
        ("(?<a>a|ab)c", "ac", {"a": "a"}),
        ("(?<a>a|ab)c", "abc", None),
        ("(?<a>ab|a)c", "abc", {"a": "ab"}),
        ("x|(?<a>y)", "x", {"a": None}),
        ("x|(?<a>y)", "y", {"a": "y"}),
        ("(?<a>(?:[0-9]{1,3}\\.){3}[0-9]{1,3}):(?<port>\\d+)", "10.0.0.1:10911", {"a": "10.0.0.1", "port": "10911"}),
        ("(?<a>(?:[0-9]{1,3}\\.){3}[0-9]{1,3}):(?<port>\\d+)", "10.0.1:10911", None),
        (r"(?<a>[^\]]*)\]", "a[b]", {"a": "a[b"}),
        (r"(?<a>[a\-c-]+)", "a-c", {"a": "a-c"}),
        (r"(?<a>\w+)(?<b>\W\D\t)", "aé-\t", {"a": "a", "b": "é-\t"}),  # ASCII: é is no letter
        (r"(?<a>\w+)(?<b>\W\D\t)", "aé\tb", None),
        (r"(?<a>\w+)(?<b>\W\D\t)", "aéü\t", {"a": "a", "b": "éü\t"}),
        (r"(?<a>\d+)", "\u0661", None),
        ("(?<a>.)", "\U0001f600", {"a": "\U0001f600"}),
        ("(?<a>.)", "\u2028", {"a": "\u2028"}),
        ("naïve (?<a>.)", "naïve x", {"a": "x"}),
        ("(?<a>a{2}b{2,}c{0,1})", "aabbb", {"a": "aabbb"}),
        ("(?<a>a{2}b{2,}c{0,1})", "aab", None),
    ],
)
def test_a_line_fits_as_a_whole_or_not_at_all(pattern: str, line: str, values: dict[str, str | None] | None) -> None:
    assert line_pattern(pattern).values(line) == values


@pytest.mark.parametrize(
    ("pattern", "sentence"),
    [
        ("", "has no named group"),
        ("took (?:[0-9]+)", "has no named group"),
        # What would have to be tried another way.
        ("(?<a>.*),", "has '.*', which takes ',' that follows too and gives nothing back; write '.*?'"),
        ("(?<a>.*)(?<b>x?)", "takes 'x' that follows too"),
        ("(?<a>\\w+)(?:-|_)", "takes '_' that follows too"),
        ("(?<a>\\d+)(?:,x)?5", "takes '5' that follows too"),
        ("(?<a>é*)ü", "takes a character that follows too"),
        ("(?<a>(?:\\w+,?){2})", "has '(?:\\w+,?){2}', a repeat of what may be empty or has no end"),
        ("(?<a>(?:x+)+)", "a repeat of what may be empty or has no end within 100 characters"),
        ("(?<a>(?:x?)*)", "a repeat of what may be empty"),
        ("(?<a>(?:.{101})*)", "has no end within 100 characters"),
        ("(?<a>.*?)", "has '.*' without a fixed text after it"),
        ("(?<a>.*?)(?:b|c)", "without a fixed text after it"),
        ("(?<a>(?:ab)*?)c", "only a single character or class may be followed by *?"),
        ("(?<a>x)+", "a named group that repeats"),
        ("(?:(?<a>x),){2}", "a named group that repeats"),
        # What dialects read differently, or not at all.
        ("(x)", "an unknown kind of group at character 1; write (?<name>"),
        ("(?P<a>x)", "an unknown kind of group at character 1"),
        ("(?=x)(?<a>x)", "an unknown kind of group at character 1"),
        ("(?i)(?<a>x)", "an unknown kind of group at character 1"),
        ("(?<a b>x)", "an unknown kind of group at character 1"),
        (r"(?<a>\bx)", "has \\b at character 6; known are"),
        (r"(?<a>x)\1", "has \\1 at character 8; known are"),
        ("(?<a>[[:alpha:]])", "has '[' in a class at character 7"),
        ("(?<a>[a&&b])", "has '&' in a class"),
        ("(?<a>[é])", "has 'é' in a class"),
        ("(?<a>[z-a])", "a range without a start and an end"),
        (r"(?<a>[\d-z])", "a range without a start and an end"),
        ("(?<a>[])", "an empty class"),
        ("(?<a>[^]]*)]", "an empty class"),
        ("(?<a>[a", "an end without the ] of a class"),
        ("(?<a>a", "an end without the ) of a group at character 7"),
        ("(?<a>a))", "a ) without its ( at character 8"),
        ("(?<a>a**)", "a repeat of a repeat at character 8"),
        ("(?<a>a*+)", "a repeat of a repeat"),
        ("(?<a>a{3,1})", "the repeat '{3,1}'"),
        ("(?<a>a{0})", "the repeat '{0}'"),
        ("(?<a>a{1001})", "the repeat '{1001}'"),
        ("(?<a>{a})", "'{' with nothing to repeat"),
        ("*(?<a>a)", "'*' with nothing to repeat at character 1"),
        ("(?<a>x)^", "has '^' inside at character 8; the whole line counts"),
        ("$(?<a>x)", "has '$' inside at character 1"),
        ("(?<a>x\\", "has \\ at character 7"),
        ("(?<a>x)(?<a>y)", "the name 'a' twice"),
        ("".join(f"(?<a{place}>x)" for place in range(61)), "more groups than fields"),
        ("(?:" * 30 + "(?<a>x)" + ")" * 30, "groups nested too deeply"),
        ("(?<a>x)" + "y" * 4_000, "has 4,007 characters"),
    ],
    ids=range(47),
)
def test_a_pattern_that_could_be_read_two_ways_is_refused(pattern: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=re.escape(sentence)):
        line_pattern(pattern)


@pytest.mark.fault(20)
@pytest.mark.parametrize(
    ("pattern", "bait"),
    [
        (SEND, "12:00Z INFO " + " broker=b" * 11_000),
        (SEND, "12:00Z INFO " + " broker" * 14_000),
        ("(?<a>.*?)x(?<b>.*?)x(?<c>.*?)x(?<d>.*?)y!", "x" * 100_000),
        ("(?<a>.*?)xxxxxxxxxxxxxxxy", "x" * 100_000),
        ("(?:ab|a|b)*(?<a>c)", "ab" * 50_000),
        ("(?<a>[^,]*),(?:(?:a{3}b?){9},)*(?<c>z)", "," + "a" * 100_000),
    ],
    ids=range(6),
)
def test_a_line_made_as_bait_takes_time_by_its_length(pattern: str, bait: str) -> None:
    """A choice that is tried another way would take hours here: the test ends."""
    assert line_pattern(pattern).values(bait) is None


@given(st.text(alphabet="()[]{}?<>:*+|\\.^$a1,- dé" + string.ascii_lowercase[:3], max_size=30))
def test_what_is_taken_is_an_expression(noise: str) -> None:
    try:
        pattern = line_pattern(f"(?<a>x){noise}")
    except ValueError:
        return
    assert pattern.values("another line") is None
