"""`faultline show`: a question to the published tables, answered in the terminal."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict

import click

from jobs.cli import options
from jobs.cli.answers import opened, settings_to_read
from jobs.cli.call import Call
from jobs.cli.command import SubjectCommand
from jobs.cli.days import DayOptions
from jobs.cli.parameters import LIMIT, QUEUE, Queue, Word
from jobs.errors import UsageError
from jobs.settings.model import Settings

NIGHT = "night"
SUBJECTS = {
    NIGHT: "the night on one screen: what it cost, events, findings, brokers, producers, consumer groups",
    "events": "troubles of a broker or of several: what they cost, who avoided whom for how long",
    "findings": "what producers' nights showed that somebody should know",
    "isolations": "which producer held which broker as not available, when and why",
    "calls": "sends that failed, were slow, were retried or met an isolation, as callers saw them",
    "sends": "send attempts; name a producer or broker, there are many",
    "owners": "who held which queue, and who should have",
    "group-events": "changes of consumer groups: who came or went, and what the queues went through",
    "group-findings": "queues, clients, topics and groups that were not as they should be",
    "rebalances": "changes of members or queues, and what they moved",
}
"""Subject to its question in words."""

NAMES = {
    "broker": "the broker; of calls one of those tried, of events one of those in trouble",
    "producer": "client id of the producer",
    "group": "the consumer group; of calls, findings, isolations and sends the producer group",
    "topic": "the topic",
    "kind": "kind of the event or finding",
    "severity": "severity of the event or finding",
    "cause": "cause of the finding or isolation",
    "outcome": "how it ended, or ANSWERED, TIME_OUT, NO_CONNECTION, REFUSED, OTHER",
    "source": "where an owner is known from, or STRATEGY: who should own it",
}
"""Options that take a name or a word, and what they select by."""

FLAGS = {
    "failed": "calls without an answer",
    "retried": "calls of several attempts",
    "slow": "calls answered late",
}
"""Flags, and the rows that they select."""

_ROWS = "which rows; a name has to be equal"
_MOST = 100


@click.command(
    cls=SubjectCommand, subjects=SUBJECTS, does="a question to the published tables, answered in the terminal"
)
@click.argument("subject", type=Word(SUBJECTS), metavar="WHAT")
@options.days("the last one published", "since", "until", "at")
@options.published_lake
@options.each(
    *(options.option(f"--{name}", metavar="NAME", section=_ROWS, help=text) for name, text in NAMES.items()),
    *(options.option(f"--{name}", is_flag=True, section=_ROWS, help=text) for name, text in FLAGS.items()),
)
@options.option("--queue", type=QUEUE, metavar="BROKER:N", section=_ROWS, help="a queue, such as broker-a:3")
@options.option("--limit", type=LIMIT, default=_MOST, metavar="N", section=_ROWS, help="most rows to show; 0 for all")
@options.as_json("as one JSON object")
@options.option("--csv", "as_csv", is_flag=True, help="as CSV, safe for a spreadsheet")
@options.verbose
@click.pass_obj
def show(
    call: Call,
    /,
    subject: str,
    days: DayOptions,
    lake: options.LakeOptions,
    queue: Queue | None,
    limit: int,
    *,
    as_json: bool,
    as_csv: bool,
    verbose: bool,  # noqa: ARG001 - main reads it from the words
    **named: str | bool | None,
) -> None:
    """Ask, and print the answer; `named` has the options of `NAMES` and `FLAGS`."""
    if as_json and as_csv:
        raise UsageError("--json and --csv exclude each other; give one of them")
    settings = settings_to_read(call, "show", ["deltalake"], lake)
    given = {name: value for name, value in named.items() if value not in {None, False}}
    if subject == NIGHT:
        if as_csv or days.times or queue or limit != _MOST or given:
            raise UsageError("show night takes days, lake and --json alone; leave the others out")
        print(_night(settings, days, as_json=as_json))
        return
    from jobs.answers import forms
    from jobs.answers.questions import QUESTIONS
    from jobs.answers.show import Narrowed, ask

    equal = _equal(subject, QUESTIONS[subject].narrowed_by, given, queue)
    published = opened(settings, days)
    narrowed_to = Narrowed(equal, limit=limit, **days.instants(published.days))
    answer = ask(published, subject, narrowed_to, settings.owners)
    form = forms.as_json if as_json else forms.as_csv if as_csv else forms.as_text
    if answer.not_given and form is not forms.as_text:  # the text has it already
        sys.stderr.write(f"faultline: {answer.not_given}\n")
    print(form(answer))


def _equal(
    subject: str, narrowed_by: Mapping[str, str], given: Mapping[str, str | bool | None], queue: Queue | None
) -> dict[str, object]:
    """Column to the value that it must equal.

    Args:
        subject: one of `SUBJECTS`.
        narrowed_by: the options it takes, to their columns.
        given: values of the options of `NAMES` and `FLAGS` that were used.
        queue: value of `--queue`.

    Raises:
        UsageError: an option that the subject does not take.
    """
    for name in given:
        if name not in narrowed_by:
            raise UsageError(f"--{name} does not narrow {subject}; use --{', --'.join(narrowed_by)}")
    equal: dict[str, object] = {narrowed_by[name]: value for name, value in given.items()}
    if queue is not None:
        if subject not in {"owners", "group-findings", "sends"}:
            raise UsageError(f"--queue does not narrow {subject}; leave it out")
        equal |= {} if queue.broker_name is None else {"broker_name": queue.broker_name}
        equal["queue_id"] = queue.queue_id
    return equal


def _night(settings: Settings, days: DayOptions, *, as_json: bool) -> str:
    from jobs.answers.digest import digests_of
    from jobs.answers.digest_text import nights_text

    nights = digests_of(opened(settings, days), settings.owners)
    return json.dumps({"nights": [asdict(night) for night in nights]}, indent=1) if as_json else nights_text(nights)
