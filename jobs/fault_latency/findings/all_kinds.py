"""Contents page of the findings: one day's replay → everything in it that needs attention."""

from __future__ import annotations

from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.fault_latency.fault_items.without_broker import intervals_without_broker
from jobs.fault_latency.findings.against_isolation import sent_while_isolated
from jobs.fault_latency.findings.all_isolated import all_isolated, dead_broker_magnets
from jobs.fault_latency.findings.clock_steps import clock_steps
from jobs.fault_latency.findings.collateral import collateral_isolations
from jobs.fault_latency.findings.lone_and_wide import lone_isolations, wide_isolations
from jobs.fault_latency.findings.lost_isolations import lost_by_submit, removed_while_isolated
from jobs.fault_latency.findings.never_reachable import never_reachable_again
from jobs.fault_latency.findings.several_processes import several_processes
from jobs.fault_latency.findings.uneven_ladders import uneven_ladder
from jobs.fault_latency.producers.senders import Senders
from jobs.spark.materialize import Materialize
from jobs.tables.day import Day
from udfs.policy import last_write_wins


def findings(
    senders: Senders,
    isolations: DataFrame,
    writes: DataFrame,
    choices: DataFrame,
    health: DataFrame,
    incidents: DataFrame,
    known_routes: DataFrame,
    day: Day,
    slow_ms: int,
    materialize: Materialize,
) -> DataFrame:
    """Rows of the table `findings`, without day; a kind that no producer of the day can have is not computed.

    Args:
        senders: the day's attempts, counted by who made them.
        isolations: the day's isolations.
        writes: isolating writes with `change`.
        choices: as `choices` returns them.
        health: as `broker_health` returns it.
        incidents: as `broker_incidents` returns them.
        known_routes: as `known_routes_of` returns it; may be empty.
        day: the day and cluster.
        slow_ms: an answer this late counts as slow.
        materialize: for frames that several kinds read.
    """
    sends, with_owner, followed = senders.sends, senders.with_owner, senders.at_work.policies
    kinds = [
        clock_steps(sends, with_owner, senders.processes),
        several_processes(senders),
        *(uneven_ladder(sends.transform(with_owner), each, day) for each in followed if not each.ladder.is_even),
    ]
    if isolations.isEmpty():
        return reduce(DataFrame.unionByName, kinds)
    without_broker = materialize(
        "intervals-without-broker", intervals_without_broker(senders.per_process, isolations, known_routes)
    )
    kinds += [
        sent_while_isolated(choices, sends, with_owner),
        collateral_isolations(writes, health),
        all_isolated(without_broker, choices),
        lone_isolations(isolations, sends, slow_ms, materialize),
        wide_isolations(incidents),
    ]
    if any(policy.write_rule == "LAST_WRITE" for policy in followed):
        kinds += [
            lost_by_submit(writes.where(last_write_wins(F.col("policy"), followed))),
            removed_while_isolated(writes),
            dead_broker_magnets(without_broker, choices, followed),
        ]
    if any(policy.reachable_gates for policy in followed):
        kinds.append(never_reachable_again(writes, day.end_ms))
    return reduce(DataFrame.unionByName, kinds)
