"""Contents page of the findings: one day's replay → everything in it that needs attention."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.fault_latency.effects.events import of_event
from jobs.fault_latency.fault_items.isolations import isolating_writes
from jobs.fault_latency.findings.against_isolation import sent_while_isolated
from jobs.fault_latency.findings.all_isolated import all_isolated, dead_broker_magnets
from jobs.fault_latency.findings.avoided_too_long import avoided_too_long
from jobs.fault_latency.findings.clock_steps import clock_steps
from jobs.fault_latency.findings.collateral import collateral_isolations
from jobs.fault_latency.findings.lone_isolations import lone_isolations
from jobs.fault_latency.findings.lost_isolations import lost_by_submit, removed_while_isolated
from jobs.fault_latency.findings.never_reachable import never_reachable_again
from jobs.fault_latency.findings.restarts import restarts
from jobs.fault_latency.findings.several_processes import falls_of_seq, overlapping_processes
from jobs.fault_latency.findings.uneven_ladders import uneven_ladder
from jobs.fault_latency.replayed_day import Replayed
from jobs.settings.model import Settings
from jobs.tables.day import Day
from udfs.policy import keeps_latest


def findings(
    items: Replayed, choices: DataFrame, without_broker: DataFrame, events: DataFrame, day: Day, settings: Settings
) -> DataFrame:
    """Rows of the table `findings`, without day.

    Args:
        items: the day's replay.
        choices: CHOICES.
        without_broker: WITHOUT_BROKER.
        events: as `with_avoidance` returns them.
        day: the day and cluster.
        settings: what counts as slow, and as too long.
    """
    slow_ms = settings.slow_ms
    attempts, per_process, isolations = items.attempts, items.sends_per_process, items.isolations
    writes = isolating_writes(items.relevant_writes)
    of_old = writes.where(~keeps_latest(F.col("policy"), items.policies))
    kinds = [
        clock_steps(items.sends, per_process),
        overlapping_processes(per_process),
        falls_of_seq(per_process),
        restarts(per_process),
        *(uneven_ladder(attempts, policy, day) for policy in items.policies if not policy.ladder.is_even),
        sent_while_isolated(choices, items.near_attempts),
        collateral_isolations(writes, items.sends, slow_ms),
        all_isolated(without_broker, choices),
        dead_broker_magnets(without_broker, choices, items.policies),
        lone_isolations(isolations, items.sends, slow_ms),
        avoided_too_long(events, isolations, items.policies, settings.avoided_too_long_ms),
        lost_by_submit(of_old),
        removed_while_isolated(of_old),
        never_reachable_again(writes, day.end_ms),
    ]
    return _union(kinds).transform(of_event, events, settings.event_gap_ms)


def _union(kinds: Sequence[DataFrame]) -> DataFrame:
    """Their rows, which have one order of columns. By halves, as each union analyses its whole plan again."""
    half = len(kinds) // 2
    return _union(kinds[:half]).union(_union(kinds[half:])) if half else kinds[0]
