"""Settings of inputs: their paths, and the mapping from a site's own send log to ours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, Literal

from jobs.errors import SettingsError, SettingValueError
from jobs.settings.column_path import column_name, parts_of
from jobs.settings.line_pattern import LinePattern, line_pattern
from jobs.settings.near_names import near_names
from jobs.settings.send_fields import FIELD_KINDS, REQUIRED, TIMES, Unit, problem_of, problem_of_time
from jobs.settings.time_zone import check_time_zone

OneLinePer = Literal["attempt", "call"]
SEND_TIMEOUT_MS = 3_000
"""`DefaultMQProducer.sendMsgTimeout` where an application sets none, in every release."""

Scalar = str | int | float | bool


@dataclass(frozen=True)
class FieldSource:
    """Source of one canonical field of a send: a column of a site's own log, or one value for every line.

    `column` is the site's name, dotted when nested (`ctx.broker`); a part with dots of its own stands in backticks
    (`` attributes.`messaging.destination.name` ``). `unit` is what its number counts, `time_zone` that of times as text
    without one; `value` stands for every line instead.
    """

    SHORT: ClassVar[str] = "column"

    column: str = ""
    unit: Unit | None = None
    value: Scalar | None = None
    time_zone: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "column", column_name(parts_of(self.column)))
        check_time_zone(self.time_zone)
        if self.time_zone is not None and self.unit != "iso8601":
            raise SettingValueError('time_zone is of times as text; give it beside unit = "iso8601"')
        if self.value is not None and (self.column or self.unit):
            raise SettingValueError("a value applies to every line; leave out column and unit, or the value")
        if self.value is None and not self.column:
            raise SettingValueError("has neither column nor value; add one of them")

    @property
    def constant(self) -> str | None:
        """The value of every line as text; None when lines have their own."""
        return None if self.value is None else text_of(self.value)


@dataclass(frozen=True)
class SendsInput:
    """`[inputs.sends]`: files of send attempts.

    Attributes:
        pattern: for lines of text, whose named groups act as columns; files of a known other format keep it.
        fields: canonical field to where the site's log has it; absent = under its own name.
        values: canonical field to the site's text to ours; other texts stay as they are.
        time_zone: of times as text that have none and whose field says none.
        one_line_per: what a line is that does not say it: an attempt, or a whole call of `send()`.
    """

    path: tuple[str, ...] = ()
    format: Literal["auto", "jsonl", "csv", "parquet", "text"] = "auto"
    pattern: str | None = None
    fields: dict[str, FieldSource] = field(default_factory=dict)
    values: dict[str, dict[str, Scalar]] = field(default_factory=dict)
    time_zone: str | None = None
    one_line_per: OneLinePer = "attempt"

    def __post_init__(self) -> None:
        check_time_zone(self.time_zone)
        for name, source in self.fields.items():
            _check_field(name, source)
        for any_of in REQUIRED:
            constants = [self.source_of(name).constant for name in any_of]
            if all(constant is not None and not constant.strip() for constant in constants):
                be, of = ("is", "it") if len(any_of) == 1 else ("are", "one of them")
                raise SettingValueError(
                    f"fields.{' and '.join(any_of)} {be} empty for every line; each line needs {of}, give a column or"
                    " another value"
                )
        for name, texts in self.values.items():
            _check_values(name, texts, self.source_of(name))
        if self.format == "text" and self.pattern is None:
            raise SettingValueError(
                'format is "text"; give a pattern too, such as "(?<outcome>[A-Z]+) (?<latency_ms>[0-9]+)"'
            )
        if self.pattern is not None:
            self._check_pattern()

    @cached_property
    def line_pattern(self) -> LinePattern | None:
        """The pattern of a line of text; None where lines are JSON."""
        return None if self.pattern is None else line_pattern(self.pattern)

    def source_of(self, name: str) -> FieldSource:
        """Source of the canonical field in the site's log."""
        return self.fields.get(name, FieldSource(name))

    def time_zone_of(self, name: str) -> str | None:
        """Zone of the field's times that have none; None = nobody says."""
        return self.source_of(name).time_zone or self.time_zone

    def translations(self, name: str) -> dict[str, str]:
        """The site's texts for the field, each with ours; an empty text stands for null."""
        return {theirs: text_of(ours) for theirs, ours in self.values.get(name, {}).items()}

    def _check_pattern(self) -> None:
        if self.format not in ("auto", "text"):
            raise SettingValueError(f'a pattern is for text, but the format is "{self.format}"; leave out one of them')
        try:
            names = line_pattern(self.pattern or "").names
        except ValueError as problem:
            raise SettingValueError(f"pattern {problem}") from None
        columns = {self.source_of(name).column: name for name in FIELD_KINDS}
        if column := next(
            (source.column for source in self.fields.values() if source.column and source.column not in names), ""
        ):
            raise SettingValueError(f"pattern has no group {column!r}, which fields use; {near_names(column, names)}")
        if group := next((name for name in names if name not in columns), None):
            raise SettingValueError(
                f"pattern has a group {group!r} that is not a field; map it in fields, or write (?:…);"
                f" {near_names(group, FIELD_KINDS)}"
            )
        fields = {columns[name] for name in names} | {name for name, source in self.fields.items() if source.constant}
        for any_of in REQUIRED:
            if not fields & set(any_of):
                raise SettingValueError(
                    f"pattern has no group for {' or '.join(any_of)}, which each line needs; add it, or give one value"
                    f' for all lines: fields.{any_of[0]} = {{ value = "…" }}'
                )


