"""The local files that an input path stands for."""

from __future__ import annotations

import glob
import re
from pathlib import Path

from jobs.local_folder import is_elsewhere, is_there


def files_at(path: str) -> list[Path] | None:
    """The files of a path that is a file, a folder or a glob, braces included; None for another store."""
    local = re.sub("^file:(//)?", "", path)
    if is_elsewhere(path):
        return None
    matches = (
        [Path(local)]
        if is_there(Path(local))
        else [Path(match) for each in _without_braces(local) for match in glob.glob(each)]  # noqa: PTH207 - any root
    )
    return [file for match in matches for file in ([match] if match.is_file() else match.rglob("*")) if file.is_file()]


def _without_braces(pattern: str) -> list[str]:
    """Hadoop's globs have braces, Python's do not.

    >>> _without_braces("{a,b}.gz")
    ['a.gz', 'b.gz']
    """
    braces = re.search(r"\{([^{}]*)\}", pattern)
    if braces is None:
        return [pattern]
    choices = (f"{pattern[: braces.start()]}{choice}{pattern[braces.end() :]}" for choice in braces.group(1).split(","))
    return [each for choice in choices for each in _without_braces(choice)]
