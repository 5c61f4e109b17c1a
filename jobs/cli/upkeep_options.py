"""The options of `maintain` and `verify-lake`, and `--break-lock`; read without Spark."""

from __future__ import annotations

import argparse
import datetime as dt
from collections.abc import Callable
from typing import Any

UPKEEP = ("maintain", "verify-lake")

_MAINTAIN = "merge small files, delete what only old versions need; a dry run unless --apply"
_VERIFY = "derive published days anew from the lake's own sends, and compare"
_VERIFY_IN_FULL = """\
Derive published days of the first flow anew from the lake's own sends, routes and the day before, and compare every
table row by row; exit 6 when one differs or the run log does not add up. Publishes nothing. order_key_moves and the
tables of the second flow (allocation) are not derived anew: the queues and snapshots they rest on are not kept.
"""


def add_upkeep_commands(
    commands: Any, add_settings: Callable[[argparse.ArgumentParser], None], day: Callable[[str], dt.date]
) -> None:
    """Add both commands to the parser's `commands`; `day` reads a day."""
    maintain = commands.add_parser("maintain", help=_MAINTAIN, description=_MAINTAIN.capitalize() + ".")
    maintain.add_argument("--apply", action="store_true", help="do it; without it nothing is written")
    maintain.add_argument(
        "--history", nargs="?", const="", metavar="TABLE", help="instead: the last commits of TABLE, or of each table"
    )
    maintain.add_argument("--last", type=int, default=10, metavar="N", help="with --history: how many; default 10")
    verify = commands.add_parser("verify-lake", help=_VERIFY, description=_VERIFY_IN_FULL)
    verify.add_argument("--date", type=day, metavar="D", help="this day; default: one day of each cluster")
    verify.add_argument("--seed", metavar="TEXT", help="picks the day where no --date is given; default: today's date")
    for parser in (maintain, verify):
        add_settings(parser)
        add_break_lock(parser)
        parser.add_argument("--json", action="store_true", help="print the answer as JSON")
        parser.add_argument("-v", "--verbose", action="store_true", help="show the trace of an error")


def add_break_lock(how: argparse._ActionsContainer) -> None:
    """`--break-lock`."""
    how.add_argument(
        "--break-lock",
        action="store_true",
        help="take the lake from a run that holds it and hangs; that run publishes nothing more",
    )
