"""Send attempts as a site may have logged them: JSON lines, CSV and Parquet, under names and units of its own."""

from __future__ import annotations

import csv
import datetime as dt
import gzip
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from jobs.sources.send_fields import FIELDS
from tests.fuzz import hostile, recordings
from tests.fuzz.mutations import as_json, spoilt_bytes, spoilt_fields, spoilt_json
from tests.fuzz.written import Entry, PhysicalLine, WrittenFile, is_no_blank, of_entries, write_lines

_TIMES = ("started_at_ms", "ended_at_ms", "submitted_at_ms")
_FREE_NAMES = ("client_id", "producer_group", "process_id", "topic", "broker_name", "thread", "error", "order_key")
_PER_MS = {"us": 1_000, "ns": 1_000_000}
_FOLDERS = ("", "a b/", "day=2026-11-21/", "集群/", "%2F/", "x/y/z/")
_BASES = ("sends", "a+b", "50%", "a=b", "ü😀", "sends,1", "$HOME", "[1]", "{a}", "a'b", "sends.1")


@dataclass(frozen=True)
class SiteNames:
    """How a site calls the fields, what its numbers count, and which of them are texts in its Parquet files."""

    columns: Mapping[str, str] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    texts: frozenset[str] = frozenset()

    @property
    def toml(self) -> str:
        """`[inputs.sends.fields]`, empty when every name is ours."""
        rows = []
        for name in sorted({*self.columns, *self.units}):
            unit = f", unit = {json.dumps(self.units[name])}" if name in self.units else ""
            rows.append(f"{name} = {{ column = {json.dumps(self.columns.get(name, name))}{unit} }}")
        return "\n".join(["[inputs.sends.fields]", *rows, ""]) if rows else ""

    def line(self, attempt: Mapping[str, Any]) -> dict[str, Any]:
        """The attempt as the site logs it: dotted names are objects in objects."""
        own: dict[str, Any] = {}
        for name, value in attempt.items():
            *parents, leaf = self.columns.get(name, name).split(".")
            holder = own
            for parent in parents:
                holder = holder.setdefault(parent, {})
            holder[leaf] = _in_unit(value, self.units.get(name))
        return own


def any_names(random: Random) -> SiteNames:
    """Ours, or a few names and units that differ."""
    if random.random() < 0.5:
        return SiteNames()
    columns = {name: random.choice((f"own_{name}", f"ctx.{name}", f"a.b.{name}", f"{name} of us", f"ctx.x-{name}"))
               for name in random.sample(sorted(FIELDS), random.randint(1, 6)) if name != "msg_id"}  # fmt: skip
    units = {name: random.choice(("us", "ns", "s", "iso8601") if name in _TIMES else ("us", "ns", "s"))
             for name in (*_TIMES, "latency_ms") if random.random() < 0.3}  # fmt: skip
    return SiteNames(columns, units, frozenset(random.sample(sorted(FIELDS), random.choice((0, 12)))))


@dataclass(frozen=True)
class Attempts:
    """Attempts before they are written: those left as they are and those to spoil, in the order of their lines."""

    lines: Sequence[tuple[Mapping[str, Any], bool]]
    copies: frozenset[int]


def attempts(random: Random, most: int, mark: str, *, spoilt: float, cluster: str | None = None) -> Attempts:
    """Up to `most` attempts of a recording, each with a `msg_id` of its own.

    Args:
        random: where all of it comes from.
        most: how many.
        mark: goes into the ids; another one for each file.
        spoilt: which share of them is to be spoilt.
        cluster: a cluster that some of them name.
    """
    lines: list[tuple[Mapping[str, Any], bool]] = []
    copies: set[int] = set()
    for number, recorded in enumerate(recordings.some(random, "sends", most)):
        line = {**recorded, "msg_id": f"fuzz-{mark}-{number}"}
        if random.random() < 0.1:
            _move(line, random.choice((-400, -1, 1, 1, 30)))
        if random.random() < 0.15:
            line |= {name: clean_name(random) for name in random.sample(_FREE_NAMES, random.randint(1, 3))}
        if cluster is not None and random.random() < 0.2:
            line["cluster"] = cluster
        is_spoilt = random.random() < spoilt
        lines.append((line, is_spoilt))
        if not is_spoilt and random.random() < 0.05:
            copies.add(len(lines))
            lines.append((line, False))
    return Attempts(lines, frozenset(copies))


def json_file(random: Random, folder: Path, mark: str, said: Attempts, names: SiteNames) -> WrittenFile:
    """A file of JSON lines, gzipped or not."""
    entries = [
        Entry(spoilt_json(random, names.line(line)), is_clean=False)
        if is_spoilt
        else Entry(as_json(_any_order(random, names.line(line))), is_clean=True, fields=line, is_copy=at in said.copies)
        for at, (line, is_spoilt) in enumerate(said.lines)
    ]
    ending = random.choice((".jsonl", ".jsonl.gz", ".log", ".json", "", ".log.gz"))
    name = f"{random.choice(_FOLDERS)}{random.choice(_BASES)}-{mark}{ending}"
    return write_lines(random, "sends", folder / name, entries)


