"""`faultline plan`: what a run would read and write, and where each setting comes from. Writes nothing."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from jobs.input_files import files_at
from jobs.local_folder import is_there
from jobs.redaction import HIDDEN, is_secret, redacted, secrets_of
from jobs.settings import Settings, setting_name
from jobs.text_parts import safe


def describe_plan(command: str, settings: Settings, days: tuple[dt.date, ...], why: str) -> str:
    """The plan as text."""
    cluster = safe(settings.cluster)
    lines = [
        f"faultline {command} would",
        f"  publish  {', '.join(map(str, days[:7]))}{' …' if days[7:] else ''} ({why}), cluster {cluster}",
        *(f"  read     {kind}: {safe(_found(path))}" for kind, path in _inputs(settings)),
        (
            f"  write    {safe(settings.lake)} ({'exists' if _is_there(settings.lake) else 'would be made'}):"
            " the days above in every table, and later days that start from them"
        ),
        "",
        "Settings",
        *(
            f"  {safe(name)} = {value!r}  ({settings.origins.get(name, 'default')})"
            for name, value in sorted(_values(settings))
        ),
    ]
    return redacted("\n".join(lines), secrets_of(settings.spark), named=False)


def _inputs(settings: Settings) -> Iterator[tuple[str, str]]:
    for each in dataclasses.fields(settings.inputs):
        yield from ((each.name, path) for path in getattr(settings.inputs, each.name).path)


def _found(path: str) -> str:
    files = files_at(path)
    if files is None:
        return path
    size = sum(file.stat().st_size for file in files)
    return f"{path} ({len(files)} files, {size / 1e6:.1f} MB)" if files else f"{path} (MISSING)"


def _is_there(lake: str) -> bool:
    return "://" in lake or is_there(Path(lake))


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
            yield name, _shown(name, value)

    return walk(settings, "")


def _shown(name: str, value: Any) -> Any:
    """What a setting may show of its value; a producer or group is no secret, whatever its name."""
    if not name.startswith("spark."):
        return value
    return HIDDEN if is_secret(name) else redacted(value)
