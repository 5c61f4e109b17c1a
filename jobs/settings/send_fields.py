"""The canonical fields of a send attempt and their allowed values; without Spark."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Mapping
from decimal import Decimal
from typing import Literal

from udfs.plain_outcome import ANSWERS, OUTCOMES, SENT, is_plain_known_outcome
from udfs.plain_version import plain_version_number
from udfs.plain_written_time import plain_written_ms

Kind = Literal["text", "int", "long", "boolean"]
Unit = Literal["ns", "us", "ms", "s", "iso8601"]

FIELD_KINDS: Mapping[str, Kind] = {
    "client_id": "text",
    "producer_group": "text",
    "process_id": "text",
    "cluster": "text",
    "topic": "text",
    "broker_name": "text",
    "broker_addr": "text",
    "queue_id": "int",
    "client_version": "text",
    "client_language": "text",
    "mode": "text",
    "invoke_id": "long",
    "attempt": "int",
    "started_at_ms": "long",
    "ended_at_ms": "long",
    "latency_ms": "long",
    "submitted_at_ms": "long",
    "result_broker_name": "text",
    "outcome": "text",
    "cause": "text",
    "response_code": "int",
    "error": "text",
    "msg_id": "text",
    "thread": "text",
    "queue_chosen_by": "text",
    "seq": "long",
    "fault_latency_enabled": "boolean",
    "detector_enabled": "boolean",
    "order_key": "text",
    "one_line_per": "text",
    "previous_broker_name": "text",
}
TIMES = ("started_at_ms", "ended_at_ms", "submitted_at_ms", "latency_ms")
"""The fields that have a unit."""

BROKER = ("broker_name", "broker_addr")
"""One of them, unless the send failed before it had a broker."""
REQUIRED = (
    ("client_id",),
    BROKER,
    ("ended_at_ms", "started_at_ms"),
    ("latency_ms",),
    ("outcome",),
)
"""Of each set at least one: a line without it is quarantined."""

CLOSED: Mapping[str, tuple[str, ...]] = {
    "mode": ("SYNC", "ASYNC", "ONEWAY"),
    "queue_chosen_by": ("CLIENT", "CALLER"),
    "one_line_per": ("TRY", "CALL"),
}
EARLIEST_MS, LATEST_MS = 1_420_070_400_000, 4_102_444_800_000  # 2015-01-01 and 2100-01-01, epoch ms
LONGEST_LATENCY_MS = 86_400_000

_BOOLEANS = {"true", "t", "yes", "y", "1", "false", "f", "no", "n", "0"}
"""As Spark casts them."""
_DIGITS = {"int": 2**31, "long": 2**63}
_WORD = re.compile(r"[A-Z][a-z]+|[A-Z]+(?![a-z])")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def problem_of(name: str, text: str, unit: Unit | None = None) -> str | None:
    """What is wrong with the text as a value of the field, with the allowed values; None when nothing is.

    Args:
        name: canonical field.
        text: not empty, which is null.
        unit: of the text, where the field has one.

    >>> problem_of("mode", "SYNC"), problem_of("outcome", "OK")
    (None, 'is not an outcome; nearest: SEND_OK')
    >>> problem_of("seq", "7"), problem_of("seq", "1.5")
    (None, 'is not a whole number')
    """
    kind = FIELD_KINDS[name]
    if kind == "boolean":
        return None if text.strip().lower() in _BOOLEANS else "is neither true nor false (or yes, no, 1, 0)"
    if kind in _DIGITS:
        return _problem_of_number(text, _DIGITS[kind], unit)
    if name in CLOSED:
        return None if text in CLOSED[name] else f"is not one of {', '.join(CLOSED[name])}"
    is_known, what = _FORMS.get(name, (bool, ""))
    if not is_known(text):
        return what + (_nearest(text, OUTCOMES) if name == "outcome" else "")
    return "holds a control character" if _CONTROL.search(text) and name not in {"error", "order_key"} else None


def problem_of_time(name: str, value_ms: int | None) -> str | None:
    """What is wrong with a time or a duration; None when nothing is.

    Args:
        name: one of `TIMES`.
        value_ms: None = not a time.

    >>> problem_of_time("latency_ms", -1), problem_of_time("ended_at_ms", EARLIEST_MS)
    ('is not a latency between 0 and a day', None)
    """
    least, most, what = (
        (0, LONGEST_LATENCY_MS, "a latency between 0 and a day")
        if name == "latency_ms"
        else (EARLIEST_MS, LATEST_MS - 1, "a time between 2015 and 2100")
    )
    return None if value_ms is not None and least <= value_ms <= most else f"is not {what}"


def _problem_of_number(text: str, limit: int, unit: Unit | None) -> str | None:
    if unit == "iso8601":
        is_time = plain_written_ms(text) is not None
        return None if is_time else "is not a time such as 2026-11-21T12:00:00Z or 2026-11-21 20:00:00,000 +0800"
    form, what = (
        (r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", "not a number")
        if unit == "s"
        else (r"[+-]?\d+", "not a whole number")
    )
    if not re.fullmatch(form, text, re.ASCII):
        return f"is {what}"
    return None if -limit <= Decimal(text) < limit else "is too large a number"


def _nearest(text: str, known: Collection[str]) -> str:
    """The nearest of the known texts, ignoring letter case, after a semicolon; those that contain the word first."""
    lower = {name.lower(): name for name in known}
    with_word = [name for name in known if text.lower() in map(str.lower, _WORD.findall(name))]
    near = with_word or [lower[name] for name in difflib.get_close_matches(text.lower(), lower, n=2, cutoff=0.5)]
    return (
        f"; nearest: {', '.join(near[:3])}" if near else f"; known: {', '.join((*ANSWERS, SENT))}, exceptions by name"
    )


_FORMS: Mapping[str, tuple[Callable[[str], bool], str]] = {
    "outcome": (is_plain_known_outcome, "is not an outcome"),
    "client_version": (lambda text: plain_version_number(text) > 0, "is not a version such as 5.1.4"),
}
