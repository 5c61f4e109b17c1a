"""`faultline maintain`: small files, old files, and the history of tables."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import click

from jobs.cli import options
from jobs.cli.call import Call
from jobs.cli.command import Command, in_full
from jobs.errors import UsageError
from jobs.settings.model import Settings
from jobs.text.progress import Progress

if TYPE_CHECKING:  # it imports Spark
    from jobs.runs.run import Run

_DOES = "merge small files, delete what only old versions need; a dry run unless --apply"
_MOST_COMMITS = 1_000_000


@dataclass(frozen=True)
class MaintainOptions:
    """What to do with the tables.

    Attributes:
        history: a table whose commits to show instead; empty for each table, None to maintain.
        last: how many commits.
    """

    apply: bool = False
    history: str | None = None
    last: int = 10
    break_lock: bool = False
    as_json: bool = False
    verbose: bool = False


@click.command(cls=Command, short_help=_DOES, help=in_full(_DOES))
@options.lake()
@options.gathered(
    "how",
    MaintainOptions,
    options.option("--apply", is_flag=True, help="do it; without it nothing is written"),
    options.option(
        "--history",
        is_flag=False,
        flag_value="",
        metavar="[TABLE]",
        help="instead: the last commits of TABLE, or of each table",
    ),
    options.option("--last", type=int, default=10, metavar="N", help="with --history: how many; default 10"),
    options.break_lock,
    options.as_json("print the answer as JSON"),
    options.verbose,
)
@click.pass_obj
def maintain(call: Call, lake: options.LakeOptions, how: MaintainOptions) -> None:
    """Look at the tables or mend them, and say what was found."""
    settings = call.settings_for_spark(lake)
    run_upkeep(how, settings, call.run("maintain", break_lock=how.break_lock), print)


def run_upkeep(how: MaintainOptions, settings: Settings, run: Run, say: Callable[[str], None]) -> None:
    """Maintain the lake, or read its history, and say what was found.

    Raises:
        FaultlineError: one of its subclasses.
    """
    from jobs.spark.session import running
    from jobs.upkeep.maintain import run_maintain, table_history
    from jobs.upkeep.maintain_text import history_text, upkeep_text

    _check_history(how)
    progress = Progress()
    with running(settings, progress, verbose=how.verbose) as spark:
        if how.history is not None:
            commits = table_history(spark, settings, how.history or None, how.last)
            say(json.dumps([asdict(each) for each in commits], indent=1) if how.as_json else history_text(commits))
            return
        found = run_maintain(spark, settings, run, progress, apply=how.apply)
        say(json.dumps(asdict(found), indent=1) if how.as_json else upkeep_text(found))


def _check_history(how: MaintainOptions) -> None:
    from jobs.tables import TABLES

    if how.history is not None and how.apply:
        raise UsageError("--history and --apply exclude each other; give one of them")
    names = [table.name for table in TABLES]
    if how.history and how.history not in names:
        raise UsageError(f"--history {how.history!r} is no table; give one of {', '.join(names)}")
    if not 1 <= how.last <= _MOST_COMMITS:
        raise UsageError(f"--last is {how.last}; give at least 1, at most {_MOST_COMMITS}")
