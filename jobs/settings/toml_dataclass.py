"""Turns a TOML table into a frozen dataclass: closed, strictly typed, with errors that give the key."""

from __future__ import annotations

import dataclasses
import datetime as dt
import types
import typing
from collections.abc import Mapping
from typing import Any, Literal, TypeVar

from jobs.errors import SettingsError, SettingValueError
from jobs.settings.near_names import near_names

T = TypeVar("T")

_LONG = 2**63


def typed(kind: type[T], table: object, at: str = "") -> T:
    """An instance of the dataclass `kind` from a TOML table.

    A dataclass with a class attribute `SHORT` may also be written as the bare value of that field.

    Args:
        kind: frozen dataclass; its annotations are the types.
        table: parsed TOML.
        at: dotted name of the table with a final dot, for messages.

    Raises:
        SettingsError: unknown key, wrong type, or a value that the dataclass rejects.
    """
    if not isinstance(table, Mapping):
        raise SettingsError(f"setting {at.rstrip('.')!r} is {_describe(table, at)}; it must be a table")
    hints = typing.get_type_hints(kind)
    known = [field.name for field in dataclasses.fields(kind) if not field.metadata.get("hidden")]  # type: ignore[arg-type]
    for key in table:
        if key not in known:
            raise SettingsError(f"unknown setting {f'{at}{key}'!r}; {near_names(key, sorted(known))}")
    values = {key: _value(hints[key], value, f"{at}{key}") for key, value in table.items()}
    try:
        return kind(**values)
    except SettingValueError as error:
        where = f"[{at.rstrip('.')}] " if at else ""
        raise SettingValueError(f"{where}{error}") from None


def _value(hint: Any, value: Any, name: str) -> Any:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        kinds = [argument for argument in arguments if argument is not type(None)]
        if len(kinds) > 1 and type(value) not in kinds:
            names = " or ".join(map(_kind_name, kinds))
            raise SettingsError(f"setting {name!r} is {_describe(value, name)}; it must be {names}")
        return _value(type(value) if type(value) in kinds else kinds[0], value, name)
    if origin is not None:
        return _value_of_many(origin, arguments, value, name)
    if dataclasses.is_dataclass(hint):
        short = getattr(hint, "SHORT", None)
        table = {short: value} if short and not isinstance(value, Mapping) else value
        return typed(typing.cast("type[Any]", hint), table, f"{name}.")
    return _date(value, name) if hint is dt.date else _single(hint, value, name)


def _value_of_many(origin: Any, arguments: tuple[Any, ...], value: Any, name: str) -> Any:
    """A choice, a list or a table."""
    if origin is Literal:
        if value not in arguments:
            raise SettingValueError(f"setting {name!r} is {value!r}; it must be one of {', '.join(arguments)}")
        return value
    if origin is tuple and arguments[-1] is not Ellipsis:
        if not isinstance(value, list | tuple) or len(value) != len(arguments):
            raise SettingsError(f"setting {name!r} is {_describe(value, name)}; it must be a list of {len(arguments)}")
        return tuple(_value(hint, item, name) for hint, item in zip(arguments, value, strict=True))
    if origin is tuple:
        items = value if isinstance(value, list | tuple) else [value]
        return tuple(_value(arguments[0], item, name) for item in items)
    if not isinstance(value, Mapping):
        raise SettingsError(f"setting {name!r} is {_describe(value, name)}; it must be a table")
    return {key: _value(arguments[1], item, f"{name}.{key}") for key, item in value.items()}


def _single(hint: type, value: Any, name: str) -> Any:
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(_single(int, value, name))
    if not isinstance(value, hint) or (isinstance(value, bool) and hint is not bool):
        raise SettingsError(f"setting {name!r} is {_describe(value, name)}; it must be {_kind_name(hint)}")
    if isinstance(value, int) and not -_LONG <= value < _LONG:
        raise SettingValueError(f"setting {name!r} is {value}; give a number of at most {_LONG - 1}, as Java counts")
    return value


def _date(value: object, name: str) -> dt.date:
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        return value
    try:
        return dt.date.fromisoformat(str(value))
    except ValueError:
        raise SettingsError(f"setting {name!r} is {value!r}; it must be a day such as 2026-11-21") from None


def _describe(value: object, name: str) -> str:
    """The value, but of `[notify]`, whose address is often a secret, and its type."""
    shown = "…" if name.startswith("notify") else repr(value)
    return f"{shown} ({type(value).__name__})"


def _kind_name(kind: type) -> str:
    return {str: "a text in quotes", int: "a whole number", float: "a number", bool: "true or false"}[kind]
