"""Two kept freezes, row by row: what is in one of them only, and what a row of the same key says otherwise.

A side is a folder that `keep` has written: `manifest.json`, and below `cases/NAME/` a Parquet file for each table and a
text file for each answer that the program printed.
"""

from __future__ import annotations

import difflib
import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.freeze.expected import Expected
from tests.freeze.rows import Row, in_order, numbered, rows_of, schema_of

EXAMPLES = 3


class NothingToCompareError(Exception):
    """A side holds no row, or the two rest on different input: equal would say nothing."""


@dataclass
class Findings:
    """What was compared, and every difference in a sentence with its examples."""

    cases: int = 0
    tables: int = 0
    rows: int = 0
    differences: list[str] = field(default_factory=list)

    def summary(self) -> str:
        """The last line.

        >>> Findings(cases=1, tables=2, rows=1_234).summary()
        '2 tables of 1 case, 1,234 rows: no difference'
        """
        what = f"{numbered(self.tables, 'table')} of {numbered(self.cases, 'case')}, {numbered(self.rows, 'row')}"
        return f"{what}: {numbered(len(self.differences), 'difference') if self.differences else 'no difference'}"


def compare(left: Path, right: Path, expected: Expected, only: Sequence[str] = ()) -> Findings:
    """Every case of both sides.

    Args:
        left: the side before, whose names `expected` translates.
        right: the side after.
        expected: renamed tables, columns and values; what is set apart.
        only: names of cases; none = all.

    Raises:
        NothingToCompareError: a side is empty, or the inputs differ.
    """
    before, after = _manifest(left), _manifest(right)
    cases = [name for name in sorted({*before["cases"], *after["cases"]}) if not only or name in only]
    found = Findings(cases=len(cases))
    for side, manifest in ((left, before), (right, after)):
        if not any(
            table["rows"] for name in cases for table in manifest["cases"].get(name, {"tables": {}})["tables"].values()
        ):
            raise NothingToCompareError(f"{side} holds no row of these cases: nothing to compare; keep it again")
    for name in cases:
        if name not in before["cases"] or name not in after["cases"]:
            found.differences.append(f"{name}: only {'after' if name in after['cases'] else 'before'}")
            continue
        if before["cases"][name]["inputs"] != after["cases"][name]["inputs"]:
            raise NothingToCompareError(f"{name} had other input in {left} than in {right}; keep with --inputs {left}")
        found.differences += _case(name, (left, right), (before["cases"][name], after["cases"][name]), expected, found)
    return found


def _manifest(side: Path) -> Any:
    file = side / "manifest.json"
    if not file.is_file():
        raise NothingToCompareError(
            f"{side} has no manifest.json: nothing to compare; `keep` writes one when it is done"
        )
    return json.loads(file.read_text(encoding="utf-8"))


def _case(
    name: str,
    sides: tuple[Path, Path],
    manifests: tuple[Mapping[str, Any], Mapping[str, Any]],
    expected: Expected,
    found: Findings,
) -> Iterator[str]:
    before, after = manifests
    if before["exit_codes"] != after["exit_codes"]:
        yield f"{name}: exit codes {before['exit_codes']} before, {after['exit_codes']} after"
    renamed = {expected.tables.get(table, table): table for table in before["tables"]}
    for table in sorted({*renamed, *after["tables"]}):
        found.tables += 1
        if table not in renamed or table not in after["tables"]:
            yield f"{name}/{table}: the table is only {'after' if table in after['tables'] else 'before'}"
            continue
        files = [
            side / "cases" / name / "tables" / f"{each}.parquet"
            for side, each in zip(sides, (renamed[table], table), strict=True)
        ]
        was, now = (pq.read_table(file) for file in files)
        found.rows += now.num_rows
        was = expected.renamed(was, renamed[table])
        yield from (f"{name}/{table}: {difference}" for difference in table_differences(was, now, table, expected))
    for text in sorted({*before["texts"], *after["texts"]}):
        yield from (f"{name}/{text}: {difference}" for difference in _texts(name, text, sides, expected))


