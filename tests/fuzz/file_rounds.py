"""Rounds whose folders hold something odd: it is read whole, or named and refused, and never waited for."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from random import Random

from tests.fuzz import hostile, invariants, lakes
from tests.fuzz.odd_files import ODD_FILES, REFUSED, OddFile, good_lines
from tests.fuzz.program import call
from tests.fuzz.recordings import DATE

_GOOD = 5


def files_round(random: Random, folder: Path, lake: Path, *, most: int) -> list[str]:
    """Each of some oddities that must be refused alone, then some of those that are read, together.

    Args:
        random: where all of it comes from.
        folder: gets the input.
        lake: may hold what earlier rounds published.
        most: how many that are to be refused.
    """
    refused = [odd for odd in ODD_FILES if 0 not in odd.codes]
    read = [odd for odd in ODD_FILES if odd.codes - REFUSED]
    several = [odd for odd in random.sample(read, 20) if odd.rows is not None and 3 not in odd.codes]
    alone = [
        *random.sample(refused, min(most, len(refused))),
        *random.sample([odd for odd in read if 3 in odd.codes], 1),
    ]
    groups = [*([odd] for odd in alone), several]
    return [breach for at, odd in enumerate(groups) for breach in _one(random, folder / f"{at}", lake, odd)]


def _one(random: Random, folder: Path, lake: Path, oddities: Sequence[OddFile]) -> list[str]:
    sends = folder / "sends"
    sends.mkdir(parents=True)
    (folder / "site.toml").write_text("max_bad_fraction = 1.0\n", encoding="utf-8")
    (sends / "good.jsonl").write_bytes(good_lines(random, _GOOD))
    for odd in oddities:
        odd.make(random, sends)
    codes = frozenset.intersection(*(odd.codes for odd in oddities))
    arguments = ["fault-latency", "--sends", str(sends), "--lake", str(lake), "--settings", str(folder / "site.toml"),
                 "--date", str(DATE), "--json"]  # fmt: skip
    before = lakes.versions(lake, may_be_new=True)
    ended = call(arguments, folder, {hostile.CANARY_NAME: hostile.CANARY})
    breaches = [
        *invariants.no_trace(ended),
        *invariants.expected_code(ended, codes),
        *invariants.nothing_of_the_environment(ended.out, ended.err),
    ]
    if ended.code == 0:
        days, other_days = invariants.counted(json.loads(ended.out), "fault-latency")
        if all(odd.rows is not None for odd in oddities):
            rows = _GOOD + sum(odd.rows or 0 for odd in oddities)
            breaches += invariants.sum_holds(days, other_days, rows)
    elif before:
        breaches += invariants.as_before(before, lakes.versions(lake, may_be_new=True))
    what = ", ".join(odd.what for odd in oddities)
    return [f"{breach} (of {what})" for breach in breaches]
