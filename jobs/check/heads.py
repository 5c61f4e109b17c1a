"""Heads of a few files of sends: their first lines as records, without Spark."""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, Any

from jobs.check.elsewhere import Open
from jobs.errors import InputUnreadableError
from jobs.settings.column_path import column_name
from jobs.settings.inputs import SendsInput
from jobs.settings.line_pattern import LinePattern
from jobs.sources.contents import CSV, HEAD_BYTES, PARQUET, check_contents
from jobs.sources.csv_header import columns_of
from jobs.sources.local_files import InputFile
from jobs.uri import is_elsewhere

MOST_FILES, MOST_LINES = 20, 200
_FEWEST_BYTES, _BYTES_OF_A_LINE = 262_144, 1_310
_SAMPLE, _FEW = 20, 4


class Number(str):
    """A JSON number, as it was written."""

    __slots__ = ()


Record = Mapping[str, str | None]
"""Column to its text, with a dotted name if nested; a `Number` if JSON has one."""


@dataclass(frozen=True)
class Head:
    """The first lines of one file.

    Attributes:
        file: its name.
        is_typed: the file is JSON, where a quoted number is not a number.
        columns: their names.
        records: the lines that could be parsed.
        bad: the other lines, with their number and what is wrong.
        looks_like_csv: read as JSON without any, but with the same number of commas in all first lines.
    """

    file: str
    is_typed: bool
    columns: tuple[str, ...]
    records: tuple[Record, ...]
    bad: tuple[tuple[int, str], ...] = ()
    looks_like_csv: bool = False


