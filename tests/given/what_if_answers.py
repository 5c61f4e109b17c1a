"""What a what-if run found, by policy, as its summary holds it."""

from __future__ import annotations

from jobs.what_if.summary import PolicyLine, WhatIfSummary, with_best


def line(policy: str, hits: int, false_alarms: int, isolations: int = 3) -> PolicyLine:
    """A policy's figures; a minute isolated in all."""
    return PolicyLine(policy, "P5", [550], [2000], isolations, 60_000, 0, hits + false_alarms, hits, false_alarms, 7)


def summary(*lines: PolicyLine) -> WhatIfSummary:
    """A day of a thousand sends, 40 of them bad, with the best policies marked."""
    return WhatIfSummary(
        run_id="r", lake="lake", days=["2026-11-21"], clusters=["c"], slow_ms=550, sends=1_000, bad_sends=40,
        unavoidable=7, policies=with_best(lines), starts_empty=True, switch_on_share=0.25,
        not_replayed={"NOT_A_JAVA_CLIENT": 2},
    )  # fmt: skip
