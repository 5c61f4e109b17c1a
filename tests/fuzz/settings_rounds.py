"""Rounds of settings and command lines: each is taken, or refused with one sentence before anything begins."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random

from tests.fuzz import hostile, invariants, lakes, sends, settings_texts, snapshots
from tests.fuzz.program import call
from tests.fuzz.recordings import DATE

_VARIABLES = {hostile.CANARY_NAME: hostile.CANARY}
_TAKEN_OR_REFUSED = {0, 2}


def settings_round(random: Random, folder: Path, lake: Path, *, most: int, and_run: bool) -> list[str]:
    """Plans under right and wrong settings; a run under right ones.

    Args:
        random: where all of it comes from.
        folder: gets the settings and the input.
        lake: may hold what earlier rounds published.
        most: how many plans.
        and_run: publish under the last right settings, too.
    """
    breaches: list[str] = []
    right, wrong = folder / "right.toml", folder / "wrong.toml"
    for _ in range(most):
        right.write_text(settings_texts.as_toml(settings_texts.right_settings(random)), encoding="utf-8")
        breaches += _planned(["--settings", str(right)], folder, {0}, right)
        wrong.write_bytes(settings_texts.wrong_settings(random))
        breaches += _planned(["--settings", str(wrong)], folder, _TAKEN_OR_REFUSED, wrong)
        given = settings_texts.assignment(random).replace("\x00", "")
        breaches += _planned(["--settings", str(right), "--set", given], folder, _TAKEN_OR_REFUSED, right)
    return breaches[:5] + (_run(random, folder, lake, right) if and_run else [])


def options_round(random: Random, folder: Path, lake: Path, *, most: int) -> list[str]:
    """Command lines that start no Spark; as `settings_round`."""
    breaches: list[str] = []
    for _ in range(most):
        arguments = settings_texts.command_line(random, str(lake))
        ended = call(arguments, folder, _VARIABLES)
        found = invariants.no_trace(ended) + invariants.expected_code(ended, {0, 1, 2, 3})
        found += invariants.nothing_of_the_environment(ended.out, ended.err)
        breaches += [f"{breach} (of {arguments!r:.600})" for breach in found]
    return breaches[:5]


def _planned(settings: Sequence[str], folder: Path, codes: set[int], file: Path) -> list[str]:
    ended = call(["plan", "nightly", "--lake", "lake", "--date", str(DATE), *settings], folder, _VARIABLES)
    found = invariants.no_trace(ended) + invariants.expected_code(ended, codes)
    found += invariants.nothing_of_the_environment(ended.out, ended.err)
    text = file.read_text(encoding="utf-8", errors="replace")
    return [f"{breach} (of {settings[2:]!r:.300} and {text!r:.1500})" for breach in found]


def _run(random: Random, folder: Path, lake: Path, settings: Path) -> list[str]:
    """Sends and snapshots as they were recorded, under settings that may be extreme."""
    said = sends.attempts(random, 60, "0", spoilt=0.0)
    sends.json_file(random, folder / "sends", "0", said, sends.SiteNames())
    for kind in snapshots.JSON_KINDS:
        snapshots.json_file(random, kind, folder / kind, "0", 60, spoilt=0.0)
    before = lakes.versions(lake, may_be_new=True)
    ended = call(
        ["nightly", "--settings", str(settings), "--lake", str(lake), "--date", str(DATE), "--json", "--sends", "sends",
         "--routes", "routes", "--consumers", "consumers", "--running-info", "running_info"],
        folder, _VARIABLES,
    )  # fmt: skip
    breaches = invariants.no_trace(ended) + invariants.expected_code(ended, {0, 2, 4})
    if ended.code and before:
        breaches += invariants.as_before(before, lakes.versions(lake, may_be_new=True))
    return [f"{breach} (of {settings.read_text()!r:.1500})" for breach in breaches]
