"""`faultline doctor`: check that this machine and the lake are fit for a run; works even if packages are missing."""

from __future__ import annotations

import os

import click

from jobs.cli import options
from jobs.cli.call import Call
from jobs.cli.command import Command


@click.command(
    cls=Command,
    does="check whether this machine and lake are fit for a run: a line per check, with the fix; exit 2 if one fails",
)
@options.lake()
@options.as_json("as one JSON object")
@options.verbose
@click.pass_obj
def doctor(
    call: Call,
    lake: options.LakeOptions,
    *,
    as_json: bool,
    verbose: bool,  # noqa: ARG001 - main reads it from the words, as it may be needed before they are parsed
) -> int:
    """Print each check; exit code 2 when something is wrong, but not for what could not be seen."""
    from jobs.doctor import examination

    checks = list(examination.examine(call.settings(lake), os.environ))
    form = examination.as_json if as_json else examination.as_text
    print(form(checks, call.secrets))
    return 0 if all(check.is_ok is not False for check in checks) else 2
