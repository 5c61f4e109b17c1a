"""How Hypothesis draws the files that lines lie in, and the order in which their days are published."""

from __future__ import annotations

import datetime as dt
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hypothesis import strategies as st

from tests.given.seeded_days import write_text
from tests.given.seeded_producers import Line


@dataclass(frozen=True)
class DrawnFiles:
    """Lines in no order.

    Attributes:
        number: of files, every second one gzipped.
        seed: of the order of lines.
        copied: good lines that stand once more, by their place among all lines, again from the first after the last.
        days: the order in which the days are published.
    """

    number: int
    seed: int
    copied: tuple[int, ...]
    days: tuple[dt.date, ...]

    def copies(self, lines: Sequence[Line]) -> list[Line]:
        """The lines that stand once more."""
        return [lines[place] for place in sorted({place % len(lines) for place in self.copied})] if lines else []

    def write(self, folder: Path, lines: Sequence[Line], bad: Sequence[str]) -> None:
        """All of them; a copy has its fields the other way round."""
        again = [dict(reversed(line.items())) for line in self.copies(lines)]
        texts = [*(json.dumps(line) for line in [*lines, *again]), *bad]
        random.Random(self.seed).shuffle(texts)
        for nth in range(self.number):
            write_text(folder / f"part-{nth}.jsonl{'.gz' if nth % 2 else ''}", texts[nth :: self.number])


def files_of(days: Sequence[dt.date], *, hard: bool) -> st.SearchStrategy[DrawnFiles]:
    """Files in which lines of all days are mixed; `hard`: several, with copies, the last day published first."""
    return st.builds(
        DrawnFiles,
        number=st.integers(2 if hard else 1, 4),
        seed=st.integers(0, 999),
        copied=st.lists(st.integers(0, 99), min_size=2 if hard else 0, max_size=6).map(tuple),
        days=st.just(tuple(reversed(days))) if hard else st.permutations(days).map(tuple),
    )
