"""The lake: can it be written, who holds it, what a killed run left, and its tables."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from jobs.doctor.check import Check
from jobs.doctor.folders import writable
from jobs.lake.lock import holder
from jobs.uri import is_there, local_folder


def lake(root: str) -> Iterator[Check]:
    """Each check of the lake; of another store than a local folder only its tables."""
    folder = local_folder(root)
    if folder is not None:
        yield writable("lake", folder, "give its folder to the user of the nightly run, or name another --lake")
        yield leftovers(folder / "_staging")
        yield lock(folder)
        if not is_there(folder):
            yield Check("tables", "ok", f"{folder} does not exist yet; the first run makes it")
            return
    try:
        from jobs.doctor.tables import tables  # noqa: PLC0415 - needs what an extra brings
    except ImportError as error:
        fix = f"run: {sys.executable} -m pip install 'faultline[report]'"
        yield Check("tables", "warning", f"not looked into, as a package cannot be imported: {error}", fix)
    else:
        yield from tables(root.rstrip("/"))


def leftovers(staging: Path) -> Check:
    """Files that killed runs have left in the staging folder."""
    size = 0
    for folder, _, names in os.walk(staging):  # a run that goes on removes files meanwhile
        for name in names:
            with suppress(OSError):
                size += Path(folder, name).stat().st_size
    if size:
        found = f"{staging} holds {size / 1e6:.1f} MB of a run that goes on or was killed"
        return Check("leftovers", "warning", found, "nothing to do: the next run removes it")
    return Check("leftovers", "ok", "none staged")


def lock(folder: Path) -> Check:
    """The run that the lock's file names: one that goes on, or one that was killed."""
    named = holder(folder)
    if named is None:
        return Check("lock", "ok", "held by nobody")
    return Check("lock", "ok", f"held by {named}, unless it was killed; lease until {named.lease_until:%F %T} UTC")
