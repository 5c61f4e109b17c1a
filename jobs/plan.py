"""`faultline plan`: what a run would read and write, and where each setting comes from. Writes nothing."""

from __future__ import annotations

import dataclasses
import datetime as dt
import glob
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from jobs.settings import Settings, setting_name
from jobs.text_parts import safe

_TO_HIDE = r"(?i)secret|passw|token|credential|private|sas\b|key"


def describe_plan(command: str, settings: Settings, days: tuple[dt.date, ...], why: str) -> str:
    """The plan as text."""
    lines = [
        f"faultline {command} would",
        f"  publish  {', '.join(map(str, days[:7]))}{' …' if days[7:] else ''} ({why}), cluster {settings.cluster}",
        *(f"  read     {kind}: {safe(_found(path))}" for kind, path in _inputs(settings)),
        (
            f"  write    {safe(settings.lake)} ({'exists' if _is_there(settings.lake) else 'would be made'}):"
            " the days above in every table, and later days that start from them"
        ),
        "",
        "Settings",
        *(
            f"  {name} = {value!r}  ({settings.origins.get(name, 'default')})"
            for name, value in sorted(_values(settings))
        ),
    ]
    return "\n".join(lines)


def _inputs(settings: Settings) -> Iterator[tuple[str, str]]:
    for each in dataclasses.fields(settings.inputs):
        yield from ((each.name, path) for path in getattr(settings.inputs, each.name).path)


def _found(path: str) -> str:
    local = re.sub("^file:(//)?", "", path)
    if "://" in local:
        return path
    patterns = _without_braces(local)
    matches = [Path(local)] if Path(local).exists() else [Path(match) for each in patterns for match in glob.glob(each)]  # noqa: PTH207 - any root
    files = [file for match in matches for file in ([match] if match.is_file() else match.rglob("*")) if file.is_file()]
    size = sum(file.stat().st_size for file in files)
    return f"{path} ({len(files)} files, {size / 1e6:.1f} MB)" if files else f"{path} (MISSING)"


def _without_braces(pattern: str) -> list[str]:
    """`{a,b}.gz` → `a.gz`, `b.gz`: Hadoop's globs have braces, Python's do not."""
    braces = re.search(r"\{([^{}]*)\}", pattern)
    if braces is None:
        return [pattern]
    choices = (f"{pattern[: braces.start()]}{choice}{pattern[braces.end() :]}" for choice in braces.group(1).split(","))
    return [each for choice in choices for each in _without_braces(choice)]


def _is_there(lake: str) -> bool:
    return "://" in lake or Path(lake).exists()


def _values(settings: Settings) -> Iterator[tuple[str, Any]]:
    """Dotted name and value of every setting that is not a table; secrets stay out of sight."""

    def walk(value: Any, name: str) -> Iterator[tuple[str, Any]]:
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            for each in dataclasses.fields(value):
                if each.name != "origins":
                    yield from walk(getattr(value, each.name), f"{name}.{each.name}" if name else each.name)
        elif isinstance(value, Mapping):
            for key, item in value.items():
                yield from walk(item, setting_name(f"{name}.", key))
        elif value is not None:
            yield name, "…" if _is_secret(name) else value

    return walk(settings, "")


def _is_secret(name: str) -> bool:
    return name.startswith("spark.") and re.search(_TO_HIDE, name) is not None
