"""The checks of `faultline doctor`: versions, Java, disk, lock, and whether each table opens."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from jobs.errors import FaultlineError, LakeError
from jobs.lake.lock import Holder, holder, holder_of
from jobs.settings.model import Settings
from jobs.spark.environment import environment_checks
from jobs.text.redaction import redacted
from jobs.text.terminal import one_line
from jobs.uri import is_there, local_folder

if TYPE_CHECKING:  # it imports Spark's types
    from jobs.tables import Table

TOO_LITTLE_BYTES = 200 * 2**20


@dataclass(frozen=True)
class Check:
    """One check.

    Attributes:
        name: what was checked.
        is_ok: whether a run can go ahead; None where that could not be seen from here.
        found: the result.
        fix: what to do; empty if `is_ok`.
    """

    name: str
    is_ok: bool | None
    found: str
    fix: str = ""


def examine(settings: Settings, environ: Mapping[str, str]) -> Iterator[Check]:
    """Every check of this machine and lake; a lake on another store has no disk to check."""
    for name, look in environment_checks().items():
        yield _checked(name, look)
    scratch = environ.get("SPARK_LOCAL_DIRS") or settings.spark.get("spark.local.dir") or tempfile.gettempdir()
    for place in scratch.split(","):
        yield _checked("temporary", partial(_disk, Path(place)))
    if folder := local_folder(settings.lake):
        yield _checked("lake", partial(_disk, folder))
        yield Check("lock", is_ok=True, found=_lock(holder(folder)))
    yield from _tables(settings, is_elsewhere=folder is None)


def _checked(name: str, look: Callable[[], str], *, refused: bool | None = False) -> Check:
    """The result of `look`; of the error it raises, whose sentence is `found; fix`, `is_ok` is `refused`."""
    try:
        return Check(name, is_ok=True, found=look())
    except FaultlineError as error:
        return _refused(name, error, is_ok=refused)


def _refused(name: str, error: FaultlineError, *, is_ok: bool | None) -> Check:
    found, _, fix = str(error).partition("; ")
    return Check(name, is_ok=is_ok, found=found, fix=fix)


def _disk(folder: Path) -> str:
    """Free space of a folder, or of its nearest existing parent."""
    existing = next(path for path in (folder, *folder.absolute().parents) if is_there(path))
    try:
        with tempfile.TemporaryFile(dir=existing) as file:
            file.write(b"faultline doctor")
    except OSError as error:
        raise LakeError(f"{existing} cannot be written: {error.strerror}; use another folder, or fix it") from error
    free = shutil.disk_usage(existing).free
    if free < TOO_LITTLE_BYTES:
        raise LakeError(f"{existing} has only {free / 2**20:.0f} MiB free; make room before the next run")
    return f"{existing} can be written, {free / 2**30:.1f} GiB free"


def _lock(run: Holder | None) -> str:
    return f"held by {run}, unless it was killed; lease until {run.lease_until:%F %T} UTC" if run else "free"


def _tables(settings: Settings, *, is_elsewhere: bool) -> Iterator[Check]:
    """A check per table; reads the footer of each of its files. None of a lake on a store that cannot be looked at."""
    try:
        from jobs.answers.delta_table import is_lake, lock_on_store, opened  # noqa: PLC0415 - its packages may be missing
        from jobs.answers.store import storage_options  # noqa: PLC0415 - same
        from jobs.tables import TABLES  # noqa: PLC0415 - same
    except ImportError as error:
        yield Check("tables", is_ok=False, found=f"not checked: {error}", fix="install deltalake")
        return

    options = storage_options(settings.lake, settings.spark)
    if is_elsewhere:
        try:
            state = "holds a run log" if is_lake(settings.lake, options) else "would be made by the first run"
        except LakeError as error:
            yield _refused("lake", error, is_ok=False if "NoSuchBucket" in str(error) else None)
            return
        yield Check("lake", is_ok=True, found=f"{settings.lake} {state}")
        yield _checked("lock", lambda: _lock(holder_of(lock_on_store(settings.lake, options))), refused=None)

    def look(table: Table) -> str:
        with opened(settings.lake, table, options) as rows:
            return f"{rows.count_rows():,} rows"

    yield from (_checked(table.name, partial(look, table)) for table in TABLES)


def as_text(checks: Sequence[Check], secrets: Collection[str] = ()) -> str:
    """A line per check, its fix below it, without `secrets`."""
    width = max(len(check.name) for check in checks)
    lines = []
    for check in checks:
        verdict = "?" if check.is_ok is None else "ok" if check.is_ok else "WRONG"
        lines.append(f"{verdict:5}  {check.name:{width}}  {one_line(check.found)}")
        if check.fix:
            lines.append(f"{'':{width + 7}}  → {one_line(check.fix)}")
    return redacted("\n".join(lines), secrets)


def as_json(checks: Sequence[Check], secrets: Collection[str] = ()) -> str:
    """The checks as one JSON object, without `secrets`."""
    shown = [
        asdict(check) | {"found": redacted(check.found, secrets), "fix": redacted(check.fix, secrets)}
        for check in checks
    ]
    return json.dumps({"fit": all(check.is_ok is not False for check in checks), "checks": shown}, indent=1)
