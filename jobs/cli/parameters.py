"""Types of command-line values: each parses one text, or refuses it and says what to write instead."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click
from click.shell_completion import CompletionItem

from jobs.cli.fail_on import OF_VERIFY, WORDS, Condition, parse_condition
from jobs.cli.times import DAY_MS, Time, day_of, start_ms
from jobs.errors import UsageError
from jobs.text.nearest import did_you_mean

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MS = dt.timedelta(milliseconds=1)
_END_OF_DAY = re.compile(r"24:00(:00(\.0{1,6})?)?Z?")
_MOST_DIGITS = 9

_Param = click.Parameter | None
_Context = click.Context | None


@dataclass(frozen=True)
class Queue:
    """A queue by its number, of one broker or of every broker."""

    queue_id: int
    broker_name: str | None = None

    @property
    def columns(self) -> Mapping[str, object]:
        """Column to the value that it must equal."""
        broker = {} if self.broker_name is None else {"broker_name": self.broker_name}
        return {**broker, "queue_id": self.queue_id}


class DayType(click.ParamType[dt.date]):
    """A day such as 2026-11-21."""

    name = "day"

    def convert(self, value: Any, param: _Param, ctx: _Context) -> dt.date:  # noqa: ARG002 - click's signature
        """Read a day.

        Raises:
            UsageError: it is invalid.
        """
        try:
            return dt.date.fromisoformat(value)
        except ValueError:
            raise UsageError(f"{_name(param)}{value!r} is not a date; write it like 2026-11-21") from None


class TimeType(click.ParamType[Time]):
    """A time such as 2026-11-21T00:26:51Z, or 00:26:51 of the day asked about; UTC without a zone."""

    name = "time"

    def convert(self, value: Any, param: _Param, ctx: _Context) -> Time:  # noqa: ARG002 - click's signature
        """Read a time.

        Raises:
            UsageError: it is invalid.
        """
        if _END_OF_DAY.fullmatch(value):
            return Time(value, None, DAY_MS)
        try:
            at = _read_time(value)
        except ValueError:
            form = "write it like 2026-11-21T00:26:51Z, or 00:26:51 with --date"
            raise UsageError(f"{_name(param)}{value!r} is not a time; {form}") from None
        if isinstance(at, dt.time):
            return Time(value, None, (dt.datetime.combine(_EPOCH, at, dt.UTC) - _EPOCH) // _MS)
        at_ms = (at - _EPOCH) // _MS
        return Time(value, day_of(at_ms), at_ms - start_ms(day_of(at_ms)))


class QueueType(click.ParamType[Queue]):
    """A queue such as broker-a:3, or 3 for queue 3 of every broker."""

    name = "queue"

    def convert(self, value: Any, param: _Param, ctx: _Context) -> Queue:  # noqa: ARG002 - click's signature
        """Read a queue; a broker's name may hold a colon.

        Raises:
            UsageError: it is invalid.
        """
        broker, colon, number = value.rpartition(":")
        is_of_broker = bool(colon and broker)
        queue = number if is_of_broker else value
        if not _is_count(queue):
            raise UsageError(f"--queue {value!r} is not a queue; write it like broker-a:3")
        return Queue(int(queue), broker if is_of_broker else None)


class LimitType(click.ParamType[int]):
    """A number of rows; 0 for all."""

    name = "limit"

    def convert(self, value: Any, param: _Param, ctx: _Context) -> int:  # noqa: ARG002 - click's signature
        """Read a limit.

        Raises:
            UsageError: it is invalid.
        """
        if not _is_count(f"{value}"):
            raise UsageError(f"--limit {value!r} is not a number of rows; give 0 for all")
        return int(value)


class ConditionType(click.ParamType[Condition]):
    """A condition of `--fail-on`."""

    name = "condition"

    def __init__(self, words: Sequence[str]) -> None:
        """Take the words that a condition may use."""
        self._words = words

    def convert(self, value: Any, param: _Param, ctx: _Context) -> Condition:  # noqa: ARG002 - click's signature
        """Read a condition.

        Raises:
            UsageError: it is invalid.
        """
        return parse_condition(value, self._words)


class Word(click.Choice[str]):
    """One of a few words."""

    def get_invalid_choice_message(self, value: Any, ctx: _Context) -> str:  # noqa: ARG002 - click's signature
        """Name the nearest word, and all of them."""
        words = [f"{choice}" for choice in self.choices]
        return f"{value!r} is none of {', '.join(words)}{did_you_mean(value, words)}"


class PathText(click.ParamType[str]):
    """A path, URI or glob, unchanged; the shell completes it as a local path."""

    def __init__(self, completed_as: str = "file") -> None:
        self.name = completed_as

    def convert(self, value: Any, param: _Param, ctx: _Context) -> str:  # noqa: ARG002 - click's signature
        """Keep it as it is; whether it exists is checked when it is opened."""
        return str(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        """Leave it to the shell: `file`, or `dir` for folders only."""
        return [CompletionItem(incomplete, type=self.name)]


DAY, TIME, QUEUE, LIMIT = DayType(), TimeType(), QueueType(), LimitType()
CONDITION, DIFFERENCE = ConditionType(WORDS), ConditionType(OF_VERIFY)
FILE, FOLDER = PathText("file"), PathText("dir")


def _name(param: _Param) -> str:
    """Name of the option and a blank."""
    return f"{param.opts[0]} " if param else ""


def _read_time(text: str) -> dt.datetime | dt.time:
    """A time with its zone, UTC by default; without a date a time of day, UTC.

    Raises:
        ValueError: it is neither.
    """
    if re.match(r"\d\d:", text):
        time = dt.time.fromisoformat(text)
        if time.utcoffset():
            raise ValueError(text)
        return time.replace(tzinfo=None)
    at = dt.datetime.fromisoformat(text)
    return at.replace(tzinfo=dt.UTC) if at.tzinfo is None else at


def _is_count(text: str) -> bool:
    """Whether it is a decimal number that fits a Java int."""
    return text.isdecimal() and len(text) <= _MOST_DIGITS
