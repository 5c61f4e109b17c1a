"""The canonical fields in the heads of a send log: their sources, and values that cannot be used."""

from __future__ import annotations

import datetime as dt
import difflib
import math
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from jobs.check.heads import Head, Number, Record
from jobs.settings.inputs import SEND_TIMEOUT_MS, SendsInput
from jobs.settings.send_fields import BROKER, FIELD_KINDS, REQUIRED, TIMES, problem_of, problem_of_time
from jobs.sources.doubtful_times import times_without_zone
from udfs.plain_attempt_times import plain_times_contradict
from udfs.plain_outcome import is_plain_failure
from udfs.plain_written_time import lacks_zone, plain_written_ms

_MOST_EXAMPLES = 3
_WITH_BROKER, _WITHOUT_BROKER = "with a broker", "without a broker"
_ATTEMPTS, _CALLS = "attempts", "calls without an attempt"
_NEEDED = {name for names in REQUIRED for name in names if FIELD_KINDS[name] == "text"}
_QUOTED = "is a quoted text; write the number, or translate it with a table of values"
_IN_MS = {"ns": Decimal("1e-6"), "us": Decimal("1e-3"), "ms": Decimal(1), None: Decimal(1), "s": Decimal(1000)}


@dataclass
class FieldFound:
    """One canonical field in the heads.

    Attributes:
        name: the field.
        source: its column, or the constant for every line; empty when the log has neither.
        rows: lines read.
        missing: lines without a value.
        examples: a few different values, translated.
        problems: what is wrong, to the texts and their lines.
        without_zone: lines whose time has no zone and whose zone no setting gives.
        last_ms: the latest time, epoch ms.
    """

    name: str
    source: str
    rows: int
    missing: int = 0
    examples: dict[str, None] = field(default_factory=dict)
    problems: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    without_zone: int = 0
    last_ms: int = 0

    @property
    def unusable(self) -> int:
        """Lines whose value cannot be used."""
        return sum(texts.total() for texts in self.problems.values())


@dataclass
class Found:
    """What the heads contain; all counts are of lines.

    Attributes:
        fields: each canonical field that the log or the settings have, in order.
        lacking: alternatives of which each line needs one and the log has none.
        missing_columns: canonical field whose column in the settings no head has, to a sentence on it, and whether each
            line is quarantined for it.
        unmapped: columns that no field uses.
        lists: columns that hold arrays of objects.
        lines_lacking: alternatives that the log has and a line has none of.
        days, versions, producers: of the lines.
        failures: outcomes of failures, with or without a broker.
        publishable: what a run publishes: attempts, if their addresses are known, and sends that failed without a
            broker, as calls without an attempt.
        long_calls: lines of the default send time-out or more that are seldom one attempt: failures without a broker,
            and answers, but not of async sends, whose time-outs come late.
        by_address: lines with a broker's address and no name; routes must give the name.
        contradicting: lines whose start, end and latency contradict each other.
    """

    fields: tuple[FieldFound, ...]
    lacking: tuple[tuple[str, ...], ...]
    missing_columns: Mapping[str, tuple[str, bool]]
    unmapped: tuple[str, ...]
    lists: tuple[str, ...]
    lines_lacking: Counter[tuple[str, ...]] = field(default_factory=Counter)
    days: Counter[str] = field(default_factory=Counter)
    versions: Counter[str] = field(default_factory=Counter)
    producers: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    publishable: Counter[str] = field(default_factory=lambda: Counter({_ATTEMPTS: 0, _CALLS: 0}))
    long_calls: int = 0
    by_address: int = 0
    contradicting: int = 0

    @property
    def looks_like_calls(self) -> bool:
        """Whether lines look like calls of `send()`: an attempt that times out has a broker."""
        return self.long_calls > 0 and not any(failure.endswith(_WITH_BROKER) for failure in self.failures)


def find_fields(heads: Sequence[Head], sends_input: SendsInput) -> Found:
    """Every canonical field in the heads."""
    columns = dict.fromkeys(column for head in heads for column in head.columns)
    inner = {column for head in heads for record in head.records for column in record}  # objects too
    rows = sum(len(head.records) for head in heads)
    fields = {name: FieldFound(name, _source(name, sends_input, {*columns, *inner}), rows) for name in FIELD_KINDS}
    absent = [name for name, source in sends_input.fields.items() if source.column and not fields[name].source]
    named = {_bare(sends_input.source_of(name).column) for name, of_name in fields.items() if of_name.source}
    texts = [record for head in heads if head.is_typed for record in head.records]
    found = Found(
        tuple(of_name for of_name in fields.values() if of_name.source),
        tuple(names for names in REQUIRED if not any(fields[name].source for name in names)),
        {name: (_no_column(name, columns, sends_input), _is_needed(name, absent, sends_input)) for name in absent},
        tuple(column for column in columns if _bare(column) not in named),
        tuple(column for column in columns if any(_holds_objects(record.get(column)) for record in texts)),
    )
    for head in heads:
        for record in head.records:
            _count(found, record, head, sends_input)
    return found


