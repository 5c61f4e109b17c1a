"""Types of command-line values: each parses one text, or refuses it and says what to write instead."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from jobs.cli.fail_on import OF_VERIFY, WORDS, parse_condition
from jobs.cli.times import DAY_MS, Time
from jobs.errors import UsageError
from jobs.text.nearest import did_you_mean

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MS = dt.timedelta(milliseconds=1)
_END_OF_DAY = re.compile(r"24:00(:00(\.0{1,6})?)?Z?")

Value = TypeVar("Value")


@dataclass(frozen=True)
class Queue:
    """A queue by its number, of one broker or of every broker."""

    queue_id: int
    broker_name: str | None = None


class Parsed(click.ParamType[Value]):
    """A value that a function reads from its text."""

    def __init__(self, name: str, read: Callable[[str], Value], what: str = "") -> None:
        """`what` is expected, and how to write it, for a text at which `read` raises a ValueError."""
        self.name, self._read, self._what = name, read, what

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Value:  # noqa: ARG002
        """Read it.

        Raises:
            UsageError: it is invalid.
        """
        try:
            return self._read(f"{value}")
        except ValueError:
            option = f"{param.opts[0]} " if param else ""
            raise UsageError(f"{option}{value!r} is not {self._what}") from None


class Word(click.Choice[str]):
    """One of a few words."""

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:  # noqa: ARG002
        """Name the nearest word, and all of them."""
        words = [f"{choice}" for choice in self.choices]
        return f"{value!r} is none of {', '.join(words)}{did_you_mean(value, words)}"


class PathText(click.ParamType[str]):
    """A path, URI or glob, unchanged; the shell completes it as a local path."""

    def __init__(self, completed_as: str = "file") -> None:
        self.name = completed_as

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        """Leave it to the shell: `file`, or `dir` for folders only."""
        return [CompletionItem(incomplete, type=self.name)]


def _time(text: str) -> Time:
    """A time such as 2026-11-21T00:26:51Z, or 00:26:51 of the day asked about; UTC without a zone.

    Raises:
        ValueError: it is invalid.
    """
    if _END_OF_DAY.fullmatch(text):
        return Time(text, DAY_MS, has_date=False)
    has_date = re.match(r"\d\d:", text) is None
    at = dt.datetime.fromisoformat(text if has_date else f"1970-01-01T{text}")
    if at.utcoffset() and not has_date:
        raise ValueError(text)
    return Time(text, (at.replace(tzinfo=at.tzinfo or dt.UTC) - _EPOCH) // _MS, has_date)


def _queue(text: str) -> Queue:
    """A queue such as broker-a:3, or 3 for queue 3 of every broker; a broker's name may hold a colon.

    Raises:
        ValueError: it is invalid.
    """
    broker, _, number = text.rpartition(":")
    return Queue(_count(number if broker else text), broker or None)


def _count(text: str) -> int:
    """A decimal number that fits a Java int.

    Raises:
        ValueError: it is not.
    """
    if not text.isdecimal() or len(text) > 9:
        raise ValueError(text)
    return int(text)


DAY = Parsed("day", dt.date.fromisoformat, "a date; write it like 2026-11-21")
TIME = Parsed("time", _time, "a time; write it like 2026-11-21T00:26:51Z, or 00:26:51 with --date")
QUEUE = Parsed("queue", _queue, "a queue; write it like broker-a:3")
LIMIT = Parsed("limit", _count, "a number of rows; give 0 for all")
CONDITION = Parsed("condition", partial(parse_condition, known=WORDS))
DIFFERENCE = Parsed("condition", partial(parse_condition, known=OF_VERIFY))
FILE, FOLDER = PathText("file"), PathText("dir")