def some_of(files: Sequence[InputFile], most: int = MOST_FILES) -> list[InputFile]:
    """At most `most` of the non-empty files, evenly spread, including the first and last."""
    full = [file for file in files if file.size]
    if len(full) <= most:
        return full
    return [full[place * (len(full) - 1) // max(most - 1, 1)] for place in range(most)]


def read_head(
    file: InputFile, kind: str, sends_input: SendsInput, open_file: Open, most_lines: int = MOST_LINES
) -> Head:
    """The head of one file.

    Args:
        file: any.
        kind: what it is read as.
        sends_input: with the pattern of a text log.
        open_file: opens it.
        most_lines: lines to read.

    Raises:
        InputUnreadableError: it cannot be opened, or its content does not fit its name.
        NotSeenError: its store does not let itself be looked at.
    """
    most_bytes = max(_FEWEST_BYTES, most_lines * _BYTES_OF_A_LINE)
    with open_file(file) as opened:
        start = opened.read(HEAD_BYTES if kind == PARQUET else most_bytes)
        check_contents(file.name, kind, start[:HEAD_BYTES])
        if kind == PARQUET:
            return _parquet(file.name, opened, most_lines)
    unpacked = _unpacked(start, most_bytes) if file.name.endswith(".gz") else start
    is_cut = file.size > len(start) or len(unpacked) >= most_bytes
    whole_lines = unpacked[: unpacked.rfind(b"\n") + 1] if is_cut else unpacked
    text = whole_lines.decode(errors="replace").removeprefix("\ufeff")
    if kind == CSV:
        return _csv(file.name, text, most_lines)
    lines = list(itertools.islice(_lines(text), most_lines))
    pattern = sends_input.line_pattern
    return _json(file.name, lines) if pattern is None else _matched(file.name, lines, pattern)


def _unpacked(start: bytes, most_bytes: int) -> bytes:
    found = b""
    with gzip.GzipFile(fileobj=io.BytesIO(start)) as packed, suppress(OSError, EOFError, zlib.error):
        # Until the end of the head, or where the file is broken, which a run reports.
        while len(found) < most_bytes and (chunk := packed.read1(most_bytes)):
            found += chunk
    return found


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines with text, each with its number."""
    return ((number, line.removesuffix("\r")) for number, line in enumerate(text.split("\n"), 1) if line.strip())


def _json(name: str, lines: Sequence[tuple[int, str]]) -> Head:
    records, bad = [], []
    columns: dict[str, None] = {}
    for number, line in lines:
        try:
            value = json.loads(line, parse_int=Number, parse_float=Number, parse_constant=_no_constant)
        except RecursionError:  # nested deeper than Python allows; a run may read it
            continue
        except ValueError:
            bad.append((number, "is not JSON"))
            continue
        if not isinstance(value, dict):
            bad.append((number, "is not a JSON object"))
            continue
        record = dict(_flat(value))
        columns |= dict.fromkeys(column for column, text in record.items() if not (text or "").startswith("{"))
        records.append(record)
    looks_like_csv = not records and _has_columns([line for _, line in lines[:_SAMPLE]])
    return Head(name, True, tuple(columns), tuple(records), tuple(bad), looks_like_csv)


def _has_columns(lines: Sequence[str]) -> bool:
    """Whether the lines have the same number of columns, and more than a few."""
    try:
        rows = list(csv.reader(lines))
    except csv.Error:  # a field longer than Python's limit
        return False
    return len(rows) > 1 and len(rows[0]) >= _FEW and len({len(row) for row in rows}) == 1


def _no_constant(text: str) -> Any:
    raise ValueError(text)


def _flat(value: Mapping[str, Any], at: str = "") -> Iterator[tuple[str, str | None]]:
    """Every member as text; those of nested objects too, under dotted names."""
    for key, item in value.items():
        name = f"{at}{column_name((key,))}"
        if isinstance(item, dict):
            yield name, json.dumps(item, ensure_ascii=False, default=str)
            yield from _flat(item, f"{name}.")
        elif item is None or isinstance(item, str):
            yield name, item
        else:
            yield (
                name,
                json.dumps(item, ensure_ascii=False, default=str) if isinstance(item, bool | list) else str(item),
            )


def _csv(name: str, text: str, most_lines: int) -> Head:
    lines = _lines(text)
    at, header = next(lines, (0, ""))
    try:
        names = columns_of(header)
    except csv.Error as error:
        return Head(name, False, (), (), ((at, f"is not a header: {error}"),))
    paths = [column_name((name,)) for name in names]
    records: list[Record] = []
    bad: list[tuple[int, str]] = []
    for number, line in itertools.islice(lines, most_lines):
        try:
            row = next(csv.reader([line], strict=True))
        except csv.Error as error:
            bad.append((number, "has a quote that is not closed" if line.count('"') % 2 else f"is not CSV: {error}"))
            continue
        if len(row) == len(names) and line != header:
            records.append(_named(zip(paths, map(str.strip, row), strict=True)))
        elif line != header:
            bad.append((number, f"has {len(row)} columns, the header has {len(names)}"))
    return Head(name, False, tuple(names), tuple(records), tuple(bad))


def _matched(name: str, lines: Sequence[tuple[int, str]], pattern: LinePattern) -> Head:
    records, bad = [], []
    matches = pattern.values([line for _, line in lines])
    for (number, _), values in zip(lines, matches.to_pylist(), strict=True):
        if values is None:
            bad.append((number, "does not fit the pattern"))
        else:
            records.append({name: text.strip() or None for name, text in values.items()})
    return Head(name, False, pattern.names, tuple(records), tuple(bad))


def _parquet(name: str, opened: IO[bytes], most_lines: int) -> Head:
    import pyarrow as pa  # noqa: PLC0415 - only where there is Parquet
    import pyarrow.parquet as pq  # noqa: PLC0415 - same

    try:
        with pq.ParquetFile(opened) as file:
            batch = next(file.iter_batches(batch_size=most_lines), None)
            schema = file.schema_arrow
    except (OSError, pa.ArrowException) as error:
        if isinstance(error, OSError) and is_elsewhere(name):  # perhaps the network: `open_file` says so
            raise
        raise InputUnreadableError(
            f"{name} cannot be read as Parquet ({error}); replace it with a complete copy"
        ) from error
    rows = [] if batch is None else batch.to_pylist()
    return Head(name, False, tuple(_parquet_names(schema)), tuple(_named(_flat(row)) for row in rows))


def _parquet_names(fields: Any, at: str = "") -> Iterator[str]:
    import pyarrow as pa  # noqa: PLC0415 - same

    for field in fields:
        if pa.types.is_struct(field.type):
            inner = [field.type.field(place) for place in range(field.type.num_fields)]
            yield from _parquet_names(inner, f"{at}{column_name((field.name,))}.")
        else:
            yield f"{at}{column_name((field.name,))}"


def _named(row: Iterable[tuple[str, str | None]]) -> Record:
    """Every column under its name with and without backticks: settings may use either."""
    return {form: text for name, text in row for form in (name, name.replace("`", ""))}
