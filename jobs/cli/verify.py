"""`faultline verify`: compares what clients wrote about their fault items with the replay from their sends."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

import click

from jobs.cli import options
from jobs.cli.call import Call
from jobs.cli.command import Command
from jobs.cli.days import DayOptions, run_days, span_text
from jobs.cli.fail_on import OF_VERIFY, Condition, check_counts
from jobs.cli.parameters import DIFFERENCE, FILE
from jobs.text.progress import Progress
from jobs.text.redaction import redacted
from jobs.text.terminal import one_line

_IN_FULL = """\
Replay published days once more from sends alone, for the producers whose client wrote what it decided, and compare:
with fault item updates in the lake, and with the lines that clients from 5.1.4 on write into their log. Publishes
replay_checks: per producer, or log, and broker what agrees, what is missed or extra, how long they differ, and why.
"""
_INPUT = "input (a PATH is a file, a folder or a glob)"


@click.command(
    "verify",
    cls=Command,
    short_help="how well the replay from sends agrees with what clients wrote themselves",
    help=_IN_FULL,
)
@options.days("the samples' own day, else yesterday")
@options.option(
    "--client-logs", type=FILE, multiple=True, metavar="PATH", section=_INPUT, help="producers' own logs; repeatable"
)
@options.lake()
@options.one_cluster("compared", "; lines of client logs are of it")
@options.break_lock
@options.wait
@options.as_json("print the summary as JSON")
@options.option(
    "--fail-on",
    type=DIFFERENCE,
    multiple=True,
    metavar="CONDITION",
    help=f"exit 7 when there is one, or with >N more than N: {', '.join(OF_VERIFY)}; repeatable",
)
@options.verbose
@click.pass_obj
def verify(
    call: Call,
    days: DayOptions,
    client_logs: tuple[str, ...],
    lake: options.LakeOptions,
    wait_minutes: int,
    fail_on: tuple[Condition, ...],
    *,
    break_lock: bool,
    as_json: bool,
    verbose: bool,
) -> None:
    """Compare the days, print how they agree, and fail if a condition holds."""
    settings = call.settings_for_spark(lake, {"client_logs": client_logs})
    dates, why = run_days(days, settings, call.clock().date())
    run = call.run("verify", dates, break_lock=break_lock, wait_minutes=wait_minutes)
    print(f"faultline verify: {span_text(dates)} ({why}), lake {one_line(redacted(settings.lake))}", file=sys.stderr)
    from jobs.spark.session import running
    from jobs.spark.store_jars import check_stores
    from jobs.verify.run import run_verify
    from jobs.verify.summary import summarize_verify
    from jobs.verify.summary_text import verify_text

    progress = Progress()
    with running(settings, progress, verbose=verbose) as spark:
        check_stores(spark, settings.inputs.client_logs.path)
        result = run_verify(spark, settings, run, progress, cluster=lake.cluster)
        with progress.step("reading the answers"):
            summary = summarize_verify(spark, settings, result)
    print(json.dumps(asdict(summary), indent=1) if as_json else verify_text(summary))
    check_counts(fail_on, {"differing": summary.differing, "unexplained": summary.causes.get("UNEXPLAINED", 0)})
