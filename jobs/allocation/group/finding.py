"""A finding about a queue, a client, a topic or the group; columns of `allocation_findings`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from jobs.intervals.of_lists import grouped, joined
from jobs.kinds import GroupCause


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding: a `GroupKind` and its `GroupCause`. None = not about one topic or queue, or not observed."""

    start_ms: int
    end_ms: int
    kind: str
    basis: Literal["EXPECTED", "OBSERVED"] = "EXPECTED"
    cause: str = GroupCause.NONE_NEEDED
    topic: str | None = None
    broker_name: str | None = None
    queue_id: int | None = None
    client_ids: tuple[str, ...] = ()
    owners_expected: tuple[str, ...] | None = None
    owners_observed: tuple[str, ...] | None = None
    event_id: str | None = None
    sentence: str = ""


def without_pauses(findings: Iterable[Finding]) -> list[Finding]:
    """Merge equal findings that overlap or touch.

    >>> first, second = Finding(0, 5, "FLAPPING"), Finding(5, 9, "FLAPPING")
    >>> [(finding.start_ms, finding.end_ms) for finding in without_pauses([first, second])]
    [(0, 9)]
    """
    return [
        replace(of, start_ms=start_ms, end_ms=end_ms)
        for of, runs in grouped(findings, lambda finding: replace(finding, start_ms=0, end_ms=0)).items()
        for start_ms, end_ms in joined((finding.start_ms, finding.end_ms) for finding in runs)
    ]
