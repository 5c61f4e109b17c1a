"""`faultline explain`: why an isolation ended when it did, and who should own a queue, from the published tables."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from jobs.cli import options
from jobs.cli.answers import client_rules, opened, settings_to_read
from jobs.cli.call import Call
from jobs.cli.command import SubjectCommand
from jobs.cli.days import DayOptions
from jobs.cli.parameters import FILE, LIMIT, QUEUE, Queue, Word
from jobs.errors import InputUnreadableError, UsageError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from jobs.answers.explain_isolation import Isolation

SUBJECTS = {
    "isolation": "why it ended when it did: each change and attempt; --producer, --broker, --at (--group)",
    "queue": "who should own it, who held it, and why they differ; --group, --topic, --queue, --at",
}
"""Subject to its question in words."""

_NEEDS = {"isolation": ("producer", "broker"), "queue": ("group", "topic", "queue")}
_WHICH = "which one"


@click.command(
    cls=SubjectCommand, subjects=SUBJECTS, does="why an isolation ended when it did, or who should own a queue"
)
@click.argument("subject", type=Word(SUBJECTS), metavar="WHAT")
@options.each(
    options.option(
        "--producer", metavar="NAME", section=_WHICH, help="client id, or a group or part of the id that names one"
    ),
    options.option("--broker", metavar="NAME", section=_WHICH, help="the broker that it isolated"),
    options.option("--group", metavar="NAME", section=_WHICH, help="the consumer group, or the producer group"),
    options.option("--topic", metavar="NAME", section=_WHICH, help="the topic"),
    options.option("--queue", type=QUEUE, metavar="BROKER:N", section=_WHICH, help="the queue, such as broker-a:3"),
    options.option(
        "--sends",
        type=FILE,
        multiple=True,
        metavar="PATH",
        section=_WHICH,
        help="text logs in which to find an isolation's lines, by file and row; repeatable",
    ),
)
@options.days("that of --at, else the last one published", "at")
@options.published_lake
@options.option("--limit", type=LIMIT, default=40, metavar="N", help="most lines of an isolation to show; 0 for all")
@options.as_json("as one JSON object, with every line")
@options.verbose
@click.pass_obj
def explain(
    call: Call,
    subject: str,
    days: DayOptions,
    lake: options.LakeOptions,
    producer: str | None,
    broker: str | None,
    group: str | None,
    topic: str | None,
    queue: Queue | None,
    sends: tuple[str, ...],
    limit: int,
    *,
    as_json: bool,
    verbose: bool,  # noqa: ARG001 - main reads it from the words
) -> None:
    """Explain it, and print the answer."""
    named = {"producer": producer, "broker": broker, "group": group, "topic": topic, "queue": queue, "sends": sends}
    _check(subject, {name for name, value in named.items() if value not in {None, ()}}, days)
    if queue and queue.broker_name is None:
        raise UsageError(f"--queue {queue.queue_id} names no broker; write it like broker-a:3")
    settings = settings_to_read(call, "explain", ["deltalake"], lake)
    published = opened(settings, days)
    at_ms = days.instants(published.days)["at_ms"] or 0
    if queue:
        from jobs.answers.explain_queue import queue_at, queue_text

        owners = queue_at(published, group or "", topic or "", (queue.broker_name or "", queue.queue_id), at_ms)
        print(_json(owners) if as_json else queue_text(owners))
        return
    from jobs.answers.explain_isolation import isolation_at, isolation_head, isolation_lines

    found = isolation_at(published, producer or "", group, broker or "", at_ms, *client_rules(settings))
    if sends:
        found = _with_places(found, sends)
    print(_json(found) if as_json else "\n".join([*isolation_head(found), *isolation_lines(found, limit)]))


def _check(subject: str, given: set[str], days: DayOptions) -> None:
    """Refuse a subject without its options, or with those of the other.

    Raises:
        UsageError: names the options.
    """
    optional = {"group", "sends"} if subject == "isolation" else set()
    if given - optional != {*_NEEDS[subject]} or days.at is None:
        takes = ", ".join(f"--{name}" for name in (*_NEEDS[subject], "at"))
        but = f" but {' and '.join(f'--{name}' for name in sorted(optional))}" if optional else ""
        raise UsageError(f"explain {subject} takes {takes}, all of them and no other name{but}")


def _with_places(isolation: Isolation, sends: tuple[str, ...]) -> Isolation:
    """The isolation, its lines with their rows in the logs.

    Raises:
        FaultlineError: a path is not there, or a file cannot be read as text.
    """
    from jobs.answers.log_places import with_places
    from jobs.sources.local_files import list_local

    listing = list_local(sends)
    if listing.problems:
        raise listing.first_problem
    try:
        return with_places(isolation, [file.name for file in listing.files])
    except (OSError, EOFError) as error:
        raise InputUnreadableError(f"--sends cannot be read: {error}; name text logs, gzip as .gz") from error


def _json(explained: DataclassInstance) -> str:
    return json.dumps(asdict(explained), indent=1, default=lambda value: value.isoformat())
