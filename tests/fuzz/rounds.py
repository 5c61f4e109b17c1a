"""All kinds of rounds, by name: each is made from its seed alone."""

from __future__ import annotations

from pathlib import Path
from random import Random

from tests.fuzz.content_rounds import SENDS_KINDS, SNAPSHOT_KINDS, Depth, sends_round, snapshots_round
from tests.fuzz.file_rounds import files_round
from tests.fuzz.settings_rounds import options_round, settings_round

KINDS = (*SENDS_KINDS, *SNAPSHOT_KINDS, "files", "settings", "options")


def play(kind: str, seed: int, folder: Path, lake: Path, depth: Depth) -> list[str]:
    """Play one round and return what was breached.

    Args:
        kind: one of `KINDS`.
        seed: with the kind all that the input depends on.
        folder: an empty folder, which keeps the input.
        lake: may hold what earlier rounds published.
        depth: READ leaves out runs; RUN has one, and all odd files; WHOLE runs a day twice.
    """
    random = Random(f"{seed} {kind}")
    if kind in SENDS_KINDS:
        return sends_round(kind, random, folder, lake, depth)
    if kind in SNAPSHOT_KINDS:
        return snapshots_round(kind, random, folder, lake, depth)
    if kind == "files":
        return files_round(random, folder, lake, most=4 if depth == "READ" else 99)
    if kind == "settings":
        return settings_round(random, folder, lake, most=60, and_run=depth != "READ")
    return options_round(random, folder, lake, most=200)
