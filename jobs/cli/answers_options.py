"""The options of `faultline show` and `faultline report`, and what they mean; imports nothing that an extra brings."""

from __future__ import annotations

import argparse
import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jobs.errors import UsageError

COMMANDS = {
    "report": "a published day as one HTML page, for a browser without a network",
    "show": "a question to the published tables, answered in the terminal",
}
EXTRA = {"show": ("deltalake",), "report": ("deltalake", "jinja2", "plotly")}
"""Command to the packages of the extra `report` that it needs."""

_SUBJECTS = {
    "incidents": "stretches in which many producers isolate one broker",
    "findings": "what producers' nights showed that somebody should know",
    "isolations": "which producer held which broker as not available, when and why",
    "sends": "send attempts; name a producer or broker, there are many",
    "owners": "who held which queue, and who should have",
    "group-findings": "queues, clients, topics and groups that were not as they should be",
    "rebalances": "changes of members or queues, and what they moved",
}
"""What can be asked, and the question in words."""

_OPTION_COLUMNS = {
    "broker": "broker_name",
    "producer": "client_id",
    "group": "consumer_group",
    "topic": "topic",
    "kind": "kind",
    "severity": "severity",
    "cause": "cause",
    "outcome": "outcome",
    "source": "source",
}
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MOST_DIGITS = 9


def add_answer_commands(commands: argparse._SubParsersAction[Any], day: Callable[[str], dt.date]) -> None:
    """Add both commands to the program's; `day` reads a day."""
    report, show = (
        commands.add_parser(name, help=does, description=f"{does[0].upper()}{does[1:]}.")
        for name, does in COMMANDS.items()
    )
    _add_where(report, day)
    report.add_argument("--output", type=Path, metavar="FILE", help="default: faultline-D.html")
    show.add_argument("subject", choices=_SUBJECTS, metavar="WHAT", help="what to ask for: see below")
    show.formatter_class = argparse.RawDescriptionHelpFormatter  # else the lines of WHAT become one
    show.epilog = "\n".join(["WHAT:", *(f"  {name:<16}{asks}" for name, asks in _SUBJECTS.items())])
    _add_where(show, day)
    _add_narrowing(show)


def asked_days(options: argparse.Namespace) -> tuple[dt.date | None, dt.date | None]:
    """First and last day that the options name; the day of `--at`, else None twice, when they name none.

    Raises:
        UsageError: `--date` and a span together, or a span that is none.
    """
    if options.date and (options.first or options.last):
        raise UsageError("--date and --from/--to exclude each other; give one of them")
    if bool(options.first) != bool(options.last):
        raise UsageError("--from and --to go together; give both")
    if options.first and options.last < options.first:
        raise UsageError(f"--to {options.last} is before --from {options.first}; swap them")
    at_ms = getattr(options, "at_ms", None)
    date = options.date
    if date is None and options.first is None and at_ms is not None:
        date = (_EPOCH + dt.timedelta(milliseconds=at_ms)).date()
    return options.first or date, options.last or date


def asked_equal(options: argparse.Namespace, narrowed_by: dict[str, str]) -> dict[str, object]:
    """Column to the value it has to equal, of the options that a question takes.

    Args:
        options: what was given.
        narrowed_by: option to column.

    Raises:
        UsageError: an option that the question does not take, or `--queue` without a number.
    """
    given = {name: getattr(options, name) for name in _OPTION_COLUMNS if getattr(options, name) is not None}
    for name in given:
        if name not in narrowed_by:
            takes = ", ".join(f"--{each}" for each in narrowed_by)
            raise UsageError(f"--{name} does not narrow {options.subject}; use {takes}")
    equal: dict[str, object] = {narrowed_by[name]: value for name, value in given.items()}
    if options.queue is not None:
        if options.subject not in {"owners", "group-findings", "sends"}:
            raise UsageError(f"--queue does not narrow {options.subject}; leave it out")
        equal |= _queue(options.queue)
    return equal


def _queue(text: str) -> dict[str, object]:
    broker, colon, number = text.rpartition(":")
    queue = number if colon and broker else text
    if not _is_count(queue):
        raise UsageError(f"--queue {text!r} is no queue; write it like broker-a:3")
    return {"broker_name": broker, "queue_id": int(queue)} if colon and broker else {"queue_id": int(queue)}


def _instant_ms(text: str) -> int:
    try:
        at = dt.datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(f"{text!r} is no time; write it like 2026-11-21T00:26:51Z") from None
    if at.tzinfo is None:
        at = at.replace(tzinfo=dt.UTC)
    return (at - _EPOCH) // dt.timedelta(milliseconds=1)


def _limit(text: str) -> int:
    if not _is_count(text):
        raise UsageError(f"--limit {text!r} is no number of rows; give 0 for all")
    return int(text)


def _is_count(text: str) -> bool:
    """Whether it is a number of queues or rows, as Java counts them."""
    return text.isdecimal() and len(text) <= _MOST_DIGITS


def _add_where(parser: argparse.ArgumentParser, day: Callable[[str], dt.date]) -> None:
    days = parser.add_argument_group("days (UTC)")
    days.add_argument("--date", type=day, metavar="D", help="one day; default: the last one published")
    days.add_argument("--from", dest="first", type=day, metavar="D", help="first day, inclusive")
    days.add_argument("--to", dest="last", type=day, metavar="D", help="last day, inclusive")
    where = parser.add_argument_group("lake")
    where.add_argument("--lake", metavar="DIR", help="folder or URI of the tables")
    where.add_argument("--cluster", metavar="NAME", help="default: the setting cluster, else the lake's only one")
    where.add_argument(
        "--settings",
        action="append",
        default=[],
        metavar="FILE",
        help="settings that name lake and cluster; without any and a lake: conf/local.toml",
    )
    where.add_argument("-v", "--verbose", action="store_true", help="show the trace of an error")
    parser.set_defaults(assignments=[])


def _add_narrowing(parser: argparse.ArgumentParser) -> None:
    narrow = parser.add_argument_group("which rows; a name has to be equal")
    for name, column in _OPTION_COLUMNS.items():
        narrow.add_argument(f"--{name}", metavar="NAME", help=f"{column} of the row")
    narrow.add_argument("--queue", metavar="BROKER:N", help="a queue, such as broker-a:3")
    narrow.add_argument("--at", dest="at_ms", type=_instant_ms, metavar="TIME", help="what stands then; UTC")
    narrow.add_argument("--limit", type=_limit, default=100, metavar="N", help="most rows to show; 0 for all")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", dest="form", action="store_const", const="json", help="as one JSON object")
    form.add_argument("--csv", dest="form", action="store_const", const="csv", help="as CSV, safe for a spreadsheet")
    parser.set_defaults(form="text")
