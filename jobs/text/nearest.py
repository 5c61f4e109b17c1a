"""Suggests known words for an unknown one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The nearest known word in parentheses, ignoring case; empty if none is near.

    >>> did_you_mean("--dat", ["--lake", "--date"]), did_you_mean("--no", ["--no-cascade"]), did_you_mean("x", ["y"])
    (" (did you mean '--date'?)", " (did you mean '--no-cascade'?)", '')
    >>> did_you_mean("BROKER-A", ["broker-b", "broker-a"])
    " (did you mean 'broker-a'?)"
    """
    names = {_bare(name): name for name in known}
    bare = _bare(word)
    begun = [name for name in names if bare and name.startswith(bare)]  # click accepts no abbreviations
    near = (begun or difflib.get_close_matches(bare, names, n=1))[:1]
    return f" (did you mean {names[near[0]]!r}?)" if near else ""


def _bare(word: str) -> str:
    """The word in lower case, without leading dashes, which would make all options similar."""
    return word.lstrip("-").casefold()
