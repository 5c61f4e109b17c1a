"""Help pages with options in sections, and usage errors as one sentence that points to the help."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from typing import Any

import click

from jobs.text.nearest import did_you_mean

WIDTH = 100
"""Columns of a help page on any terminal, so that a page is the same everywhere."""


class Option(click.Option):
    """An option listed under a heading of the help page."""

    def __init__(self, *names: Any, section: str = "how", **how: Any) -> None:
        super().__init__(*names, **how)
        self.section = section


class Command(click.Command):
    """A command whose help lists options in sections, and that refuses an option as the value of another."""

    def __init__(self, *names: Any, does: str = "", **how: Any) -> None:
        """`does` is the short help and, as a sentence, the start of the help page."""
        if does:
            how |= {"short_help": does, "help": f"{does[0].upper()}{does[1:]}."}
        super().__init__(*names, **how)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write each section in the order in which its first option was declared; `--help` comes last."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if isinstance(param, click.Option) and record is not None:
                sections.setdefault(param.section if isinstance(param, Option) else "options", []).append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse, but refuse an option where a value is missing, such as `--lake --json`."""
        try:
            if not ctx.resilient_parsing:
                self._refuse_options_as_values(args)
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            error.ctx = error.ctx or ctx  # click's parser leaves it unset
            raise

    def _refuse_options_as_values(self, args: list[str]) -> None:
        valued = {
            name
            for param in self.params
            if isinstance(param, click.Option) and param.flag_activation_value is None
            for name in param.opts
        }
        given = args[: args.index("--")] if "--" in args else args
        for name, value in itertools.pairwise(given):
            if name in valued and re.match("-[^0-9]", value):
                what = f"option {name!r} requires an argument, and {value!r} looks like an option"
                raise click.BadOptionUsage(name, f"{what}: write {name}={value} if it is meant")


class SubjectCommand(Command):
    """A command whose first argument is a subject; its help page has a line for each."""

    def __init__(self, *names: Any, subjects: Mapping[str, str], **how: Any) -> None:
        super().__init__(*names, **how)
        self.subjects = subjects

    def format_arguments(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the lines."""
        with formatter.section("WHAT"):
            formatter.write_dl(self.subjects.items())


class Group(click.Group):
    """Commands in the order in which they were added."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Each command's name."""
        return list(self.commands)


def usage_sentence(error: click.ClickException) -> str:
    """Click's error as one sentence: the thing, the value, and which help to read."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    match error:
        case click.NoSuchOption() if context:
            known = [name for param in context.command.get_params(context) for name in param.opts if name[:1] == "-"]
            what = f"unknown option {error.option_name!r}{did_you_mean(error.option_name, known)}"
        case click.NoSuchCommand() if context and isinstance(context.command, click.Group):
            known = context.command.list_commands(context)
            what = f"unknown command {error.command_name!r}{did_you_mean(error.command_name, known)}"
        case click.BadParameter() if context and error.param:
            is_option, metavar = isinstance(error.param, click.Option), error.param.make_metavar(context)
            if isinstance(error, click.MissingParameter):
                what = f"{error.param.opts[0]} {metavar} is missing" if is_option else f"a {metavar} is missing"
            else:
                what = f"{error.param.opts[0] if is_option else metavar} {error.message}"
        case _:
            message = error.format_message()
            what = f"{message[:1].lower()}{message[1:]}"
    return f"{what.rstrip('.')}; see {context.command_path if context else 'faultline'} --help"
