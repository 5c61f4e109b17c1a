"""Contents page of `faultline verify`: what clients wrote on one day → how the replay from their sends agrees."""

from __future__ import annotations

from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.fault_latency.replayed_day import DayOfProducers, replayed
from jobs.settings.model import Settings
from jobs.spark.materialize import Materialize
from jobs.tables import REPLAY_CHECKS
from jobs.tables.day import Day
from jobs.tables.partition import with_partition_columns
from jobs.verify.compared import compared_items
from jobs.verify.facts import facts_of_writers, with_cause
from jobs.verify.frames import CLIENTS, WRITERS
from jobs.verify.writers import WRITER, clients_of_logs, recorded_producers
from jobs.verify.writes import CLIENT, REPLAY, logged_writes, recorded_writes, replayed_writes, stretches


def replay_checks(
    of: DayOfProducers,
    day: Day,
    settings: Settings,
    materialize: Materialize,
    *,
    isolations: DataFrame,
    updates: DataFrame,
    log_lines: DataFrame,
) -> DataFrame:
    """Rows of `replay_checks` of one day, without `run_id`.

    Only clients that wrote are replayed, from their sends alone.

    Args:
        of: the published day.
        day: the day and cluster.
        settings: as of the replay that the lake has.
        materialize: writes out a frame that several others read.
        isolations: rows of `isolation_intervals`, which rest on the record where there is one.
        updates: rows of `fault_item_updates`; may be empty.
        log_lines: good lines of client logs of any day, as `fault_item_log` reads them; may be empty.
    """
    clients = materialize(CLIENTS, recorded_producers(updates).unionByName(clients_of_logs(log_lines)))
    ids = F.broadcast(clients.select("client_id").distinct())
    sends, opening = (rows.join(ids, "client_id", "left_semi") for rows in (of.sends, of.opening))
    items = replayed(DayOfProducers(sends, opening, of.topic_brokers), day, settings, materialize)
    facts = facts_of_writers(clients, updates, items.sends_per_process, opening, items.policies)
    writers = materialize(WRITERS, facts)
    writes = [
        recorded_writes(updates, writers, items.policies),
        logged_writes(log_lines.where(F.col("day") == F.lit(day.date)), writers),
        replayed_writes(items.relevant_writes, clients, items.policies),
        stretches(isolations, CLIENT),
        stretches(items.isolations, REPLAY),
    ]
    of_writers = reduce(DataFrame.unionByName, writes).join(
        F.broadcast(writers.select(*WRITER)), list(WRITER), "left_semi"
    )
    checks = with_cause(compared_items(of_writers), writers, updates)
    names = [name for name in REPLAY_CHECKS.schema.fieldNames() if name != "run_id"]
    return checks.transform(with_partition_columns, day).select(*names)
