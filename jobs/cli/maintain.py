"""`faultline maintain`: merge small files and delete old ones."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from jobs.cli import options
from jobs.cli.call import Call
from jobs.cli.command import Command
from jobs.text.progress import Progress


@click.command(cls=Command, does="merge small files, delete what only old versions need; a dry run unless --apply")
@options.lake()
@options.option("--apply", is_flag=True, help="do it; without it nothing is written")
@options.break_lock
@options.wait
@options.as_json("print the answer as JSON")
@options.verbose
@click.pass_obj
def maintain(
    call: Call,
    lake: options.LakeOptions,
    *,
    apply: bool,
    break_lock: bool,
    wait_minutes: int,
    as_json: bool,
    verbose: bool,
) -> None:
    """Inspect the tables, with `--apply` also tidy them, and print the result."""
    settings = call.settings_for_spark(lake)
    from jobs.spark.session import running
    from jobs.upkeep.maintain import run_maintain
    from jobs.upkeep.maintain_text import upkeep_text

    progress = Progress()
    with running(settings, progress, verbose=verbose) as spark:
        found = run_maintain(
            spark,
            settings,
            call.run("maintain", break_lock=break_lock, wait_minutes=wait_minutes),
            progress,
            apply=apply,
        )
    print(json.dumps(asdict(found), indent=1) if as_json else upkeep_text(found))
