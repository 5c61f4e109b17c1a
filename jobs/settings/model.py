"""Settings: closed, typed, frozen. Files first, then `--set`, then options; later ones win key by key.

A relative path in a settings file is relative to that file's folder; on the command line, to the
working directory. Every mistake is named before Spark starts: an unknown key with the nearest known one,
a wrong type with what was found, a value that makes no sense with why.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import hashlib
import json
import re
import tomllib
import typing
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

from jobs.errors import SettingsError, SettingValueError
from jobs.settings.consumer_groups import ClientLogSettings, GroupSettings, check_version
from jobs.settings.paths import with_full_paths
from jobs.settings.toml_dataclass import typed
from jobs.settings.toml_files import not_too_deep, read_toml

SendsFormat = Literal["auto", "jsonl", "csv", "parquet"]
ChosenBy = Literal["CLIENT", "CALLER"]
Unit = Literal["ns", "us", "ms", "s", "iso8601"]

_LONGEST_MS = 100 * 365 * 86_400_000  # later than any log by so much, an instant still is one
_LONGEST_DAYS = 100 * 365
_LONGEST_LINE = 2**31 - 1  # bytes that Java holds in one piece
_FIRST, _LAST = dt.date(2015, 1, 1), dt.date(2099, 12, 31)  # what is outside is quarantined as `time_out_of_range`


@dataclass(frozen=True)
class FieldSource:
    """Where one canonical field of a send stands in a site's own log.

    `column` is the site's name, dotted when nested (`ctx.broker`); `unit` what its number counts.
    """

    SHORT: ClassVar[str] = "column"

    column: str
    unit: Unit | None = None


@dataclass(frozen=True)
class SendsInput:
    """`[inputs.sends]`: files of send attempts."""

    SHORT: ClassVar[str] = "path"

    path: tuple[str, ...] = ()
    format: SendsFormat = "auto"
    fields: dict[str, FieldSource] = field(default_factory=dict)


@dataclass(frozen=True)
class FilesInput:
    """`[inputs.routes]` and the like: files of one kind."""

    SHORT: ClassVar[str] = "path"

    path: tuple[str, ...] = ()


@dataclass(frozen=True)
class Inputs:
    """`[inputs]`: where each kind of input lies. A path is a file, a folder or a glob.

    Attributes:
        sends: send attempts.
        routes: topic routes over time; they also tell the name of a broker from its address.
        consumers: each broker's answers on who is in a consumer group.
        running_info: consumers' own answers on what they hold.
        client_logs: `rocketmq_client.log` of consumers.
    """

    sends: SendsInput = SendsInput()
    routes: FilesInput = FilesInput()
    consumers: FilesInput = FilesInput()
    running_info: FilesInput = FilesInput()
    client_logs: FilesInput = FilesInput()


@dataclass(frozen=True)
class ProducerSettings:
    """`[producers."NAME"]`: what the log of one producer group, or of one client id, does not say.

    The ladder always replaces the released one; the other keys fill what the log left null. Arrays of different
    lengths are what a client takes too: a finding says what comes of it.
    """

    client_version: str | None = None
    fault_latency_enabled: bool | None = None
    detector_enabled: bool | None = None
    queue_chosen_by: ChosenBy | None = None
    latency_max_ms: tuple[int, ...] | None = None
    not_available_ms: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        check_version(self.client_version)
        floors, isolations = self.latency_max_ms, self.not_available_ms
        if (floors is None) != (isolations is None):
            raise SettingValueError("a ladder needs both latency_max_ms and not_available_ms; give the missing one")
        for value in (*(floors or ()), *(isolations or ())):
            if not 0 <= value <= _LONGEST_MS:
                raise SettingValueError(
                    f"a ladder's floors and isolations are milliseconds of 0 or more; {value} is none, give at most"
                    f" {_LONGEST_MS} (100 years)"
                )


@dataclass(frozen=True)
class Retention:
    """`[retention]`: how many days stay in the lake.

    Attributes:
        sends_days: days of `sends` and `send_calls`; absent = all.
        versions_days: days after which `maintain` deletes the files of versions that are no longer the newest.
    """

    sends_days: int | None = None
    versions_days: int = 7

    def __post_init__(self) -> None:
        if not 7 <= self.versions_days <= _LONGEST_DAYS:
            raise SettingValueError(
                f"retention.versions_days is {self.versions_days}; readers may still be at a version"
                f" of the last 7 days: keep at least 7, at most {_LONGEST_DAYS}"
            )
        if self.sends_days is not None and not 1 <= self.sends_days <= _LONGEST_DAYS:
            raise SettingValueError(
                f"retention.sends_days is {self.sends_days}; keep at least 1 day, at most {_LONGEST_DAYS}"
            )


@dataclass(frozen=True)
class Settings:
    """All settings of a run. `origins` tells where each key that is not a default was set."""

    cluster: str = "main"
    lake: str = ""
    date: dt.date | None = None
    max_bad_fraction: float = 0.01
    max_line_bytes: int = 1_048_576
    infer: bool = True
    incident_share: float = 0.5
    slow_ms: int = 550
    max_staleness_ms: int = 300_000
    inputs: Inputs = Inputs()
    producers: dict[str, ProducerSettings] = field(default_factory=dict)
    groups: dict[str, GroupSettings] = field(default_factory=dict)
    client_logs: dict[str, ClientLogSettings] = field(default_factory=dict)
    retention: Retention = Retention()
    spark: dict[str, str] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict, compare=False, metadata={"hidden": True})

    def __post_init__(self) -> None:
        if not self.cluster:
            raise SettingValueError('cluster is empty; give the cluster\'s name, such as "main"')
        if any("\ud800" <= char <= "\udfff" for char in self.lake):  # how Python shows such bytes
            raise SettingValueError(f"lake is {self.lake}; Java and delta-rs open no path that is no UTF-8, rename it")
        if "`" in self.lake:
            raise SettingValueError(f"lake is {self.lake}; Delta opens no path with a backtick, give one without")
        if pattern := re.search(r"[][{}*?\\]", self.lake):
            raise SettingValueError(
                f"lake is {self.lake}; Spark takes {pattern[0]} in a path for a pattern: give a folder without any of"
                " [ ] { } * ? \\"
            )
        for name in ("max_bad_fraction", "incident_share"):
            value = getattr(self, name)
            if not 0 <= value <= 1:
                raise SettingValueError(f"{name} is {value}; it is a share between 0 and 1")
        most = {"max_line_bytes": _LONGEST_LINE, "max_staleness_ms": _LONGEST_MS, "slow_ms": _LONGEST_MS}
        for name, largest in most.items():
            if not 1 <= getattr(self, name) <= largest:
                raise SettingValueError(f"{name} is {getattr(self, name)}; give at least 1, at most {largest}")
        if self.date:
            check_date("date", self.date)

    def content_hash(self) -> str:
        """Hash of what the rows of a day can depend on, for the run log: not places, the date, retention and Spark."""
        values = dataclasses.asdict(self)
        for name in ("lake", "date", "retention", "spark", "origins"):
            values.pop(name)
        for each in values["inputs"].values():
            each.pop("path")
        return hashlib.sha256(json.dumps(values, sort_keys=True, default=str).encode()).hexdigest()[:16]


def check_date(name: str, date: dt.date) -> None:
    """Refuse a date that no line of a log can be of.

    Raises:
        SettingValueError: it is outside 2015 to 2099.
    """
    if not _FIRST <= date <= _LAST:
        raise SettingValueError(f"{name} is {date}; give a day from {_FIRST} to {_LAST}, as logs have")


def load_settings(files: Iterable[Path], assignments: Iterable[str], options: Mapping[str, Any]) -> Settings:
    """Settings from files (later win), then `--set key=value`, then command-line options.

    Args:
        files: TOML files.
        assignments: texts `key=value`; the value in TOML, or a bare word taken as a string.
        options: dotted key to value, such as `inputs.sends.path`.

    Raises:
        SettingsError: or one of its subclasses, naming the key, the value and the fix.
    """
    table: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for file in files:
        with not_too_deep(f"settings file {file}"):
            told = read_toml(file, "settings file", "--settings")
            _merge(table, _in_full(told, file.resolve().parent), str(file), origins)
    with not_too_deep("--set"):
        for assignment in assignments:
            _merge(table, _in_full(_parse_assignment(assignment), Path.cwd()), "--set", origins)
    for key, value in options.items():
        _merge(table, _in_full(_nested(key, value), Path.cwd()), "command line", origins)
    with not_too_deep("the settings"):
        return dataclasses.replace(typed(Settings, table), origins=origins)


def setting_name(at: str, key: str) -> str:
    """Full name of a setting: the table's name with a final dot, then the key; Spark's keys are full names already."""
    return key if at == "spark." else f"{at}{key}"


def _parse_assignment(assignment: str) -> dict[str, Any]:
    key, found, value = assignment.partition("=")
    if not found or not key.strip():
        raise SettingsError(f"--set {assignment!r} has no key=value form; write for example --set cluster=main")
    for text in (value, json.dumps(value.strip(), ensure_ascii=False)):
        try:
            return tomllib.loads(f"{key} = {text}")
        except ValueError:  # no TOML, or a number of thousands of digits
            continue
    raise SettingsError(f"--set {assignment!r} has no valid key; write for example --set inputs.sends.path=logs")


def _nested(key: str, value: object) -> dict[str, Any]:
    for part in reversed(key.split(".")):
        value = {part: value}
    return typing.cast("dict[str, Any]", value)


def _merge(into: dict[str, Any], table: Mapping[str, Any], origin: str, origins: dict[str, str], at: str = "") -> None:
    for key, value in table.items():
        name = setting_name(at, key)
        if isinstance(value, Mapping) and isinstance(into.get(key, {}), dict):
            _merge(into.setdefault(key, {}), value, origin, origins, f"{name}.")
        else:
            into[key] = value
            origins[name] = origin


def _in_full(table: dict[str, Any], base: Path) -> dict[str, Any]:
    """The table as if everything had been written out: `inputs.sends.path`, Spark's own names, absolute paths."""
    inputs = table.get("inputs")
    if isinstance(inputs, dict):
        for kind, value in inputs.items():
            inputs[kind] = {"path": value} if isinstance(value, str | list) else value
    if isinstance(table.get("spark"), dict):
        table["spark"] = _spark_names(table["spark"])
    return with_full_paths(table, base)


def _spark_names(table: Mapping[str, Any], at: str = "spark.") -> dict[str, Any]:
    """`[spark]` with Spark's own full names and texts, however TOML nested them.

    >>> _spark_names({"sql": {"shuffle": {"partitions": 8}}, "spark.eventLog.enabled": True})
    {'spark.sql.shuffle.partitions': '8', 'spark.eventLog.enabled': 'true'}
    """
    names: dict[str, Any] = {}
    for key, value in table.items():
        name = key if key.startswith("spark.") else f"{at}{key}".replace("spark.spark.", "spark.", 1)
        if isinstance(value, Mapping):
            names.update(_spark_names(value, f"{name}."))
        else:
            names[name] = json.dumps(value) if isinstance(value, int | float) else value
    return names
