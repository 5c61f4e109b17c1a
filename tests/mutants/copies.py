"""A copy of the checkout as it stands, what is not committed included: whatever is changed is changed there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


class MutantsError(Exception):
    """Mutants cannot be run so."""


def copy_to(tree: Path) -> None:
    """Git's files and those that it does not ignore.

    Raises:
        MutantsError: this is no checkout.
    """
    asked = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        raise MutantsError(f"{ROOT} is no checkout of Git: {listed.stderr.strip()}")
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():  # one that was deleted and not yet committed is listed all the same
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name)


def environ_of(tree: Path) -> dict[str, str]:
    """The environment of a program that runs the copy's code."""
    return {
        **os.environ,
        "PYTHONPATH": str(tree),
        "FAULTLINE_HOME": str(tree),
        "FAULTLINE_CACHE": os.environ.get("FAULTLINE_CACHE", str(ROOT / ".faultline" / "jars")),
        "PYSPARK_PYTHON": sys.executable,
    }
