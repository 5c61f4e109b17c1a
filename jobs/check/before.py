"""Checks of the input before Spark starts: inputs without a path or file, mapped columns that no file has."""

from __future__ import annotations

from collections.abc import Iterable

from jobs.check.fields import is_needed, missing_columns
from jobs.check.heads import MOST_LINES, Head, read_head, some_of
from jobs.errors import InputMissingError, SettingValueError
from jobs.settings.model import Settings
from jobs.sources.local_files import DEFAULT_STORE, InputFile, is_local, list_local
from jobs.sources.send_kinds import format_of

_MOST_FILES = 5


def check_before(settings: Settings, kinds: Iterable[str], needed: Iterable[str]) -> list[str]:
    """Warnings about input of these kinds; only local files are checked.

    Raises:
        InputMissingError: a needed kind without a path; a path that does not exist or has no file.
        InputUnreadableError: not a file, or its content does not fit its name.
        SettingValueError: the column that the settings map to a needed field is in no head.
    """
    if missing := not_named(settings, needed):
        raise InputMissingError(missing[0])
    files = {kind: local_files(settings, kind) for kind in kinds}
    sends = settings.inputs.sends
    if not files.get("sends") or not any(source.column for source in sends.fields.values()):
        return []
    heads = read_heads(some_of(files["sends"], _MOST_FILES), settings)
    return _missing(heads, settings) if any(head.records for head in heads) else []


def not_named(settings: Settings, needed: Iterable[str]) -> list[str]:
    """A sentence for each needed kind of input without a path."""
    return [
        f"no {kind} are named; give --{kind} PATH or the setting inputs.{kind}.path"
        for kind in needed
        if not getattr(settings.inputs, kind).path
    ]


def local_files(settings: Settings, kind: str) -> list[InputFile]:
    """The local files of one input.

    Raises:
        InputMissingError: a path that does not exist or has no file.
        InputUnreadableError: not a file.
    """
    named = getattr(settings.inputs, kind).path
    paths = [path for path in named if is_local(path, settings.spark.get(DEFAULT_STORE))]
    listing = list_local(paths, settings.lake)
    if listing.problems:
        raise listing.first_problem
    if paths and len(paths) == len(named) and not listing.files:
        raise InputMissingError(
            f"no file in {', '.join(paths)} (hidden ones are not read); give a folder that holds the {kind}"
        )
    return list(listing.files)


def read_heads(files: Iterable[InputFile], settings: Settings, most_lines: int = MOST_LINES) -> list[Head]:
    """The head of each file of sends."""
    sends = settings.inputs.sends
    return [read_head(file, format_of(file.name, sends.format), sends, most_lines) for file in files]


def _missing(heads: list[Head], settings: Settings) -> list[str]:
    """A sentence for each mapped, optional column that no head has."""
    sends = settings.inputs.sends
    missing = missing_columns(heads, sends)
    said = []
    for name, (column, near) in missing.items():
        has = f"; the header has {near}" if near else ""
        sentence = f"no column {column}{has} (inputs.sends.fields.{name})"
        if is_needed(name, missing, sends):
            raise SettingValueError(
                f"{sentence}: each line needs a {name}, and none of the first lines of {len(heads)} files has that"
                " column; correct its name, faultline check says more"
            )
        said.append(sentence)
    return said
