"""`faultline check`: what the first lines of the input say about a run, before you start it."""

from __future__ import annotations

import click

from jobs.check.heads import MOST_FILES, MOST_LINES, some_of
from jobs.cli import options
from jobs.cli.call import Call
from jobs.cli.command import Command
from jobs.errors import InputUnreadableError, UsageError
from jobs.text.terminal import one_line


@click.command(
    cls=Command,
    does="where each field of the input comes from, and what cannot be used: from the first lines of"
    " its files, no Spark",
)
@options.inputs
@options.option("--propose", is_flag=True, help="print a mapping guessed from names and values, as TOML")
@options.option(
    "--lines",
    "most_lines",
    type=click.IntRange(1, 1_000_000),
    default=MOST_LINES,
    metavar="N",
    help=f"lines to look at in each of {MOST_FILES} files; default {MOST_LINES}",
)
@options.verbose
@click.pass_obj
def check(
    call: Call,
    /,
    lake: options.LakeOptions,
    *,
    propose: bool,
    most_lines: int,
    verbose: bool,  # noqa: ARG001 - main reads it from the words, as it may be needed before they are parsed
    **paths: tuple[str, ...],
) -> int:
    """Print the result; exit code 2 if no line could be used, 3 if input is missing."""
    from jobs.check.answer import check_inputs
    from jobs.check.before import files_elsewhere, local_files, read_heads
    from jobs.check.elsewhere import NotSeenError
    from jobs.check.proposal import propose as proposal

    settings = call.settings(lake, paths, with_lake=False)
    if not propose:
        lines, exit_code = check_inputs(settings, most_lines, call.clock())
        print("\n".join(map(one_line, lines)))
        return exit_code
    try:
        files = [*local_files(settings, "sends"), *files_elsewhere(settings, "sends")]
        if not files:
            raise UsageError(
                "no send attempts that can be read from here are named; give --sends PATH or inputs.sends.path"
            )
        print(proposal(read_heads(some_of(files), settings, most_lines), settings.inputs.sends))
    except NotSeenError as error:
        raise InputUnreadableError(f"the send attempts cannot be looked at from here: {error}") from error
    return 0
