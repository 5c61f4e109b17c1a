"""All kinds of rounds, by name: each is made from its seed alone."""

from __future__ import annotations

from pathlib import Path
from random import Random

from tests.fuzz.content_rounds import SENDS_KINDS, SNAPSHOT_KINDS, sends_round, snapshots_round
from tests.fuzz.file_rounds import files_round
from tests.fuzz.settings_rounds import options_round, settings_round

KINDS = (*SENDS_KINDS, *SNAPSHOT_KINDS, "files", "settings", "options")


def play(kind: str, seed: int, folder: Path, lake: Path, *, whole: bool) -> list[str]:
    """Play one round and return what was breached.

    Args:
        kind: one of `KINDS`.
        seed: with the kind all that the input depends on.
        folder: an empty folder, which keeps the input.
        lake: may hold what earlier rounds published.
        whole: also what takes long: each day run twice, all odd files, a run under the settings.
    """
    random = Random(f"{seed} {kind}")
    if kind in SENDS_KINDS:
        return sends_round(kind, random, folder, lake, again=whole)
    if kind in SNAPSHOT_KINDS:
        return snapshots_round(kind, random, folder, lake, again=whole)
    if kind == "files":
        return files_round(random, folder, lake, most=99 if whole else 4)
    if kind == "settings":
        return settings_round(random, folder, lake, most=60, and_run=whole)
    return options_round(random, folder, lake, most=200)
