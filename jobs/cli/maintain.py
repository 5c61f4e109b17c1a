"""`maintain` and `verify-lake`, from parsed options to the answer."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import asdict

from pyspark.sql import SparkSession

from jobs.errors import UsageError
from jobs.runs.run import Run
from jobs.settings.model import Settings
from jobs.spark.session import running
from jobs.tables import TABLES
from jobs.text.progress import Progress
from jobs.upkeep.maintain import run_maintain, table_history
from jobs.upkeep.maintain_text import history_text, upkeep_text

_MOST_COMMITS = 1_000_000


def run_upkeep(
    options: argparse.Namespace, settings: Settings, run: Run, today: str, say: Callable[[str], None]
) -> None:
    """Run the command that the options name, and say what it found.

    Args:
        today: what picks the day to verify where neither day nor seed is given.

    Raises:
        FaultlineError: one of its subclasses; `ReconciliationError` after everything was said.
    """
    if options.command == "maintain":
        _check_history(options)
    progress = Progress()
    with running(settings, progress, verbose=options.verbose) as spark:
        _maintain(spark, options, settings, run, progress, say)


def _check_history(options: argparse.Namespace) -> None:
    if options.history is not None and options.apply:
        raise UsageError("--history and --apply exclude each other; give one of them")
    names = [table.name for table in TABLES]
    if options.history and options.history not in names:
        raise UsageError(f"--history {options.history!r} is no table; give one of {', '.join(names)}")
    if not 1 <= options.last <= _MOST_COMMITS:
        raise UsageError(f"--last is {options.last}; give at least 1, at most {_MOST_COMMITS}")


def _maintain(
    spark: SparkSession,
    options: argparse.Namespace,
    settings: Settings,
    run: Run,
    progress: Progress,
    say: Callable[[str], None],
) -> None:
    if options.history is not None:
        commits = table_history(spark, settings, options.history or None, options.last)
        say(json.dumps([asdict(each) for each in commits], indent=1) if options.json else history_text(commits))
        return
    found = run_maintain(spark, settings, run, progress, apply=options.apply)
    say(json.dumps(asdict(found), indent=1) if options.json else upkeep_text(found))
