"""Folders that a run writes: room, permission, and whether libraries may be loaded from them."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from jobs.doctor.check import Check
from jobs.uri import is_there

LITTLE_BYTES, TOO_LITTLE_BYTES = 2 * 2**30, 200 * 2**20
_JAVA_TEMP = r"-Djava\.io\.tmpdir=(\S+)"


def writable(name: str, folder: Path, fix: str) -> Check:
    """Whether a file can be made in the folder, or in the nearest one above that is there, and how much room is left.

    Args:
        name: of the check.
        folder: may not exist yet.
        fix: what to do when it cannot be used.
    """
    there = next(each for each in (folder, *folder.absolute().parents) if is_there(each))
    try:
        with tempfile.TemporaryFile(dir=there) as file:
            file.write(b"faultline doctor")
    except OSError as error:
        return Check(name, "wrong", f"{there} cannot be written: {error.strerror}", fix)
    return room(name, there, shutil.disk_usage(there).free)


def room(name: str, folder: Path, free_bytes: int) -> Check:
    """Whether the free room is enough to begin with."""
    found = f"{folder} can be written, {free_bytes / 2**30:.1f} GiB free"
    if free_bytes < TOO_LITTLE_BYTES:
        return Check(name, "wrong", found, "make room before the next run")
    if free_bytes < LITTLE_BYTES:
        return Check(name, "warning", found, "make room; a run stages its whole input beside the tables")
    return Check(name, "ok", found)


def temporary(spark: Mapping[str, str], environ: Mapping[str, str]) -> Iterator[Check]:
    """Spark's scratch folders, and Java's, which native libraries are loaded from."""
    options = f"{environ.get('JAVA_TOOL_OPTIONS', '')} {spark.get('spark.driver.extraJavaOptions', '')}"
    java = next(reversed(re.findall(_JAVA_TEMP, options)), "/tmp")  # noqa: S108 - Java's own default
    local = environ.get("SPARK_LOCAL_DIRS") or spark.get("spark.local.dir") or java
    for folder in dict.fromkeys(local.split(",")):
        yield writable("spark.local.dir", Path(folder), "name a folder of your own in the setting spark.local.dir")
    fix = "name another in spark.driver.extraJavaOptions, -Djava.io.tmpdir=DIR"
    if is_there(Path(java)) and os.statvfs(java).f_flag & getattr(os, "ST_NOEXEC", 0):
        found = f"{java} is mounted noexec: Java cannot load its compression libraries from it"
        yield Check("java.io.tmpdir", "wrong", found, fix)
    else:
        yield writable("java.io.tmpdir", Path(java), fix)
