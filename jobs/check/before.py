"""Checks of the input before Spark starts: inputs without a path or file, mapped columns that no file has."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress

from jobs.check.elsewhere import NotSeenError, can_see, list_elsewhere, opener, store_of
from jobs.check.fields import find_fields
from jobs.check.heads import MOST_LINES, Head, read_head, some_of
from jobs.errors import InputMissingError, SettingValueError
from jobs.settings.model import Settings
from jobs.sources.contents import HEAD_BYTES, TEXT
from jobs.sources.local_files import DEFAULT_STORE, InputFile, Listing, checked, is_local, list_local
from jobs.sources.send_kinds import format_of

_MOST_FILES = 5


def check_before(settings: Settings, kinds: Sequence[str], needed: Iterable[str]) -> list[str]:
    """Warnings about input of these kinds: local files, and those of stores that can be seen without Spark.

    Raises:
        InputMissingError: a needed kind without a path; a path that does not exist or has no file.
        InputUnreadableError: not a file, or its content does not fit its name.
        SettingValueError: the column that the settings map to a needed field is in no head.
    """
    if unnamed := not_named(settings, needed):
        raise InputMissingError(unnamed[0])
    files = {kind: local_files(settings, kind) for kind in kinds}
    unseen: set[str] = set()
    for kind in kinds:
        stores = {store_of(path) for path in getattr(settings.inputs, kind).path if can_see(path)}
        if not stores & unseen:
            with suppress(NotSeenError):
                files[kind] += _looked_into(files_elsewhere(settings, kind), kind, settings)
                continue
        unseen |= stores
        files[kind] = []  # the run looks by its own means: what was not seen may have the columns
    with suppress(NotSeenError):
        sends = settings.inputs.sends
        if files.get("sends") and any(source.column for source in sends.fields.values()):
            heads = read_heads(some_of(files["sends"], _MOST_FILES), settings)
            missing = find_fields(heads, sends).missing_columns if any(head.records for head in heads) else {}
            for name, (sentence, is_needed) in missing.items():
                if is_needed:
                    raise SettingValueError(
                        f"{sentence}: each line needs a {name}, and none of the first lines of {len(heads)} files has"
                        " that column; correct its name, faultline check says more"
                    )
            return [sentence for sentence, _ in missing.values()]
    return []


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
    return _files_of([list_local(paths, settings.lake)], paths, named, kind)


def files_elsewhere(settings: Settings, kind: str) -> list[InputFile]:
    """The files of one input on stores that can be seen without Spark.

    Raises:
        InputMissingError: a path that does not exist or has no file.
        NotSeenError: a store does not let itself be looked at.
    """
    named = getattr(settings.inputs, kind).path
    paths = [path for path in named if can_see(path)]
    return _files_of([list_elsewhere(path, settings.spark) for path in paths], paths, named, kind)


def _files_of(listings: Sequence[Listing], paths: Sequence[str], named: Sequence[str], kind: str) -> list[InputFile]:
    """The files of the listings of `paths`, each once; all of `named` may be empty of files only together."""
    for listing in listings:
        if listing.problems:
            raise listing.first_problem
    files = sorted({file for listing in listings for file in listing.files})
    if paths and len(paths) == len(named) and not files:
        raise InputMissingError(
            f"no file in {', '.join(paths)} (hidden ones are not read); give a folder that holds the {kind}"
        )
    return files


def _looked_into(files: Sequence[InputFile], kind: str, settings: Settings) -> Sequence[InputFile]:
    """The files, after a look at the first bytes of each.

    Raises:
        InputUnreadableError: the first that cannot be read, or whose content does not fit its name.
        NotSeenError: their store does not let itself be looked at.
    """
    open_file = opener(files, settings.spark)

    def head(file: InputFile) -> bytes:
        with open_file(file) as opened:
            return opened.read(HEAD_BYTES)

    asked_for = settings.inputs.sends.format if kind == "sends" else TEXT
    return checked(files, lambda name: format_of(name, asked_for), head)


def read_heads(files: Sequence[InputFile], settings: Settings, most_lines: int = MOST_LINES) -> list[Head]:
    """The head of each file of sends."""
    sends, open_file = settings.inputs.sends, opener(files, settings.spark)
    return [read_head(file, format_of(file.name, sends.format), sends, open_file, most_lines) for file in files]
