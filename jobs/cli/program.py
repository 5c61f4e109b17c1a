"""The program `faultline`: its commands and how a command line runs."""

from __future__ import annotations

import os
from collections.abc import Sequence

import click
from click.shell_completion import shell_complete

from jobs.cli import publish
from jobs.cli.call import Call
from jobs.cli.check import check
from jobs.cli.collect import collect
from jobs.cli.command import WIDTH, Group, usage_sentence
from jobs.cli.demo import demo
from jobs.cli.doctor import doctor
from jobs.cli.explain import explain
from jobs.cli.export import export
from jobs.cli.maintain import maintain
from jobs.cli.plan import plan
from jobs.cli.register import register
from jobs.cli.report import report
from jobs.cli.show import show
from jobs.cli.verify import verify
from jobs.cli.what_if import what_if
from jobs.errors import UsageError
from jobs.spark.environment import code_version

NAME = "faultline"
COMPLETE = "_FAULTLINE_COMPLETE"
"""Environment variable by which a shell asks for completions."""


@click.group(
    NAME,
    cls=Group,
    invoke_without_command=True,
    subcommand_metavar="COMMAND",
    context_settings={"help_option_names": ["-h", "--help"], "terminal_width": WIDTH},
    help="Which producers avoided which broker, and who should own which queue: rebuilt from logs.",
    commands=(
        demo,
        *publish.COMMANDS.values(),
        check,
        collect,
        what_if,
        verify,
        plan,
        report,
        show,
        explain,
        export,
        register,
        doctor,
        maintain,
    ),
    epilog="Exit codes: 0 done, 2 usage or settings, 3 input, 4 too many bad lines, 5 lake busy,"
    " 6 counts do not add up, 7 a --fail-on condition held, 1 anything else, 128 + its number after a signal.",
)
@click.version_option(code_version(), prog_name=NAME, message="%(prog)s %(version)s")
@click.pass_context
def faultline(context: click.Context) -> None:
    """Refuse a line without a command."""
    if context.invoked_subcommand is None:
        raise click.UsageError("a COMMAND is missing", context)


def run(words: Sequence[str], call: Call) -> int:
    """Run the command and return its exit code, or print what a shell asked for by `COMPLETE`.

    Replaces click's own `main`, which exits the process on any broken pipe.

    Raises:
        FaultlineError: one of its subclasses; `UsageError` for everything that click refuses.
    """
    if COMPLETE in os.environ:
        return shell_complete(faultline, {}, NAME, COMPLETE, os.environ[COMPLETE])
    try:
        with faultline.make_context(NAME, list(words), obj=call) as context:
            return int(faultline.invoke(context) or 0)
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.ClickException as error:
        raise UsageError(usage_sentence(error)) from None  # click's message is not escaped
