"""One thing that the doctor looked at: a line of its answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from jobs.errors import FaultlineError

Verdict = Literal["ok", "warning", "wrong"]


@dataclass(frozen=True)
class Check:
    """One check: its name, its result, and the fix; no fix where nothing is to be done."""

    name: str
    verdict: Verdict
    found: str
    fix: str = ""


def checked(name: str, look: Callable[[], str]) -> Check:
    """`ok` with what `look` found; `wrong` with its error, whose sentence is `found; fix`."""
    try:
        return Check(name, "ok", look())
    except FaultlineError as error:
        found, _, fix = str(error).partition("; ")
        return Check(name, "wrong", found, fix)
