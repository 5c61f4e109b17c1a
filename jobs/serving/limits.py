"""Limits of time and rows of a query."""

from __future__ import annotations

from dataclasses import dataclass

from jobs.errors import UsageError

_MOST = 1_000_000


@dataclass(frozen=True)
class Limits:
    """Of each question.

    Attributes:
        time_s: seconds after which it is ended.
        result_mb: MB that its tasks may hand back.
    """

    time_s: int = 600
    result_mb: int = 256

    def __post_init__(self) -> None:
        for name, value in (("time-limit-s", self.time_s), ("result-limit-mb", self.result_mb)):
            if not 1 <= value <= _MOST:
                raise UsageError(f"--{name} {value} is no limit; give 1 to {_MOST}")
