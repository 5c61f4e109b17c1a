"""Makes paths in settings and options absolute, or qualifies them with their store.

A leading `~` is the user's home. A path with a variable is refused: variables are not expanded, and Spark would
create a folder with the name of the variable.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from jobs.errors import SettingValueError
from jobs.uri import is_elsewhere, local_folder

PATH_KEYS = (
    "lake",
    "inputs.sends.path",
    "inputs.fault_item_updates.path",
    "inputs.routes.path",
    "inputs.consumers.path",
    "inputs.running_info.path",
    "inputs.client_logs.path",
)
"""Settings that hold paths: the lake and each input."""
OUTPUT_KEYS = ("export.duckdb", "export.metrics")
"""Settings that hold paths of files that a night writes besides its tables."""

_VARIABLE = re.compile(r"\$([A-Za-z_]\w*|\{[^}]*\})")


def make_paths_absolute(table: dict[str, Any], base: Path, at: str = "") -> None:
    """Make the paths absolute in a table of settings and those inside it; `at` is its own name.

    Raises:
        SettingValueError: an invalid path.
    """
    for key, value in table.items():
        name = f"{at}{key}"
        if isinstance(value, dict):
            make_paths_absolute(value, base, f"{name}.")
        elif name in (*PATH_KEYS, *OUTPUT_KEYS) and isinstance(value, str):
            table[key] = full_path(name, value, base)
        elif name in (*PATH_KEYS, *OUTPUT_KEYS) and isinstance(value, list | tuple):
            table[key] = [full_path(name, path, base) if isinstance(path, str) else path for path in value]


def full_path(name: str, path: str, base: Path) -> str:
    """The absolute path; `file:` URIs as Hadoop spells them, other URIs unchanged.

    Args:
        name: name of the setting, for messages.
        path: the path in the setting.
        base: folder that relative paths start from.

    Raises:
        SettingValueError: the path holds a variable, is a `file:` URI without an absolute path, or is empty, for
            example from an unset shell variable: it would be the working directory.

    >>> full_path("lake", "lake", Path("/site")), full_path("lake", "file:///a%20b/", Path("/site"))
    ('/site/lake', 'file:/a b')
    """
    path = from_home(name, path)
    if not path and name.startswith("inputs."):
        raise SettingValueError(f"{name} is empty; give a file, a folder or a glob, or leave it out")
    if not path or is_elsewhere(path):
        return path
    if path.startswith("file:"):
        return f"file:{_of_file_uri(name, path)}"
    # Hadoop would read two leading slashes as a host.
    whole = base / (path if path[0] != "/" else f"/{path.lstrip('/')}")
    return str(whole.resolve() if ".." in whole.parts else whole.absolute())


def from_home(name: str, path: str) -> str:
    """The path with `~` expanded.

    Raises:
        SettingValueError: it holds a variable.
    """
    if variable := _VARIABLE.search(path):
        raise SettingValueError(
            f"{name} is {path}; {variable[0]} is not expanded here: write its value, or ~ for your home"
        )
    return os.path.expanduser(path) if path.startswith("~") else path  # noqa: PTH111 - takes any text


def _of_file_uri(name: str, uri: str) -> Path:
    host = uri[7:].partition("/")[0] if uri.startswith("file://") else ""
    folder = local_folder(uri)
    if folder is None or not folder.is_absolute() or host not in {"", "localhost"}:
        raise SettingValueError(f"{name} is {uri}; write a folder of this machine from its root, such as file:///lake")
    return Path("/", str(folder).lstrip("/"))
