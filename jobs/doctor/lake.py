"""The lake: can it be written, who holds it, what a killed run left, and its tables."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from jobs.doctor.check import Check
from jobs.doctor.folders import writable
from jobs.local_folder import local_folder


def lake(root: str) -> Iterator[Check]:
    """Each check of the lake; of another store than a local folder only its tables."""
    folder = local_folder(root)
    if folder is not None:
        yield writable("lake", folder, "give its folder to the user of the nightly run, or name another --lake")
        yield leftovers(folder / "_staging")
        yield holder(folder / "_lock")
        if not folder.exists():
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
    """What runs that were killed have left in the staging folder."""
    size = sum(file.stat().st_size for file in staging.rglob("*") if file.is_file())
    if size:
        found = f"{staging} holds {size / 1e6:.1f} MB of a run that goes on or was killed"
        return Check("leftovers", "warning", found, "nothing to do: the next run removes it")
    return Check("leftovers", "ok", "none staged")


def holder(lock: Path) -> Check:
    """Who the lock file names: the run that holds the lake, or the last one that did."""
    try:
        told = lock.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        told = ""
    try:
        named = ", ".join(f"{key} {value}" for key, value in json.loads(told).items())
    except (ValueError, AttributeError):
        named = told
    return Check("lock", "ok", f"held now or last by: {named}" if named else "held by nobody")
