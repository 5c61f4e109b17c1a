"""The input that the settings name."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator

from jobs.doctor.check import Check
from jobs.input_files import files_at
from jobs.settings import Inputs


def inputs(named: Inputs) -> Iterator[Check]:
    """A check of each path; of one on another store only that it is named."""
    paths = [(each.name, path) for each in dataclasses.fields(named) for path in getattr(named, each.name).path]
    if not paths:
        yield Check("input", "warning", "the settings name none", "name it with --sends, --consumers or [inputs]")
    for kind, path in paths:
        yield _input(f"input {kind}", path)


def _input(name: str, path: str) -> Check:
    files = files_at(path)
    if files is None:
        return Check(name, "ok", f"{path}: another store, not looked into")
    if not files:
        return Check(name, "wrong", f"{path} does not exist or holds no file", "correct the path")
    closed = [file for file in files if not os.access(file, os.R_OK)]
    if closed:
        return Check(
            name, "wrong", f"{len(closed)} files cannot be read, such as {closed[0]}", "mend their permissions"
        )
    size = sum(file.stat().st_size for file in files)
    return Check(name, "ok", f"{path}: {len(files)} files, {size / 1e6:.1f} MB")
