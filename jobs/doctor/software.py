"""Checks of the installed software: Python, packages, Spark, Java, and the Delta jars."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

from jobs.doctor.check import Check, checked
from jobs.spark.delta_jars import Jar
from jobs.spark.environment import environment_checks

EXTRA = ("deltalake", "jinja2", "plotly")
"""Packages of the extra `report`."""


def software() -> Iterator[Check]:
    """A check of each thing that `faultline` refuses to start without, and of the extra."""
    for name, look in environment_checks().items():
        yield checked(name, look)
    missing = [package for package in EXTRA if find_spec(package) is None]
    if missing:
        fix = f"for faultline show and report run: {sys.executable} -m pip install 'faultline[report]'"
        yield Check("extra report", "warning", f"not installed: {', '.join(missing)}", fix)
    else:
        yield Check("extra report", "ok", "installed")


def jars(locked: Sequence[Jar], folder: Path) -> Iterator[Check]:
    """Whether each locked jar lies in the cache folder and is the file that the lock names."""
    for jar in locked:
        path = folder / jar.file_name
        fetch = f"{sys.executable} -m jobs.spark.delta_jars"
        try:
            with path.open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
        except FileNotFoundError:
            yield Check(jar.name, "warning", f"{path} is not fetched yet", f"the first run does, or now: {fetch}")
        except OSError as error:
            fix = "mend its permissions, or name a folder of your own in FAULTLINE_CACHE"
            yield Check(jar.name, "wrong", f"{path} cannot be read: {error.strerror}", fix)
        else:
            if found == jar.sha256:
                yield Check(jar.name, "ok", f"{jar.version} in {folder}, sha256 as locked")
            else:
                fix = f"find out what changed it, then fetch it anew: {fetch}"
                yield Check(jar.name, "wrong", f"{path} has sha256 {found}, conf/jars.toml names {jar.sha256}", fix)
