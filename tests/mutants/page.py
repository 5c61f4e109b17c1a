"""The page of survivors, `docs/mutants.md`: each with a reason, and how a survivor is compared with it.

A reason is a paragraph below the heading `Survivors`, and the survivors that it is given for are the list after it:

- `name` for one of our own list;
- `function` `old` → `new` for one of mutmut: `old` becomes `new` somewhere in a line; the function may be a glob.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tests.mutants.copies import ROOT, MutantsError

PAGE = ROOT / "docs/mutants.md"
_HEADING = "\n## Survivors\n"
_BULLET = re.compile(
    r"- `(?P<name>[^`]+)`(?: (?:``? ?(?P<old>.*?) ?``?|nothing) → (?:``? ?(?P<new>.*?) ?``?|nothing))?"
)


@dataclass(frozen=True)
class Survivor:
    """A mutant that no test noticed.

    Attributes:
        name: of our list; or the function that mutmut changed, with its module.
        before: the text that it changed, on one line; empty for one of our list.
        after: what stood there instead.
    """

    name: str
    before: str = ""
    after: str = ""

    def __str__(self) -> str:
        return f"`{self.name}`" + (f" `{self.before}` → `{self.after}`" if self.before or self.after else "")


@dataclass(frozen=True)
class Explained:
    """A line of the page: which survivors it stands for."""

    name: str
    old: str
    new: str
    is_of_list: bool

    def is_for(self, survivor: Survivor) -> bool:
        """Whether it stands for this one.

        >>> by_any = Explained("jobs.a.*", "strict=True", "strict=None", False)
        >>> by_any.is_for(Survivor("jobs.a.f", "zip(a, b, strict=True)", "zip(a, b, strict=None)"))
        True
        >>> by_any.is_for(Survivor("jobs.a.f", "zip(a, b, strict=True)", "zip(a, None, strict=True)"))
        False
        """
        if self.is_of_list or not (survivor.before or survivor.after):
            return self.is_of_list and self.name == survivor.name and not (survivor.before or survivor.after)
        return fnmatch.fnmatchcase(survivor.name, self.name) and survivor.after in _changed(
            survivor.before, self.old, self.new
        )

    def __str__(self) -> str:
        return f"`{self.name}`" + ("" if self.is_of_list else f" `{self.old}` → `{self.new}`")


def explained(page: str) -> list[Explained]:
    """The survivors that a page gives a reason for.

    Raises:
        MutantsError: a line cannot be read, or stands without a reason above it.
    """
    found: list[Explained] = []
    has_reason = False
    for line in page.partition(_HEADING)[2].splitlines():
        if line.startswith("- "):
            match = _BULLET.fullmatch(line)
            if match is None or not has_reason:
                raise MutantsError(f"docs/mutants.md: {'no reason above' if match else 'cannot read'} {line!r}")
            is_of_list = " → " not in line
            found.append(Explained(match["name"], match["old"] or "", match["new"] or "", is_of_list))
        elif line.strip():
            has_reason = not line.startswith("#")
    return found


def compared(survivors: Sequence[Survivor], reasons: Sequence[Explained]) -> tuple[list[Survivor], list[Explained]]:
    """The survivors without a reason, and the reasons that no survivor needs."""
    without = [each for each in survivors if not any(reason.is_for(each) for reason in reasons)]
    unneeded = [reason for reason in reasons if not any(reason.is_for(each) for each in survivors)]
    return without, unneeded


def _changed(text: str, old: str, new: str) -> Iterator[str]:
    """The text with each place of `old` changed, one at a time."""
    if not old:
        yield from (text[:place] + new + text[place:] for place in range(len(text) + 1))
        return
    place = text.find(old)
    while place >= 0:
        yield text[:place] + new + text[place + len(old) :]
        place = text.find(old, place + 1)
