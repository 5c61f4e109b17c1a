"""The options of `faultline what-if`; read without Spark."""

from __future__ import annotations

import argparse

from jobs.cli.upkeep_options import add_break_lock

WHAT_IF = "what other policies would have done with published days"
WHAT_IF_IN_FULL = """\
Replay published days of sends under other policies, all in one pass: released profiles, ladders of your own, sweeps.
Every producer is replayed, whatever its switch. Publishes policy_outcomes. A log cannot show how the other brokers
would have answered, nor the sends that a producer's own isolation kept away: avoided is what would have gone elsewhere.
"""


def add_what_if_options(parser: argparse.ArgumentParser) -> None:
    """The policies to ask, and how to answer."""
    which = parser.add_argument_group("policies (default: AS_RUN and every released profile)")
    for option, name, example, does in (
        ("--policy", "policies", "NAME", "P1 to P5, or AS_RUN: each producer as it is, its switch on; repeatable"),
        (
            "--ladder",
            "ladders",
            "NAME=FLOORS/ISOLATIONS[@P]",
            "own arrays, ms: short=550,2000/1000,5000@P5; repeatable",
        ),
        ("--ladders", "ladder_files", "FILE", 'TOML: [ladders."NAME"] with latency_max_ms, not_available_ms, profile'),
        ("--sweep", "sweeps", "P/FACTORS/FACTORS", "a profile, its floors and isolations times each: P5/0.5,1,2/1,2,4"),
    ):
        which.add_argument(option, dest=name, action="append", default=[], metavar=example, help=does)
    how = parser.add_argument_group("how")
    how.add_argument("--picture", metavar="FILE.html", help="bad sends avoided against good ones steered away")
    add_break_lock(how)
    how.add_argument("--json", action="store_true", help="print the summary as JSON")
    how.add_argument("-v", "--verbose", action="store_true", help="show the trace of an error")