def _count(found: Found, record: Record, head: Head, sends_input: SendsInput) -> None:
    """Count one line."""
    values = {of_name.name: _look(of_name, record, head, sends_input) for of_name in found.fields}
    times = {name: in_ms(name, text, sends_input) for name in TIMES if (text := values.get(name))}
    lacking = [names for names in REQUIRED if all(values.get(name) is None for name in names)]
    outcome, is_nowhere = values.get("outcome") or "", BROKER in lacking
    is_failure, is_at_odds = is_plain_failure(outcome), _is_at_odds(times)
    if is_failure:
        found.failures[f"{outcome} {_WITHOUT_BROKER if is_nowhere else _WITH_BROKER}"] += 1
    if is_failure and is_nowhere:
        lacking.remove(BROKER)
    if not lacking and "" not in values.values() and not is_at_odds:
        found.publishable[_CALLS if is_nowhere else _ATTEMPTS] += 1
        may_be_long = is_nowhere if is_failure else values.get("mode") != "ASYNC"
        found.long_calls += may_be_long and (times.get("latency_ms") or 0) >= SEND_TIMEOUT_MS
    found.by_address += not values.get("broker_name") and bool(values.get("broker_addr"))
    found.contradicting += is_at_odds
    found.lines_lacking.update(names for names in lacking if names not in found.lacking)
    ends_ms = [at for name in ("ended_at_ms", "started_at_ms") if (at := times.get(name)) is not None]
    found.days.update(f"{dt.datetime.fromtimestamp(at / 1000, dt.UTC):%Y-%m-%d}" for at in ends_ms[:1])
    found.versions[values.get("client_version") or "none"] += 1
    producer = f"{values.get('producer_group') or ''} {values.get('client_id') or ''}".strip()
    found.producers[producer or "none"] += 1


def _no_column(name: str, columns: Collection[str], sends_input: SendsInput) -> str:
    """That no head has the field's column, with the nearest one, ignoring letter case and separators."""
    column, by_letters = sends_input.source_of(name).column, {plain(column): column for column in columns}
    near = difflib.get_close_matches(plain(column), by_letters, n=1)
    has = f"; the header has {by_letters[near[0]]}" if near else ""
    return f"no column {column}{has} (inputs.sends.fields.{name})"


def _is_needed(name: str, absent: Collection[str], sends_input: SendsInput) -> bool:
    """Whether a line without the field is quarantined because the settings have no alternative to it.

    Args:
        name: canonical field, whose column is absent.
        absent: all fields whose column is absent.
        sends_input: the settings.
    """
    others = [other for names in REQUIRED if name in names for other in names if other != name]
    is_one_of = any(name in names for names in REQUIRED)
    return is_one_of and not any(other in sends_input.fields and other not in absent for other in others)


def plain(name: str) -> str:
    """Letters and digits of the name, in lower case."""
    return "".join(letter for letter in name.lower() if letter.isalnum())


def _bare(column: str) -> str:
    return column.replace("`", "")


def _holds_objects(text: str | None) -> bool:
    """Whether the text is an array of JSON with an object in it."""
    return bool(text) and str(text).startswith("[") and "{" in str(text)


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
    text = ours.get(given or "", given or "")
    is_text = head.is_typed and given is not None and not isinstance(given, Number)
    is_quoted = is_text and _is_number(found.name, sends_input)
    if not text.strip(" " if found.name in _NEEDED else "") and not is_quoted:
        found.missing += 1
        return None
    problem = _QUOTED if is_quoted else _problem(found.name, text, sends_input)
    if problem:
        found.problems[problem][text[:80]] += 1
        return ""
    if found.name in TIMES and found.name != "latency_ms":
        found.last_ms = max(found.last_ms, in_ms(found.name, text, sends_input) or 0)
        found.without_zone += found.name in times_without_zone(sends_input) and lacks_zone(text)
    if len(found.examples) < _MOST_EXAMPLES:
        found.examples[text[:40]] = None
    return text


def _problem(name: str, text: str, sends_input: SendsInput) -> str | None:
    if problem := problem_of(name, text, sends_input.source_of(name).unit):
        return problem
    if name in TIMES and (problem := problem_of_time(name, in_ms(name, text, sends_input))):
        return f"{problem}; check its unit"
    return None


def _is_number(name: str, sends_input: SendsInput) -> bool:
    """Whether JSON must have a number for the field; seconds are read as a decimal, which may be quoted."""
    is_one = FIELD_KINDS[name] in ("int", "long") and sends_input.source_of(name).unit not in {"iso8601", "s"}
    return is_one and name not in sends_input.values and sends_input.source_of(name).constant is None


def _is_at_odds(times: Mapping[str, int | None]) -> bool:
    ended, took = times.get("ended_at_ms"), times.get("latency_ms")
    if ended is None or took is None:
        return False
    return plain_times_contradict(times.get("started_at_ms"), times.get("submitted_at_ms"), ended, took)


def in_ms(name: str, text: str, sends_input: SendsInput) -> int | None:
    """A time or duration in whole milliseconds, truncated as a run does; None if the text is neither.

    >>> from jobs.settings.inputs import FieldSource
    >>> sends = SendsInput(fields={"latency_ms": FieldSource("took", "s"), "ended_at_ms": FieldSource("at", "iso8601")})
    >>> in_ms("latency_ms", "1.0069", sends), in_ms("ended_at_ms", "2026-11-21T00:26:51.006Z", sends)
    (1006, 1795220811006)
    """
    unit = sends_input.source_of(name).unit
    if unit == "iso8601":
        return plain_written_ms(text, sends_input.time_zone_of(name))
    try:
        return math.floor(Decimal(text) * _IN_MS[unit])
    except (ArithmeticError, ValueError):
        return None
