"""Figures as Markdown, and the machine that they are of."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence

from jobs.spark.environment import check_environment


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; all columns but the first are numbers."""
    rule = ["---", *["--:"] * (len(head) - 1)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, rule, *rows))


def rate(count: int, seconds: float) -> str:
    """How many a second."""
    return f"{count / seconds:,.0f}"


def ratio(seconds: float, of_seconds: float) -> str:
    """How many times as long, to two digits."""
    return f"{float(f'{seconds / of_seconds:.2g}'):,g}"


def machine() -> str:
    """What the figures were taken on."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    found = check_environment()
    return (
        f"{os.cpu_count()} cores ({platform.machine()}), {memory:.0f} GiB; Java {found['java']}, Python"
        f" {found['python']}, Spark {found['pyspark']}, Delta {found['delta-spark']};"
        f" load average at the start: {load()}"
    )


def load() -> str:
    """The load averages of the last 1, 5 and 15 minutes: figures of a busy machine are worth little."""
    return ", ".join(f"{load:.1f}" for load in os.getloadavg())
