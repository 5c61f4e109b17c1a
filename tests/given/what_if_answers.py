"""What a what-if run found, by policy, as its summary holds it."""

from __future__ import annotations

from typing import Any

from jobs.what_if.summary import PolicyLine, WhatIfSummary, with_best

IN_USE: list[dict[str, Any]] = [
    {"client_version": "4.7.1", "policy": "P1", "producers": 1_200, "groups": [f"PG_{number}" for number in range(6)]},
    {"client_version": None, "policy": "P5 with the ladder of PG\x1b", "producers": 2, "groups": ["PG\x1b"]},
]


def line(policy: str, hits: int, false_alarms: int, isolations: int = 3) -> PolicyLine:
    """A policy's figures; a minute isolated in all."""
    since = {"P1": "4.0.0", "P2": "4.8.0", "P5": "5.2.0"}.get(policy)
    figures = isolations, 60_000, 0, hits + false_alarms, hits, false_alarms, 7
    return PolicyLine(policy, "P5", [550], [2000], *figures, since=since, failure_ms=2_000)


def summary(*lines: PolicyLine) -> WhatIfSummary:
    """A day of a thousand sends, 40 of them bad, with the best policies marked."""
    return WhatIfSummary(
        run_id="r", lake="lake", days=["2026-11-21"], clusters=["c"], slow_ms=550, sends=1_000, bad_sends=40,
        unavoidable=7, policies=with_best(lines), in_use=IN_USE, starts_empty=True, switch_on_share=0.25,
        not_replayed={"NOT_A_JAVA_CLIENT": 2},
    )  # fmt: skip
