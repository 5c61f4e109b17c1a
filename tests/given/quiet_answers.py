"""What both flows answer of a night in which nothing happened; tests change what they are about."""

from __future__ import annotations

from jobs.allocation.summary import AllocationSummary
from jobs.fault_latency.summary import Summary

DAY = {
    "date": "2026-11-21", "cluster": "north", "started_from": "PREVIOUS_DAY", "rows_read": 15_832,
    "rows_published": 15_700, "rows_quarantined": 1_002, "rows_duplicate": 3_003, "rows_other_day": 4_004,
    "rows_other_cluster": 0,
}  # fmt: skip
QUIET = Summary(
    run_id="r", clusters=["north"], lake="/the/lake", days=[DAY], recomputed_days=[], cascaded_days=[], stale_days=[],
    forgotten_days=[], read_otherwise=[], other_settings=[], other_days={},
    quarantine_reasons={}, brokers=[], incident_count=0, minor_incident_count=0,
    minor_incident="short and cheap", incidents=[], findings=[], worst_findings=[],
    producer_count=7, isolating_producers=0, isolating_groups=0, producer_groups=[], producers=[], isolations=0,
    would_have_isolated_ms=0, switch_assumed_off=0, switched_on=0, recorded=0, not_replayed={},
    contradictions=0, contradicting=[], missing_producers=[],
    hidden_files=[], repeated_files=[], bad_routes=0, owners={}, rests_on=[],
)  # fmt: skip
NO_GROUPS = AllocationSummary(
    run_id="r", clusters=["north"], lake="/the/lake", days=[DAY], stale_days=[], other_settings=[], other_days={},
    quarantine_reasons={}, group_count=0, groups=[], faults=[], finding_count=0, kinds={}, unread_queues=0,
    idle_queues=0, route_changes=0, hidden_files=[], repeated_files=[], owners={}, rests_on=[],
)  # fmt: skip
