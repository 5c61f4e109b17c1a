"""`faultline report`: a published day as one HTML page."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from jobs.cli import options
from jobs.cli.answers import client_rules, opened, settings_to_read
from jobs.cli.call import Call
from jobs.cli.command import Command
from jobs.cli.days import DayOptions
from jobs.cli.parameters import FILE


@click.command(cls=Command, does="a published day as one HTML page, for a browser without a network")
@options.days("the last one published", "since", "until")
@options.published_lake
@options.option("--producer-group", metavar="NAME", help="only this producer group's sends, isolations and findings")
@options.option("--output", type=FILE, metavar="FILE", help="default: faultline-D.html, or faultline-D-GROUP.html")
@options.verbose
@click.pass_obj
def report(
    call: Call,
    days: DayOptions,
    lake: options.LakeOptions,
    producer_group: str | None,
    output: str | None,
    *,
    verbose: bool,  # noqa: ARG001 - main reads it from the words
) -> None:
    """Write the page, and print where."""
    settings = settings_to_read(call, "report", ["deltalake", "jinja2", "plotly"], lake)
    from jobs.answers.names import check_known
    from jobs.answers.questions import QUESTIONS
    from jobs.answers.report import write_report
    from jobs.answers.window import Window

    published = opened(settings, days)
    if producer_group is not None:
        check_known(published, QUESTIONS["isolations"], {"producer_group": producer_group})
        published = replace(published, producer_group=producer_group)
    if days.times:
        published = replace(published, window=Window(*days.window(published.days)))
    print(write_report(published, None if output is None else Path(output), settings.owners, *client_rules(settings)))