def text_of(value: Scalar) -> str:
    """The value as a log would have it.

    >>> text_of(True), text_of(3), text_of("SYNC")
    ('true', '3', 'SYNC')
    """
    return str(value).lower() if isinstance(value, bool) else str(value)


def _check_field(name: str, source: FieldSource) -> None:
    at = f"inputs.sends.fields.{name}"
    if name not in FIELD_KINDS:
        raise SettingsError(f"unknown setting {at!r}; {near_names(name, FIELD_KINDS)}")
    if source.unit not in (None, "ms") and name not in TIMES:
        raise SettingValueError(f"{at} has a unit, but only {', '.join(TIMES)} have one")
    if source.unit == "iso8601" and name == "latency_ms":
        raise SettingValueError(f"{at} is a duration; its unit is ns, us, ms or s")
    if constant := source.constant:
        problem = problem_of(name, constant)
        if problem is None and name in TIMES:
            problem = problem_of_time(name, int(constant))
        if problem:
            raise SettingValueError(f"{at} is {constant!r}, which {problem}")


def _check_values(name: str, texts: Mapping[str, Scalar], source: FieldSource) -> None:
    at = f"inputs.sends.values.{name}"
    if name not in FIELD_KINDS:
        raise SettingsError(f"unknown setting {at!r}; {near_names(name, FIELD_KINDS)}")
    if source.value is not None:
        raise SettingValueError(
            f"{at} has nothing to translate: inputs.sends.fields.{name} is one value for every line"
        )
    for theirs, ours in texts.items():
        text = text_of(ours)
        if text and (problem := problem_of(name, text, source.unit)):
            raise SettingValueError(f"{at}.{theirs} is {text!r}, which {problem}")


@dataclass(frozen=True)
class FilesInput:
    """`[inputs.routes]` and the like: files of one kind."""

    path: tuple[str, ...] = ()


@dataclass(frozen=True)
class Inputs:
    """`[inputs]`: where each kind of input lies. A path is a file, a folder or a glob.

    Attributes:
        sends: send attempts.
        fault_item_updates: decisions of producers' clients, written by the recorder.
        routes: topic routes over time; they also give the name of a broker address.
        consumers: each broker's answers about the members of consumer groups.
        running_info: consumers' own answers about what they hold.
        client_logs: `rocketmq_client.log` of consumers.
    """

    sends: SendsInput = SendsInput()
    fault_item_updates: FilesInput = FilesInput()
    routes: FilesInput = FilesInput()
    consumers: FilesInput = FilesInput()
    running_info: FilesInput = FilesInput()
    client_logs: FilesInput = FilesInput()
