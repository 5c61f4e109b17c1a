"""The canonical fields in the heads of a send log: where each comes from, and what cannot be used."""

from __future__ import annotations

import datetime as dt
import difflib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from jobs.check.heads import Head, Number, Record
from jobs.settings.inputs import SendsInput
from jobs.settings.send_fields import FIELD_KINDS, REQUIRED, TIMES, Unit, problem_of, problem_of_time

_MOST_EXAMPLES = 3
_IN_MS: Mapping[str | None, float] = {"ns": 1e-6, "us": 1e-3, "ms": 1, None: 1, "s": 1e3}


@dataclass
class FieldFound:
    """One canonical field in the heads.

    Attributes:
        name: the field.
        source: its column, or the constant for every line; empty when the log has neither.
        rows: lines read.
        missing: lines without a value.
        examples: a few different values, translated.
        problems: text and what is wrong with it, with its lines.
    """

    name: str
    source: str
    rows: int = 0
    missing: int = 0
    examples: dict[str, None] = field(default_factory=dict)
    problems: Counter[tuple[str, str]] = field(default_factory=Counter)

    @property
    def unusable(self) -> int:
        """Lines whose value cannot be used."""
        return self.problems.total()


@dataclass(frozen=True)
class Found:
    """What the heads hold.

    Attributes:
        fields: each canonical field that the log or the settings have, in order.
        lacking: alternatives of which each line needs one, and the log has none.
        lines_lacking: the same for lines: number of lines without any of them.
        missing_columns: canonical field to its column in the settings that no head has, and the nearest column.
        unmapped: columns that no field uses.
        days, versions, producers: with their lines.
    """

    fields: tuple[FieldFound, ...]
    lacking: tuple[tuple[str, ...], ...]
    lines_lacking: Mapping[tuple[str, ...], int]
    missing_columns: Mapping[str, tuple[str, str]]
    unmapped: tuple[str, ...]
    days: Mapping[str, int]
    versions: Mapping[str, int]
    producers: Mapping[str, int]


def find_fields(heads: Sequence[Head], sends_input: SendsInput) -> Found:
    """Every canonical field in the heads."""
    columns = dict.fromkeys(column for head in heads for column in head.columns)
    inner = {column for head in heads for record in head.records for column in record}  # objects too
    fields = {name: FieldFound(name, _source(name, sends_input, {*columns, *inner})) for name in FIELD_KINDS}
    lines_lacking: Counter[tuple[str, ...]] = Counter()
    days: Counter[str] = Counter()
    versions: Counter[str] = Counter()
    producers: Counter[str] = Counter()
    for head in heads:
        for record in head.records:
            values = {name: _look(found, record, head, sends_input) for name, found in fields.items() if found.source}
            lines_lacking.update(names for names in REQUIRED if all(values.get(name) is None for name in names))
            days.update(_day(values, sends_input))
            versions.update([values.get("client_version") or "none"])
            producers.update(
                [f"{values.get('producer_group') or ''} {values.get('client_id') or ''}".strip() or "none"]
            )
    named = {sends_input.source_of(name).column for name, found in fields.items() if found.source}
    return Found(
        tuple(found for found in fields.values() if found.source),
        tuple(names for names in REQUIRED if not any(fields[name].source for name in names)),
        {names: count for names, count in lines_lacking.items() if any(fields[name].source for name in names)},
        missing_columns(heads, sends_input),
        tuple(column for column in columns if column not in named),
        dict(sorted(days.items())),
        dict(versions.most_common()),
        dict(producers.most_common()),
    )


def missing_columns(heads: Sequence[Head], sends_input: SendsInput) -> dict[str, tuple[str, str]]:
    """Canonical field to its column in the settings that no head has, and the nearest column."""
    columns = dict.fromkeys(column for head in heads for column in head.columns)
    inner = {column for head in heads for record in head.records for column in record}
    return {
        name: (source.column, nearest(source.column, columns))
        for name, source in sends_input.fields.items()
        if source.column and source.column not in columns and source.column not in inner
    }


def is_needed(name: str, absent: Collection[str], sends_input: SendsInput) -> bool:
    """Whether a line without the field is quarantined, with no other source in the settings.

    Args:
        name: canonical field, whose column is absent.
        absent: all fields whose column is.
        sends_input: the settings.
    """
    others = [each for names in REQUIRED if name in names for each in names if each != name]
    is_one_of = any(name in names for names in REQUIRED)
    return is_one_of and not any(each in sends_input.fields and each not in absent for each in others)


def nearest(name: str, columns: Collection[str]) -> str:
    """The nearest column, ignoring letter case and separators; empty when none is near.

    >>> nearest("costUs", ["at", "cost_us"]), nearest("x", ["at"])
    ('cost_us', '')
    """
    bare = {plain(each): each for each in columns}
    near = difflib.get_close_matches(plain(name), bare, n=1)
    return bare[near[0]] if near else ""


def plain(name: str) -> str:
    """Letters and digits of the name, in lower case."""
    return "".join(letter for letter in name.lower() if letter.isalnum())


def _source(name: str, sends_input: SendsInput, columns: Collection[str]) -> str:
    source = sends_input.source_of(name)
    if source.constant is not None:
        return f"= {source.constant}"
    return source.column if source.column in columns else ""


def _look(found: FieldFound, record: Record, head: Head, sends_input: SendsInput) -> str | None:
    """Count one line's value; returns its translated text, empty when it cannot be used, None when there is none."""
    source = sends_input.source_of(found.name)
    given = source.constant if source.constant is not None else record.get(source.column)
    ours = sends_input.translations(found.name)
    text = ours.get(given or "", given or "") if source.constant is None else given
    found.rows += 1
    if not text:
        found.missing += 1
        return None
    problem = _problem(found.name, text, given, head, sends_input)
    if problem:
        found.problems[text[:80], problem] += 1
        return ""
    if len(found.examples) < _MOST_EXAMPLES:
        found.examples[text[:40]] = None
    return text


def _problem(name: str, text: str, given: str | None, head: Head, sends_input: SendsInput) -> str | None:
    unit = sends_input.source_of(name).unit
    is_number = FIELD_KINDS[name] in ("int", "long") and unit != "iso8601"
    if head.is_typed and is_number and name not in sends_input.values and not isinstance(given, Number):
        return "is a quoted text; write the number, or translate it with a table of values"
    if problem := problem_of(name, text, unit):
        return problem
    if name in TIMES and (problem := problem_of_time(name, in_ms(text, unit))):
        return f"{problem}; check its unit"
    return None


def in_ms(text: str, unit: Unit | None) -> float | None:
    """A time or duration in milliseconds; None when it is invalid.

    >>> in_ms("1795220811.006", "s"), in_ms("2026-11-21T00:26:51.006Z", "iso8601"), in_ms("soon", "iso8601")
    (1795220811006.0, 1795220811006.0, None)
    """
    try:
        if unit != "iso8601":
            return float(text) * _IN_MS[unit]
        time = dt.datetime.fromisoformat(text)
    except ValueError:
        return None
    return (time if time.tzinfo else time.replace(tzinfo=dt.UTC)).timestamp() * 1000


def _day(values: Mapping[str, str | None], sends_input: SendsInput) -> list[str]:
    for name in ("ended_at_ms", "started_at_ms"):
        if text := values.get(name):
            value = in_ms(text, sends_input.source_of(name).unit)
            if value is not None:
                return [dt.datetime.fromtimestamp(value / 1000, dt.UTC).date().isoformat()]
    return []
