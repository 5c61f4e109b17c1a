"""Suggestions for an unknown name."""

from __future__ import annotations

import difflib
from collections.abc import Collection


def near_names(name: str, known: Collection[str]) -> str:
    """The nearest of the known names, else all of them, for a sentence.

    >>> near_names("latency", ["latency_ms", "mode"]), near_names("x", ["b", "a"])
    ("did you mean 'latency_ms'?", 'known here: b, a')
    """
    near = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {near[0]!r}?" if near else f"known here: {', '.join(known)}"
