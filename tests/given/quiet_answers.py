"""What a run says of a night in which nothing happened; tests change what they are about."""

from __future__ import annotations

from jobs.answers.digest import Digest
from jobs.answers.night import Day
from jobs.runs.facts import Facts

DAY = {
    "date": "2026-11-21", "cluster": "north", "started_from": "PREVIOUS_DAY", "rows_read": 15_832,
    "rows_published": 15_700, "rows_quarantined": 1_002, "rows_duplicate": 3_003, "rows_other_day": 4_004,
    "rows_other_cluster": 0,
}  # fmt: skip
FACTS = Facts(
    flow="fault-latency", clusters=["north"], days=[DAY], recomputed_days=[], cascaded_days=[], stale_days=[],
    forgotten_days=[], read_otherwise=[], other_settings=[], other_days={}, hidden_files=[],
    warnings=[],
)  # fmt: skip
COUNTS = {name: 0 for name in Day.__dataclass_fields__ if name != "date"} | {"has_sends": True, "has_groups": False}
QUIET = Digest(
    date="2026-11-21", cluster="north", headline="A quiet night.", warning=None, not_given=[], counts=COUNTS,
    costs=[], events=[], findings=[], in_full=[], kinds={}, severities={}, broker_count=0, brokers=[],
    producer_count=7, producers=[], producer_group_count=0, producer_groups=[],
    contradictions=0, missing_producers=[], group_count=0, groups=[], group_events=[], group_findings=[], queues={},
    rejected=[], rests_on=[], owners={},
)  # fmt: skip
