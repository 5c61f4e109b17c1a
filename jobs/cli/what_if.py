"""`faultline what-if`: what other policies would have done with published days."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

import click

from jobs.cli import options
from jobs.cli.call import Call
from jobs.cli.command import Command
from jobs.cli.days import DayOptions, run_days, span_text
from jobs.cli.parameters import FILE
from jobs.text.progress import Progress
from jobs.text.redaction import redacted
from jobs.text.terminal import one_line

_IN_FULL = """\
Replay published days of sends under other policies, all in one pass: released profiles, ladders of your own, sweeps.
Every producer is replayed, with its switch on or off. Publishes policy_outcomes. A log cannot show how the other
brokers would have answered, nor the sends that a producer's own isolation kept away: avoided is what would have gone
elsewhere.
"""
_POLICIES = "policies (default: AS_RUN and every released profile)"


@click.command(
    "what-if", cls=Command, short_help="what other policies would have done with published days", help=_IN_FULL
)
@options.days("the samples' own day, else yesterday")
@options.lake()
@options.one_cluster("replayed")
@options.option(
    "--policy",
    "policies",
    multiple=True,
    metavar="NAME",
    section=_POLICIES,
    help="P1 to P5, or AS_RUN: each producer as it is, its switch on; repeatable",
)
@options.option(
    "--ladder",
    "ladders",
    multiple=True,
    metavar="NAME=FLOORS/ISOLATIONS[@P]",
    section=_POLICIES,
    help="own arrays, ms: short=550,2000/1000,5000@P5; repeatable",
)
@options.option(
    "--sweep",
    "sweeps",
    multiple=True,
    metavar="P/FACTORS/FACTORS",
    section=_POLICIES,
    help="a profile, its floors and isolations times each: P5/0.5,1,2/1,2,4",
)
@options.option("--picture", type=FILE, metavar="FILE.html", help="bad sends avoided against good ones steered away")
@options.break_lock
@options.wait
@options.as_json("print the summary as JSON")
@options.verbose
@click.pass_obj
def what_if(
    call: Call,
    days: DayOptions,
    lake: options.LakeOptions,
    policies: tuple[str, ...],
    ladders: tuple[str, ...],
    sweeps: tuple[str, ...],
    picture: str | None,
    wait_minutes: int,
    *,
    break_lock: bool,
    as_json: bool,
    verbose: bool,
) -> None:
    """Replay the days, publish and print what the policies would have done, and draw the picture if asked for."""
    settings = call.settings_for_spark(lake)
    dates, why = run_days(days, settings, call.clock().date())
    from jobs.settings.client_profiles import released_profiles
    from jobs.spark.session import running
    from jobs.what_if.picture import check_picture, write_picture
    from jobs.what_if.requested_policies import requested_policies
    from jobs.what_if.run import run_what_if
    from jobs.what_if.summary import summarize_what_if
    from jobs.what_if.summary_text import what_if_text

    if picture is not None:
        check_picture(Path(picture))
    requested = requested_policies(released_profiles(), names=policies, ladders=ladders, sweeps=sweeps)
    print(
        f"faultline what-if: {span_text(dates)} ({why}), {len(requested.names)} policies, lake"
        f" {one_line(redacted(settings.lake))}",
        file=sys.stderr,
    )
    run = call.run("what-if", dates, break_lock=break_lock, wait_minutes=wait_minutes)
    progress = Progress()
    with running(settings, progress, verbose=verbose) as spark:
        clusters = run_what_if(spark, settings, run, requested, progress, cluster=lake.cluster)
        with progress.step("reading the answers"):
            summary = summarize_what_if(spark, settings, run, clusters)
        if picture is not None:
            write_picture(summary, Path(picture))
    print(json.dumps(asdict(summary), indent=1) if as_json else what_if_text(summary))
