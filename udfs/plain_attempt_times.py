"""The times of one send attempt, without Spark."""

from __future__ import annotations

LARGEST_STEP_MS = 1_000_000
"""As far as a clock may be off and still be set by itself: ntpd stops beyond 1,000 s (its panic threshold)."""


def plain_times_contradict(started_at_ms: int | None, submitted_at_ms: int | None, ended_at_ms: int, took: int) -> bool:
    """`udfs.attempt_times.times_contradict` for one attempt.

    >>> plain_times_contradict(1, 2, 4, 3), plain_times_contradict(1, 2_000_000, 4, 3)
    (False, True)
    """
    began = ended_at_ms - took
    started = began if started_at_ms is None else started_at_ms
    is_early = submitted_at_ms is not None and started - submitted_at_ms > LARGEST_STEP_MS
    is_late = submitted_at_ms is not None and submitted_at_ms - ended_at_ms > LARGEST_STEP_MS
    return is_early or is_late or abs(started - began) > LARGEST_STEP_MS
