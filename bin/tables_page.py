"""Writes docs/tables.md from the table modules: `python bin/tables_page.py [--check]`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from jobs.tables import TABLES, Table

PAGE = Path("docs/tables.md")

_HEAD = """# Tables

Written from `jobs/tables` by `make docs`; do not edit. Every table is a Delta table below the lake's folder,
partitioned by `event_date`, and readable without Spark. An instant has two columns: `…_ms` is epoch milliseconds,
`…_at` the same as a UTC timestamp.
"""


def page() -> str:
    """The whole page."""
    listed = [f"| [{table.name}](#{table.name}) | {table.grain} |" for table in TABLES]
    return "\n".join([_HEAD, "| table | one row is |", "|---|---|", *listed, "", *map(_section, TABLES)])


def _section(table: Table) -> str:
    rows = [
        f"| {field.name} | {field.dataType.simpleString()} | {'' if field.nullable else 'never'} |"
        f" {field.metadata['comment']} |"
        for field in table.columns
    ]
    lists = [
        f"- `{name}`: {', '.join(f'`{value}`' for value in values)}" for name, values in table.closed_lists.items()
    ]
    checks = [f"- {name}: `{condition}`" for name, condition in table.checks.items()]
    parts = [
        f"## {table.name}\n",
        f"One row is {table.grain}. Keys: {', '.join(f'`{key}`' for key in table.keys)}. Version {table.version}.\n",
        "| column | type | null | meaning |\n|---|---|---|---|",
        *rows,
        *(["\nClosed lists:\n", *lists] if lists else []),
        *(["\nChecks:\n", *checks] if checks else []),
        "",
    ]
    return "\n".join(parts)


def main(arguments: Sequence[str]) -> int:
    """Write the page, or with `--check` fail when it is stale."""
    if "--check" not in arguments:
        PAGE.write_text(page(), encoding="utf-8")
        return 0
    if PAGE.exists() and PAGE.read_text(encoding="utf-8") == page():
        return 0
    sys.stderr.write(f"{PAGE} is stale; run make docs\n")
    return 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
