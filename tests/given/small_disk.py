"""A disk of a few bytes, of memory: mounted by root, and only on Linux."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    """The disk at `folder`, made for it; whatever was mounted over it goes too. Skips the test where none can be."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False).returncode != 0:
        pytest.skip("mounting a small disk needs root")
    try:
        yield folder
    finally:
        while folder.is_mount():
            subprocess.run(["umount", "--lazy", str(folder)], check=True)
