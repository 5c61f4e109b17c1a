"""The input that the settings name."""

from __future__ import annotations

from collections.abc import Iterator

from jobs.doctor.check import Check
from jobs.errors import FaultlineError, SettingValueError
from jobs.settings.model import Settings
from jobs.sources.lake_apart import check_apart, named_inputs
from jobs.sources.local_files import DEFAULT_STORE, is_local, list_local

_MOST_SAID = 20


def inputs(settings: Settings) -> Iterator[Check]:
    """A check of each path, and of each thing that stops a run; of a path on another store only that it is named."""
    named = named_inputs(settings.inputs)
    if not named:
        yield Check("input", "warning", "the settings name none", "name it with --sends, --consumers or [inputs]")
    try:
        check_apart(settings)
    except SettingValueError as error:
        yield _wrong("input", error)
    for kind, path in named:
        yield from _input(f"input {kind}", path, settings)


def _input(name: str, path: str, settings: Settings) -> Iterator[Check]:
    if not is_local(path, settings.spark.get(DEFAULT_STORE)):
        yield Check(name, "ok", f"{path}: another store, not looked into")
        return
    listing = list_local([path], settings.lake)
    left_out = f"; {len(listing.left_out)} left out, such as {listing.left_out[0]}" if listing.left_out else ""
    found = f"{path}: {len(listing.files)} files, {listing.size / 1e6:.1f} MB{left_out}"
    yield from (_wrong(name, problem) for problem in listing.problems[:_MOST_SAID])
    if listing.files:
        yield Check(name, "ok", found)
    elif not listing.problems:
        yield Check(name, "wrong", found, "correct the path")


def _wrong(name: str, problem: FaultlineError) -> Check:
    found, _, fix = str(problem).rpartition("; ")
    return Check(name, "wrong", found, fix)
