"""The words that a question may consist of: `words.toml`."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib.resources import files

UNKNOWN = "nobody has looked at it yet"


@dataclass(frozen=True)
class Words:
    """Statements that are allowed, and why others are not.

    Attributes:
        functions: scalar, aggregate, window and table functions that compute from their arguments alone.
        refused: each function that reaches beyond them, to the reason.
        expressions: classes of analyzed expressions, beside those that the functions are named after.
    """

    functions: frozenset[str]
    refused: dict[str, str]
    expressions: frozenset[str]

    def why_not(self, function: str) -> str | None:
        """The reason to refuse the function; null = it is allowed."""
        return None if function in self.functions else self.refused.get(function, UNKNOWN)


def read_words() -> Words:
    """The lists of `words.toml`."""
    listed = tomllib.loads(files("jobs").joinpath("serving", "words.toml").read_text(encoding="utf-8"))
    return Words(
        functions=frozenset(name for names in listed["allowed"].values() for name in names.split()),
        refused={name: reason for reason, names in listed["refused"].items() for name in names.split()},
        expressions=frozenset(name for names in listed["expressions"].values() for name in names.split()),
    )