def table_differences(was: pa.Table, now: pa.Table, name: str, expected: Expected) -> Iterator[str]:
    """What differs between two versions of a table, whatever the order of rows and columns.

    Args:
        was: the rows before, under their names of today.
        now: the rows after.
        name: the table's name of today.
        expected: its key, and the columns that are set apart.
    """
    apart = expected.apart_of(name)
    was, now = (side.drop_columns([each for each in side.column_names if each in apart]) for side in (was, now))
    yield from _shape(schema_of(was), schema_of(now))
    common = sorted({*was.column_names} & {*now.column_names})
    was, now = was.select(common), now.select(common)
    if in_order(was).equals(in_order(now)):
        return
    gone, come = Counter(rows_of(was)), Counter(rows_of(now))
    gone, come = gone - come, come - gone
    if gone or come:
        yield from _rows(
            sorted(gone.elements(), key=repr), sorted(come.elements(), key=repr), common, expected.keys.get(name, ())
        )


def _shape(was: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    for column in sorted({*was, *now}):
        if was.get(column) != now.get(column):
            yield f"column {column}: {was.get(column, 'not there')} before, {now.get(column, 'not there')} after"


def _rows(gone: Sequence[Row], come: Sequence[Row], columns: Sequence[str], key: Sequence[str]) -> Iterator[str]:
    """Rows without an equal on the other side: of one key changed, else only there."""
    places = [columns.index(each) for each in key if each in columns]
    pairs: list[tuple[Row, Row]] = []
    if places:
        of_key: dict[Row, tuple[list[Row], list[Row]]] = defaultdict(lambda: ([], []))
        for number, side in enumerate((gone, come)):
            for row in side:
                of_key[tuple(row[place] for place in places)][number].append(row)
        pairs = [(was[0], now[0]) for was, now in of_key.values() if len(was) == len(now) == 1]
        gone = [row for was, now in of_key.values() if not len(was) == len(now) == 1 for row in was]
        come = [row for was, now in of_key.values() if not len(was) == len(now) == 1 for row in now]
    if pairs:
        yield _changed(pairs, columns, places)
    for when, rows in (("before", gone), ("after", come)):
        if rows:
            examples = "".join(f"\n    {_readable(row, columns)}" for row in rows[:EXAMPLES])
            yield f"{numbered(len(rows), 'row')} only {when}{examples}"


def _changed(pairs: Sequence[tuple[Row, Row]], columns: Sequence[str], places: Sequence[int]) -> str:
    per_column = Counter(
        columns[place] for was, now in pairs for place in range(len(columns)) if was[place] != now[place]
    )
    counts = ", ".join(f"{column} ({count})" for column, count in per_column.most_common())
    lines = []
    for was, now in pairs[:EXAMPLES]:
        key = ", ".join(f"{columns[place]}={was[place]!r}" for place in places)
        changes = ", ".join(
            f"{columns[place]}: {was[place]!r} -> {now[place]!r}"
            for place in range(len(columns))
            if was[place] != now[place]
        )
        lines.append(f"\n    [{key}] {changes}")
    return f"{numbered(len(pairs), 'row')} changed, in {counts}{''.join(lines)}"


def _readable(row: Row, columns: Sequence[str]) -> str:
    return ", ".join(f"{column}={value!r}" for column, value in zip(columns, row, strict=True) if value is not None)


def _texts(case: str, text: str, sides: tuple[Path, Path], expected: Expected) -> Iterator[str]:
    files = [side / "cases" / case / "texts" / text for side in sides]
    was, now = (file.read_text(encoding="utf-8") if file.is_file() else None for file in files)
    if was is None or now is None:
        yield f"the answer is only {'after' if was is None else 'before'}"
        return
    was = expected.retold(was)
    if was != now:
        lines = difflib.unified_diff(was.splitlines(), now.splitlines(), "before", "after", lineterm="", n=0)
        changed = [line for line in lines if line[:1] in "+-" and not line.startswith(("+++", "---"))]
        yield f"{numbered(len(changed), 'line')} changed" + "".join(f"\n    {line}" for line in changed[: 4 * EXAMPLES])
