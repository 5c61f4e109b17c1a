"""`faultline doctor`: is this machine, and the lake, fit for a run; works where packages are missing."""

from __future__ import annotations

import sys

import click

from jobs.cli import options
from jobs.cli.call import Call
from jobs.cli.command import Command, in_full
from jobs.settings.model import Settings

_DOES = "whether this machine and lake are fit for a run: a line per check, with the fix; exit 2 if something is wrong"


@click.command(cls=Command, short_help=_DOES, help=in_full(_DOES))
@options.inputs
@options.option("--session", is_flag=True, help="start Spark too (some seconds)")
@options.as_json("as one JSON object")
@options.verbose
@click.pass_obj
def doctor(
    call: Call,
    inputs: options.InputOptions,
    lake: options.LakeOptions,
    *,
    session: bool,
    as_json: bool,
    verbose: bool,  # noqa: ARG001 - main reads it from the words, as it may be needed before they are parsed
) -> int:
    """Print each check; exit code 2 when something is wrong."""
    from jobs.doctor import examination

    def load() -> Settings:
        return call.settings(lake, inputs)

    checks = examination.examine(load, with_session=session)
    if as_json:
        print(examination.as_json(checks, call.secrets))
    else:
        print(examination.as_text(checks, call.secrets, colour=sys.stdout.isatty()))
    return 0 if examination.is_fit(checks) else 2
