"""Loads settings from files, then `--set`, then options; later ones win key by key."""

from __future__ import annotations

import dataclasses
import json
import tomllib
import typing
from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from jobs.errors import SettingsError
from jobs.settings.inputs import FieldSource
from jobs.settings.model import Settings
from jobs.settings.paths import from_home, make_paths_absolute
from jobs.settings.toml_dataclass import typed
from jobs.settings.toml_files import read_toml


def load_settings(files: Iterable[Path], assignments: Iterable[str], options: Mapping[str, Any]) -> Settings:
    """Settings from files (later win), then `--set key=value`, then command-line options.

    Args:
        files: TOML files.
        assignments: texts `key=value`; the value in TOML, or a bare word as a string.
        options: dotted key to value, such as `inputs.sends.path`.

    Raises:
        SettingsError: or a subclass; with key, value and fix.
    """
    table, origins = _merged(
        chain(
            ((str(file), read_toml(file), file.resolve().parent) for file in files),
            (("--set", _parse_assignment(assignment), Path.cwd()) for assignment in assignments),
            (("command line", _nested(key, value), Path.cwd()) for key, value in options.items()),
        )
    )
    return dataclasses.replace(typed(Settings, table), origins=origins)


def settings_of(assignments: Iterable[str]) -> set[str]:
    """Full names of the settings in `key=value` assignments.

    Raises:
        SettingsError: an assignment has another form.

    >>> sorted(settings_of(["lake=/lake", "inputs={sends='/logs'}"]))
    ['inputs.sends.path', 'lake']
    """
    return set(_merged(("--set", _parse_assignment(assignment), Path.cwd()) for assignment in assignments)[1])


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
        except ValueError:  # not TOML, or a number with thousands of digits
            continue
    raise SettingsError(f"--set {assignment!r} has no valid key; write for example --set inputs.sends.path=logs")


def _nested(key: str, value: object) -> dict[str, Any]:
    for part in reversed(key.split(".")):
        value = {part: value}
    return typing.cast("dict[str, Any]", value)


def _merged(tables: Iterable[tuple[str, dict[str, Any], Path]]) -> tuple[dict[str, Any], dict[str, str]]:
    """The tables merged, later ones win, and where each setting was set.

    Args:
        tables: each with its origin before it, and after it the folder that its relative paths start from.
    """
    merged: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for origin, table, base in tables:
        _merge(merged, _in_full(table, base), origin, origins)
    return merged, origins


def _merge(into: dict[str, Any], table: Mapping[str, Any], origin: str, origins: dict[str, str], at: str = "") -> None:
    """Merge a table into another: a bare value replaces a whole table; a unit alone is added to a column."""
    for key, value in table.items():
        name = setting_name(at, key)
        is_unit_alone = isinstance(value, Mapping) and value.keys() == {"unit"}
        if at == "inputs.sends.fields." and is_unit_alone and isinstance(column := into.get(key), str):
            into[key] = {FieldSource.SHORT: column}
            origins[f"{name}.{FieldSource.SHORT}"] = origins.pop(name, origin)
        if isinstance(value, Mapping) and isinstance(into.get(key, {}), dict):
            _merge(into.setdefault(key, {}), value, origin, origins, f"{name}.")
        else:
            into[key] = value
            for inner in [inner for inner in origins if inner.startswith(f"{name}.")]:
                del origins[inner]
            origins[name] = origin


def origin_of(name: str, origins: Mapping[str, str]) -> str:
    """Where a setting was set; a table may also be set as a bare value.

    >>> origin_of("fields.seq.column", {"fields.seq": "site.toml"}), origin_of("cluster", {})
    ('site.toml', 'default')
    """
    parts = name.split(".")
    wholes = (".".join(parts[:size]) for size in range(len(parts), 0, -1))
    return next((origins[whole] for whole in wholes if whole in origins), "default")


def _in_full(table: dict[str, Any], base: Path) -> dict[str, Any]:
    """The table with short forms expanded, Spark's full names and absolute paths."""
    if isinstance(inputs := table.get("inputs"), dict):
        for kind, value in inputs.items():
            inputs[kind] = value if isinstance(value, dict) else {"path": value}
    if isinstance(table.get("spark"), dict):
        table["spark"] = _spark_names(table["spark"])
    make_paths_absolute(table, base)
    if isinstance(logs := table.get("client_logs"), dict):
        table["client_logs"] = {from_home("client_logs", path): said for path, said in logs.items()}
    return table


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
