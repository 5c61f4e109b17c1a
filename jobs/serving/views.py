"""SQL views over the published tables: package data in `sql/`; each file starts with its question and columns."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.resources import files

from jobs.tables import TABLES, Table

VIEWS = (
    "send_costs",
    "broker_isolations",
    "worst_brokers",
    "event_latencies",
    "day_changes",
    "queue_owners",
    "flapping_groups",
    "night_findings",
    "whole_isolations",
)


@dataclass(frozen=True)
class View:
    """A view as its file defines it.

    Attributes:
        name: its name in a catalog.
        question: what it answers.
        columns: each column in the view's order, with its meaning.
        select: the file, comments included; with bare table names.
        tables: the tables it rests on.
    """

    name: str
    question: str
    columns: dict[str, str]
    select: str
    tables: tuple[Table, ...]


def read_view(name: str) -> View:
    """The view of this name, one of `VIEWS`."""
    select = files("jobs.serving").joinpath("sql", f"{name}.sql").read_text(encoding="utf-8")
    head = [line for line in select.split("WITH", 1)[0].splitlines() if line.startswith("--")]
    named = set(re.findall(r"\b(?:FROM|JOIN) ([a-z_]+)", select))
    return View(
        name=name,
        question=head[0].removeprefix("-- "),
        columns={found[1]: found[2] for line in head if (found := re.fullmatch(r"-- ([a-z0-9_]+): (.+)", line))},
        select=select,
        tables=tuple(table for table in TABLES if table.name in named),
    )
