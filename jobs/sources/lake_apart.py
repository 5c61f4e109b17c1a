"""Keeps inputs and the lake apart: neither may contain the other."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Iterator
from pathlib import PurePath

from jobs.errors import SettingValueError
from jobs.settings.inputs import Inputs
from jobs.settings.model import Settings
from jobs.uri import is_elsewhere, local_folder


def named_inputs(inputs: Inputs) -> list[tuple[str, str]]:
    """Kind and path of every input in the settings."""
    return [(field.name, path) for field in dataclasses.fields(inputs) for path in getattr(inputs, field.name).path]


def check_apart(settings: Settings) -> None:
    """Refuse an input that contains the lake or lies in it: a run would read its own tables, or overwrite its input.

    Local folders are compared with links resolved; the lake need not exist yet.

    Raises:
        SettingValueError: with both paths.
    """
    lake = settings.lake
    root = real_place(lake)
    for kind, path in named_inputs(settings.inputs):
        if leads_into(real_place(path), lake):
            raise too_close(f"the input {kind} {path} lies in the lake {lake}")
        if leads_into(root, path) or any(_covers(path, above) for above in _with_parents(root, path)):
            raise too_close(f"the lake {lake} lies in the input {kind} {path}")


def leads_into(place: str, folder: str) -> bool:
    """Whether the path, with links resolved, is the folder or below it."""
    root = real_place(folder)
    return place == root or place.startswith(f"{root.rstrip('/')}/")


def real_place(path: str) -> str:
    """The path with links resolved, if local; unchanged on another store."""
    if is_elsewhere(path):
        return path.rstrip("/")
    return os.path.realpath(local_folder(path) or path)


def too_close(what: str) -> SettingValueError:
    """The error with both paths."""
    return SettingValueError(f"{what}: what is read and what is written must not mix; give the lake another folder")


def alternatives(pattern: str) -> list[str]:
    """Globs that a glob with braces expands to; braces may span several folders.

    >>> alternatives("/{a,b/{c,d}}.gz")
    ['/a.gz', '/b/c.gz', '/b/d.gz']
    """
    innermost = re.search(r"\{([^{}]*)\}", pattern)
    if innermost is None:
        return [pattern]
    head, tail = pattern[: innermost.start()], pattern[innermost.end() :]
    expanded = (
        alternative for choice in innermost[1].split(",") for alternative in alternatives(f"{head}{choice}{tail}")
    )
    return list(dict.fromkeys(expanded))


def _covers(pattern: str, folder: str) -> bool:
    """Whether the glob would match the folder."""
    return any(PurePath(folder).match(os.path.abspath(alternative)) for alternative in alternatives(pattern))


def _with_parents(root: str, pattern: str) -> Iterator[str]:
    """The lake and the folders above it, where a glob could match them."""
    while not is_elsewhere(root) and not is_elsewhere(pattern) and root != "/":
        yield root
        root = os.path.dirname(root)
