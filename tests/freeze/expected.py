"""What may differ between two sides: names that changed, and columns that say when and where a run took place."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

KEYS_FILE = Path(__file__).parent / "keys.toml"

APART = {
    "*": ("run_id",),
    "run_log": ("logged_at", "settings_hash", "code_version", "table_versions"),
}
"""Table to columns that say something of the run rather than of its input; `*` is every table."""

_SECTIONS = {"tables", "columns", "values", "texts", "apart"}


class ExpectedError(Exception):
    """A file of renames that cannot mean what it says."""


@dataclass(frozen=True)
class Expected:
    """Names of the side before to those after, and what is not compared.

    Attributes:
        keys: table to the columns that name a row; under the names after.
        tables: table before to table after.
        columns: table before, or `*`, to column before to column after.
        values: table before, or `*`, to column after to value before to value after; texts only.
        texts: what the answers of the side before said to what they say after; in this order.
        apart: table after, or `*`, to columns that are not compared.
    """

    keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    tables: Mapping[str, str] = field(default_factory=dict)
    columns: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    values: Mapping[str, Mapping[str, Mapping[str, str]]] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    apart: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def apart_of(self, table: str) -> set[str]:
        """Columns of the table that are not compared."""
        return {name for given in (APART, self.apart) for each in ("*", table) for name in given.get(each, ())}

    def renamed(self, was: pa.Table, name: str) -> pa.Table:
        """The table of the side before under the names of the side after.

        Raises:
            ExpectedError: a column that is renamed is not there, or two get one name.
        """
        own = self.columns.get(name, {})
        missing = sorted({*own} - {*was.column_names})
        if missing:
            there = ", ".join(was.column_names)
            raise ExpectedError(f"{name} has no column {missing[0]} to rename; it has {there}")
        new = {**self.columns.get("*", {}), **own}
        names = [new.get(each, each) for each in was.column_names]
        if len({*names}) < len(names):
            raise ExpectedError(f"two columns of {name} get one name: {', '.join(names)}")
        renamed = was.rename_columns(names)
        for column, values in {**self.values.get("*", {}), **self.values.get(name, {})}.items():
            if column in names:
                place = names.index(column)
                told = [values.get(each, each) for each in renamed.column(place).to_pylist()]
                renamed = renamed.set_column(
                    place, renamed.schema.field(place), pa.array(told, renamed.schema.field(place).type)
                )
        return renamed

    def retold(self, text: str) -> str:
        """An answer of the side before in the words of the side after."""
        for old, new in self.texts.items():
            text = text.replace(old, new)
        return text


def load_expected(file: Path | None) -> Expected:
    """The keys of `keys.toml`, and the renames of a file, if one is given.

    Raises:
        ExpectedError: a section that does not exist.
    """
    keys = {table: tuple(names) for table, names in tomllib.loads(KEYS_FILE.read_text(encoding="utf-8")).items()}
    told: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8")) if file else {}
    if unknown := sorted({*told} - _SECTIONS):
        raise ExpectedError(f"{file} has a section {unknown[0]}; there are {', '.join(sorted(_SECTIONS))}")
    return Expected(keys=keys, **told)