def csv_file(random: Random, folder: Path, mark: str, said: Attempts, names: SiteNames) -> WrittenFile:
    """A file of CSV with a header of its own order; its clean records are of one line each."""
    columns = [name for name in FIELDS if any(name in line for line, _ in said.lines)]
    random.shuffle(columns)
    end = random.choice(("\n", "\n", "\r\n"))
    text = _csv_record([names.columns.get(name, name) for name in columns], end)
    entries, lines = [], []
    for at, (said_line, is_spoilt) in enumerate(said.lines):
        line = {
            name: value.replace("\n", " ") if isinstance(value, str) else value for name, value in said_line.items()
        }
        values = spoilt_fields(random, line) if is_spoilt else line
        record = _csv_record([_csv_text(_in_unit(values.get(name), names.units.get(name))) for name in columns], end)
        if is_spoilt and random.random() < 0.4:
            spoilt = spoilt_bytes(random, record.removesuffix(end).encode()).decode("utf-8", "surrogateescape")
            record = (
                random.choice((spoilt, spoilt, record.removesuffix(end) + random.choice(('"', ",", ',"', "\r")))) + end
            )
        entries.append(Entry(b"", not is_spoilt, None if is_spoilt else line, at in said.copies))
        number = text.count("\n") + 1
        several = record.removesuffix(end).encode("utf-8", "surrogateescape").split(b"\n")
        contents = enumerate(several, start=number)
        lines += [PhysicalLine(each, part, not is_spoilt) for each, part in contents if is_no_blank(part)]
        text += record
    content = text.encode("utf-8", "surrogateescape")
    path = folder / f"{random.choice(_FOLDERS)}{random.choice(_BASES)}-{mark}.csv{random.choice(('', '.gz'))}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return of_entries("sends", path, entries, tuple(lines), is_json=False)


def parquet_file(random: Random, folder: Path, mark: str, said: Attempts, names: SiteNames) -> WrittenFile:
    """A Parquet file: its columns have their own types, and some are all text."""
    columns = [name for name in FIELDS if any(name in line for line, _ in said.lines)]
    types = {name: _arrow_type(name, names.units.get(name), is_text=name in names.texts) for name in columns}
    entries, records, rows = [], [], []
    for number, (line, is_spoilt) in enumerate(said.lines, start=1):
        values = dict(line) | ({name: hostile.value(random) for name in random.sample(columns, 2)} if is_spoilt else {})
        own = {name: _arrow_value(_in_unit(values.get(name), names.units.get(name)), types[name]) for name in columns}
        rows.append(SiteNames(names.columns).line(own))
        entries.append(Entry(b"", not is_spoilt, None if is_spoilt else line, number - 1 in said.copies))
        records.append(PhysicalLine(number, repr(own).encode("utf-8", "replace"), not is_spoilt))
    path = folder / f"{random.choice(_FOLDERS)}{random.choice(_BASES)}-{mark}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(
        pa.Table.from_pylist(rows, schema=pa.schema(_arrow_fields(SiteNames(names.columns).line(types)))),
        path,
        compression=random.choice(("snappy", "gzip", "none", "zstd")),
        row_group_size=random.choice((7, 1_000)),
        use_dictionary=random.choice((True, False)),
    )
    return of_entries("sends", path, entries, tuple(records), is_json=False)


def _arrow_type(name: str, unit: str | None, *, is_text: bool) -> pa.DataType:
    kind = FIELDS[name].typeName()
    if is_text or kind == "string" or unit == "iso8601":
        return pa.string()
    return pa.bool_() if kind == "boolean" else pa.float64() if unit == "s" else pa.int64()


def _arrow_value(value: Any, of: pa.DataType) -> Any:
    """The value as the column can hold it, else null."""
    if value is None:
        return None
    if of == pa.string():
        return _plain_text(value)
    if of == pa.bool_():
        return value if isinstance(value, bool) else None
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 2**63
    return (float(value) if of == pa.float64() else int(value)) if is_number else None


def _arrow_fields(types: Mapping[str, Any]) -> list[pa.Field]:
    """Fields of a tree of types."""
    return [
        pa.field(name, pa.struct(_arrow_fields(of)) if isinstance(of, Mapping) else of) for name, of in types.items()
    ]


def _plain_text(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text.encode("utf-8", "replace").decode()


def _csv_record(values: Sequence[str], end: str) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator=end).writerow(values)
    return text.getvalue()


def _csv_text(value: Any) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value)
    return text.encode("utf-8", "replace").decode()


def _any_order(random: Random, line: Mapping[str, Any]) -> dict[str, Any]:
    order = list(line)
    if random.random() < 0.3:
        random.shuffle(order)
    return {name: line[name] for name in order if line[name] is not None or random.random() < 0.5}


def _move(line: dict[str, Any], days: int) -> None:
    for name in _TIMES:
        if line.get(name) is not None:
            line[name] += days * recordings.DAY_MS


def clean_name(random: Random) -> str:
    """A name that is odd but allowed: no control character, not blank, and every format can hold it."""
    while True:
        name = hostile.name(random)
        bad = any(ord(char) < 32 or ord(char) == 127 or 0xD800 <= ord(char) < 0xE000 for char in name)
        if name.strip() == name and name and not bad and name != "\ufeff":
            return name


def _in_unit(value: Any, unit: str | None) -> Any:
    if unit is None or not isinstance(value, int) or isinstance(value, bool):
        return value
    if unit == "iso8601":
        if not hostile.FIRST_TIME_MS <= value <= hostile.LAST_TIME_MS:
            return str(value)
        at = dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(milliseconds=value)
        return at.isoformat(timespec="milliseconds")
    if unit == "s":
        return float(Decimal(value) / 1000) if abs(value) < 10**300 else value
    return value * _PER_MS[unit] if abs(value) < 2**63 // _PER_MS[unit] else value
