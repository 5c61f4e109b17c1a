"""`faultline report`: a published day as one HTML page."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from jobs.cli import options
from jobs.cli.answers import client_rules, lake_of, opened
from jobs.cli.call import Call
from jobs.cli.command import Command
from jobs.cli.days import DayOptions
from jobs.cli.parameters import FILE
from jobs.cli.times import TimeOptions


@click.command(cls=Command, does="a published day as one HTML page, for a browser without a network")
@options.days("the last one published")
@options.times("since", "until")
@options.published_lake
@options.option("--producer-group", metavar="NAME", help="only this producer group's sends, isolations and findings")
@options.option("--output", type=FILE, metavar="FILE", help="default: faultline-D.html, or faultline-D-GROUP.html")
@options.verbose
@click.pass_obj
def report(
    call: Call,
    days: DayOptions,
    times: TimeOptions,
    lake: options.LakeOptions,
    cluster: str | None,
    producer_group: str | None,
    output: str | None,
    *,
    verbose: bool,  # noqa: ARG001 - main reads it from the words
) -> None:
    """Write the page, and print where."""
    where = lake_of(call, "report", ["deltalake", "jinja2", "plotly"], lake, cluster)
    from jobs.answers.names import check_known
    from jobs.answers.questions import QUESTIONS
    from jobs.answers.report import write_report
    from jobs.answers.window import Window

    published = opened(where, days, times)
    if producer_group is not None:
        check_known(published, QUESTIONS["isolations"], {"producer_group": producer_group})
        published = replace(published, producer_group=producer_group)
    if times.given:
        first, last = times.span(days)
        window = Window(*times.window(first or published.days[0], last or published.days[-1]))
        published = replace(published, window=window)
    file = None if output is None else Path(output)
    print(write_report(published, file, where.owners, *client_rules(call, lake)))
