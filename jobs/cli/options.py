"""Options that several commands share; a command gets related options as one value."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import click

from jobs.cli.command import Option
from jobs.cli.days import DayOptions
from jobs.cli.parameters import DAY, FILE, FOLDER, TIME

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

DAYS = "days (UTC)"
"""Heading of the options for days and times."""
_INPUTS = "input and lake (a PATH is a file, a folder or a glob)"


@dataclass(frozen=True)
class LakeOptions:
    """Where the tables lie, and what else is set.

    Attributes:
        lake: folder or URI; None when no option names it.
        settings: settings files, later ones win.
        assignments: single settings, `KEY=VALUE`.
        cluster: of lines that name none, or the only one to read; None when no option names it.
    """

    lake: str | None = None
    settings: tuple[str, ...] = ()
    assignments: tuple[str, ...] = ()
    cluster: str | None = None


Paths = Mapping[str, tuple[str, ...]]
"""Each kind of input to the paths that options name."""


def option(*names: str, **how: Any) -> Decorator:
    """An option of one command, below the heading `section`."""
    return click.option(*names, cls=Option, **how)


def gathered(name: str, kind: type[Any], *options: Decorator) -> Decorator:
    """Add the options to a command, which takes their values as one `kind`, under `name`."""
    parts = [field.name for field in fields(kind)]

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def call(*given: Any, **values: Any) -> Any:
            own = kind(**{part: values.pop(part) for part in parts if part in values})
            return command(*given, **values, **{name: own})

        return each(*options)(call)

    return decorate


def each(*options: Decorator) -> Decorator:
    """The options of one command in this order."""
    return lambda command: functools.reduce(lambda so_far, option: option(so_far), reversed(options), command)


def days(default: str, *times: str) -> Decorator:
    """`days`: the day or span to run over, and the time to ask about.

    Args:
        default: describes the span used without these options.
        times: which of `--since`, `--until` and `--at` there are.
    """
    texts = {
        "since": "what lasts beyond it or comes later; like 2026-11-21T00:26:51, or 00:26:51 with --date",
        "until": "what begins before it",
        "at": "what is valid then",
    }
    return gathered(
        "days",
        DayOptions,
        option("--date", type=DAY, metavar="D", section=DAYS, help=f"one day; default: {default}"),
        option("--from", "first", type=DAY, metavar="D", section=DAYS, help="first day, inclusive"),
        option("--to", "last", type=DAY, metavar="D", section=DAYS, help="last day, inclusive"),
        *(option(f"--{name}", type=TIME, metavar="TIME", section=DAYS, help=texts[name]) for name in times),
    )


def inputs(command: Callable[..., Any]) -> Callable[..., Any]:
    """`**paths` and `lake`: what to read, and where the tables lie."""
    texts = {
        "--sends": "send attempts",
        "--fault-item-updates": "what producers' clients decided themselves",
        "--routes": "topic routes",
        "--consumers": "members of consumer groups",
        "--running-info": "consumers' running info",
        "--client-logs": "consumers' own logs",
    }
    paths = (
        option(name, type=FILE, multiple=True, metavar="PATH", section=_INPUTS, help=f"{what}; repeatable")
        for name, what in texts.items()
    )
    cluster = option(
        "--cluster",
        metavar="NAME",
        section=_INPUTS,
        help="cluster of lines that name none; default: the setting cluster",
    )
    return each(*paths, cluster)(lake(_INPUTS)(command))


def lake(section: str = "lake") -> Decorator:
    """`lake`: where the tables lie, and what else is set."""
    return lake_named_by(
        "settings, TOML; repeatable, later win; without any, a lake and input: conf/local.toml",
        option(
            "--set",
            "assignments",
            multiple=True,
            metavar="KEY=VALUE",
            section=section,
            help="one setting; repeatable",
        ),
        section=section,
    )


def lake_named_by(settings: str, *more: Decorator, section: str = "lake") -> Decorator:
    """`lake` by `--lake`, `--settings`, whose help is `settings`, and `more`."""
    return gathered(
        "lake",
        LakeOptions,
        option("--lake", type=FOLDER, metavar="DIR", section=section, help="folder or URI of the tables"),
        option("--settings", type=FILE, multiple=True, metavar="FILE", section=section, help=settings),
        *more,
    )


def one_cluster(what: str, more: str = "") -> Decorator:
    """`lake.cluster`: the only cluster for a command that replays published days."""
    return option(
        "--cluster",
        metavar="NAME",
        section="lake",
        help=f"the only cluster that is {what}{more}; default: each that has sends",
    )


published_lake = lake_named_by(
    "settings that name lake, cluster and owners; without any and a lake: conf/local.toml",
    option("--cluster", metavar="NAME", section="lake", help="default: the setting cluster, else the lake's only one"),
)
"""`lake`: where published tables lie, for commands that read them without Spark."""
break_lock = option(
    "--break-lock",
    is_flag=True,
    help="take the lake from a run that holds it and hangs; that run publishes nothing more",
)
wait = option(
    "--wait",
    "wait_minutes",
    type=click.IntRange(0, 1440),
    default=0,
    metavar="MINUTES",
    help="queue this long for a lake that another run holds; without it, exit 5 at once",
)
verbose = option("-v", "--verbose", is_flag=True, help="show the trace of an error")


def as_json(text: str) -> Decorator:
    """`--json`."""
    return option("--json", "as_json", is_flag=True, help=text)
