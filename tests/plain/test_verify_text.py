"""What a verify run says, and its conditions."""

from __future__ import annotations

import dataclasses
import re

import pytest

from jobs.cli.fail_on import OF_VERIFY, check_counts, parse_condition
from jobs.errors import ConditionMetError, UsageError
from jobs.tables import REPLAY_CHECKS
from jobs.verify.summary import VerifySummary
from jobs.verify.summary_text import CAUSES, verify_text

ITEM = {
    "event_date": "2026-11-21", "source": "RECORDED", "writer": "p1\x1b", "producer_group": "PG",
    "broker_name": "broker-a", "written": 1_200, "matched": 1_190, "other_length": 3, "missed": 7, "extra": 2,
    "differing_ms": 9_500, "cause": "UNEXPLAINED",
}  # fmt: skip
SUMMARY = VerifySummary(
    run_id="r", lake="/lake", days=["2026-11-21"], clusters=["c"], log_lines=10, bad_lines=2, switched_on=3, recorded=1,
    written=1_300, matched=1_290, other_length=3, missed=7, extra=2, isolated_ms=60_000, replayed_ms=58_000,
    differing_ms=9_500, causes={"WITHOUT_EFFECT": 4, "UNEXPLAINED": 1}, worst=[ITEM],
    notes=["client logs: no line of /l/\x1b.log is of use (9 entries, 4 of other loggers)"],
)  # fmt: skip


def test_the_answer_on_one_screen() -> None:
    assert verify_text(SUMMARY).splitlines() == [
        "2026-11-21  cluster c: what clients wrote against the replay from sends",
        "  1,290 of 1,300 writes replayed alike (99.23 %); 3 of another length, 7 missed, 2 extra",
        "  isolated 1 min 00 s by clients, 58.0 s by the replay; 9.5 s by one of the two alone",
        "",
        "Where they differ, worst first, 1 of 5",
        "  day         producer or log  broker    written  alike  other length  missed  extra  differing  cause",
        "  2026-11-21  p1\\x1b (PG)      broker-a  1,200    1,190  3             7       2      9.5 s      UNEXPLAINED",
        "",
        "Notes",
        f"  WITHOUT_EFFECT (4): {CAUSES['WITHOUT_EFFECT']}",
        "  UNEXPLAINED (1): none of these: what sends cannot show (docs/exactness.md), or a fault of the replay",
        "  2 of 3 producers with the switch on recorded nothing: only a log can say more of them",
        "  2 lines of client logs in quarantine, source fault_item_logs",
        "  client logs: no line of /l/\\x1b.log is of use (9 entries, 4 of other loggers)",
        "  per producer, or log, and broker: /lake/replay_checks",
    ]


def test_what_agrees_is_short() -> None:
    whole = dataclasses.replace(
        SUMMARY, days=["2026-11-21", "2026-11-22"], written=1, matched=1, other_length=0, missed=0, extra=0,
        causes={}, worst=[], bad_lines=0, recorded=3, notes=[],
    )  # fmt: skip
    assert verify_text(whole).splitlines() == [
        "2026-11-21 to 2026-11-22  cluster c: what clients wrote against the replay from sends",
        "  1 of 1 write replayed alike (100 %); 0 of another length, 0 missed, 0 extra",
        "  isolated 1 min 00 s by clients, 58.0 s by the replay; 9.5 s by one of the two alone",
        "",
        "Notes",
        "  per producer, or log, and broker: /lake/replay_checks",
    ]
    assert "0 of 0 writes replayed alike; 0" in verify_text(dataclasses.replace(whole, written=0, matched=0))


@pytest.mark.parametrize("cause", REPLAY_CHECKS.closed_lists["cause"])
def test_each_cause_is_said_with_what_to_do(cause: str) -> None:
    assert re.search(rf"\n  {cause} \(1\): \S", verify_text(dataclasses.replace(SUMMARY, causes={cause: 1})))


def test_a_log_has_no_group() -> None:
    of_log = ITEM | {"source": "CLIENT_LOG", "writer": "/logs/rocketmq_client.log", "producer_group": ""}
    assert "/logs/rocketmq_client.log  broker-a" in verify_text(dataclasses.replace(SUMMARY, worst=[of_log]))


def test_what_has_no_effect_does_not_differ() -> None:
    assert SUMMARY.differing == 1


def test_conditions() -> None:
    asked = [parse_condition(text, OF_VERIFY) for text in ("differing>3", "Unexplained")]
    check_counts(asked, {"differing": 3, "unexplained": 0})
    with pytest.raises(ConditionMetError, match="held: differing 4, unexplained 1; the tables are published"):
        check_counts(asked, {"differing": 4, "unexplained": 1})
    with pytest.raises(
        UsageError, match=r"not a condition \(did you mean 'unexplained'\?\); give differing, unexplained, or"
    ):
        parse_condition("unexplaned", OF_VERIFY)
