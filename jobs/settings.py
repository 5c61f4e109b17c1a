"""Settings: closed, typed, frozen. Files first, then `--set`, then options; later ones win key by key.

A relative path in a settings file is relative to that file's folder; on the command line, to the
working directory. Every mistake is named before Spark starts: an unknown key with the nearest known one,
a wrong type with what was found, a value that makes no sense with why.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import difflib
import hashlib
import json
import tomllib
import types
import typing
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

from jobs.errors import SettingsError, SettingTypeError, SettingValueError, UnknownSettingError

SendsFormat = Literal["auto", "jsonl", "csv", "parquet"]
ChosenBy = Literal["CLIENT", "CALLER"]
Unit = Literal["ns", "us", "ms", "s", "iso8601"]

_PATH_KEYS = ("lake", "inputs.sends.path", "inputs.routes.path")


@dataclass(frozen=True)
class FieldSource:
    """Where one canonical field of a send stands in a site's own log.

    `column` is the site's name, dotted when nested (`ctx.broker`); `unit` what its number counts.
    """

    column: str
    unit: Unit | None = None


@dataclass(frozen=True)
class SendsInput:
    """`[inputs.sends]`: files of send attempts."""

    path: tuple[str, ...] = ()
    format: SendsFormat = "auto"
    fields: dict[str, FieldSource] = field(default_factory=dict)


@dataclass(frozen=True)
class RoutesInput:
    """`[inputs.routes]`: topic routes over time; they tell the name of a broker from its address."""

    path: tuple[str, ...] = ()


@dataclass(frozen=True)
class Inputs:
    """`[inputs]`: where each kind of input lies. A path is a file, a folder or a glob."""

    sends: SendsInput = SendsInput()
    routes: RoutesInput = RoutesInput()


@dataclass(frozen=True)
class ProducerSettings:
    """`[producers."NAME"]`: what the log of one producer group, or of one client id, does not say.

    The ladder always replaces the released one; the other keys fill what the log left null.
    """

    client_version: str | None = None
    fault_latency_enabled: bool | None = None
    detector_enabled: bool | None = None
    queue_chosen_by: ChosenBy | None = None
    latency_max_ms: tuple[int, ...] | None = None
    not_available_ms: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        floors, isolations = self.latency_max_ms, self.not_available_ms
        if (floors is None) != (isolations is None):
            raise SettingValueError("a ladder needs both latency_max_ms and not_available_ms; give the missing one")
        if floors is not None and isolations is not None and len(floors) != len(isolations):
            raise SettingValueError(
                f"ladder has {len(floors)} floors but {len(isolations)} isolations; give one isolation per floor"
            )
        if any(value < 0 for value in (*(floors or ()), *(isolations or ()))):
            raise SettingValueError("a ladder's floors and isolations are milliseconds of 0 or more")


@dataclass(frozen=True)
class Retention:
    """`[retention]`: how many days of a table stay in the lake; absent = all."""

    sends_days: int | None = None

    def __post_init__(self) -> None:
        if self.sends_days is not None and self.sends_days < 1:
            raise SettingValueError(f"retention.sends_days is {self.sends_days}; keep at least 1 day")


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
    inputs: Inputs = Inputs()
    producers: dict[str, ProducerSettings] = field(default_factory=dict)
    retention: Retention = Retention()
    spark: dict[str, str] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        if not self.cluster:
            raise SettingValueError("cluster is empty; give the cluster's name, such as \"main\"")
        for name in ("max_bad_fraction", "incident_share"):
            value = getattr(self, name)
            if not 0 <= value <= 1:
                raise SettingValueError(f"{name} is {value}; it is a share between 0 and 1")
        if self.max_line_bytes < 1:
            raise SettingValueError(f"max_line_bytes is {self.max_line_bytes}; give at least 1")

    def content_hash(self) -> str:
        """Hash of every value, for the run log: equal hashes mean equal settings."""
        values = dataclasses.asdict(self)
        values.pop("origins")
        return hashlib.sha256(json.dumps(values, sort_keys=True, default=str).encode()).hexdigest()[:16]


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
        _merge(table, _absolute_paths(_read_toml(file), file.resolve().parent), str(file), origins)
    for assignment in assignments:
        _merge(table, _absolute_paths(_parse_assignment(assignment), Path.cwd()), "--set", origins)
    for key, value in options.items():
        _merge(table, _absolute_paths(_nested(key, value), Path.cwd()), "command line", origins)
    if "origins" in table:
        raise UnknownSettingError("unknown setting 'origins'; remove it")
    return dataclasses.replace(_typed(Settings, table, ""), origins=origins)


def _read_toml(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SettingsError(f"settings file {file} does not exist; give an existing one with --settings") from None
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"settings file {file} cannot be read: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"settings file {file} is not valid TOML: {error}") from error


def _parse_assignment(assignment: str) -> dict[str, Any]:
    key, found, value = assignment.partition("=")
    if not found or not key.strip():
        raise SettingsError(f"--set {assignment!r} has no key=value form; write for example --set cluster=main")
    for text in (value, json.dumps(value.strip())):
        try:
            return tomllib.loads(f"{key} = {text}")
        except tomllib.TOMLDecodeError:
            continue
    raise SettingsError(f"--set {assignment!r} has no valid key; write for example --set inputs.sends.path=logs")


def _nested(key: str, value: object) -> dict[str, Any]:
    for part in reversed(key.split(".")):
        value = {part: value}
    return typing.cast("dict[str, Any]", value)


def _merge(into: dict[str, Any], table: Mapping[str, Any], origin: str, origins: dict[str, str], at: str = "") -> None:
    for key, value in table.items():
        name = f"{at}{key}"
        if isinstance(value, Mapping) and isinstance(into.get(key, {}), dict):
            _merge(into.setdefault(key, {}), value, origin, origins, f"{name}.")
        else:
            into[key] = value
            origins[name] = origin


def _absolute_paths(table: dict[str, Any], base: Path) -> dict[str, Any]:
    """The table with its relative paths joined to `base`; URIs and absolute paths stay."""
    for dotted in _PATH_KEYS:
        *parents, last = dotted.split(".")
        holder: Any = table
        for parent in parents:
            holder = holder.get(parent, {}) if isinstance(holder, dict) else {}
        if not isinstance(holder, dict) or last not in holder:
            continue
        value = holder[last]
        if isinstance(value, str):
            holder[last] = _absolute(value, base)
        elif isinstance(value, list | tuple):
            holder[last] = [_absolute(each, base) if isinstance(each, str) else each for each in value]
    return table


def _absolute(path: str, base: Path) -> str:
    if not path or "://" in path or path.startswith(("file:", "/")):
        return path
    return str((base / path).absolute()) if ".." not in path else str((base / path).resolve())


T = TypeVar("T")


def _typed(kind: type[T], table: object, at: str) -> T:
    """An instance of the dataclass `kind` from a TOML table; closed and strictly typed."""
    if not isinstance(table, Mapping):
        raise SettingTypeError(f"setting {at.rstrip('.')!r} is {_describe(table)}; it must be a table")
    hints = typing.get_type_hints(kind)
    for key in table:
        if key not in hints:
            raise UnknownSettingError(_unknown(f"{at}{key}", key, list(hints)))
    values = {key: _value(hints[key], value, f"{at}{key}") for key, value in table.items()}
    try:
        return kind(**values)
    except SettingValueError as error:
        where = f"[{at.rstrip('.')}] " if at else ""
        raise SettingValueError(f"{where}{error}") from None
    except TypeError:
        missing = [f.name for f in dataclasses.fields(kind) if f.name not in values  # type: ignore[arg-type]
                   and f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING]
        raise SettingTypeError(f"[{at.rstrip('.')}] lacks {', '.join(missing)}; add it") from None


def _value(hint: Any, value: Any, name: str) -> Any:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return _value(next(each for each in arguments if each is not type(None)), value, name)
    if origin is Literal:
        if value not in arguments:
            raise SettingValueError(f"setting {name!r} is {value!r}; it must be one of {', '.join(arguments)}")
        return value
    if origin is tuple:
        items = value if isinstance(value, list | tuple) else [value]
        return tuple(_value(arguments[0], item, name) for item in items)
    if origin is dict:
        if not isinstance(value, Mapping):
            raise SettingTypeError(f"setting {name!r} is {_describe(value)}; it must be a table")
        return {key: _value(arguments[1], item, f"{name}.{key}") for key, item in _flat(arguments[1], value).items()}
    if dataclasses.is_dataclass(hint):
        if hint is FieldSource and isinstance(value, str):
            return FieldSource(value)
        if hint is SendsInput and not isinstance(value, Mapping):
            value = {"path": value}
        return _typed(typing.cast("type[Any]", hint), value, f"{name}.")
    if hint is dt.date:
        return _date(value, name)
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, hint) or (isinstance(value, bool) and hint is not bool):
        raise SettingTypeError(f"setting {name!r} is {_describe(value)}; it must be {_kind_name(hint)}")
    return value


def _flat(kind: Any, table: Mapping[str, Any], at: str = "") -> dict[str, Any]:
    """`spark.sql.x = "1"` in TOML nests; a table of plain strings is read back as dotted names."""
    if kind is not str:
        return dict(table)
    flat: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, Mapping):
            flat.update(_flat(kind, value, f"{at}{key}."))
        else:
            flat[f"{at}{key}"] = value
    return flat


def _date(value: object, name: str) -> dt.date:
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        return value
    try:
        return dt.date.fromisoformat(str(value))
    except ValueError:
        raise SettingTypeError(f"setting {name!r} is {value!r}; it must be a day such as 2026-11-21") from None


def _unknown(name: str, key: str, known: list[str]) -> str:
    known = [each for each in known if each != "origins"]
    near = difflib.get_close_matches(key, known, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"known here: {', '.join(sorted(known))}"
    return f"unknown setting {name!r}; {hint}"


def _describe(value: object) -> str:
    return f"{value!r} ({type(value).__name__})"


def _kind_name(kind: type) -> str:
    return {str: "a text in quotes", int: "a whole number", float: "a number", bool: "true or false"}[kind]
