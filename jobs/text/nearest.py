"""The nearest of a few known words, for who wrote another one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The nearest of what is known, in parentheses, whatever the letter case; nothing when none is near.

    >>> did_you_mean("--dat", ["--lake", "--date"]), did_you_mean("--no", ["--no-cascade"]), did_you_mean("x", ["y"])
    (" (did you mean '--date'?)", " (did you mean '--no-cascade'?)", '')
    >>> did_you_mean("BROKER-A", ["broker-b", "broker-a"])
    " (did you mean 'broker-a'?)"
    """
    names = {_bare(each): each for each in known}
    bare = _bare(word)
    begun = [each for each in names if bare and each.startswith(bare)]  # click takes no abbreviation
    near = (begun or difflib.get_close_matches(bare, names, n=1))[:1]
    return f" (did you mean {names[near[0]]!r}?)" if near else ""


def _bare(word: str) -> str:
    """Without letter case and leading dashes: two dashes make nothing alike."""
    return word.lstrip("-").casefold()
