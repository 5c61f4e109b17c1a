"""A day's senders: what is known of attempts without looking at them one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from pyspark.sql import DataFrame

from jobs.fault_latency.producers.attempts import WithOwner, broker_names, with_owner
from jobs.fault_latency.producers.processes import notable_processes
from jobs.fault_latency.producers.rules import versions_of
from jobs.fault_latency.producers.sender_hours import sender_hours
from jobs.fault_latency.producers.sends_per_process import AtWork, at_work, known_versions, process_sends
from jobs.settings.client_profiles import released_profiles
from jobs.settings.model import Settings
from jobs.spark.materialize import Materialize
from udfs.policy import Policy


@dataclass(frozen=True)
class Senders:
    """The attempts of one day, counted by who made them, and how rules and process of one of them are looked up.

    Attributes:
        sends: the published attempts.
        hours: they counted by sender and hour, as `sender_hours` returns them.
        per_process: they counted by process and broker, as `process_sends` returns them.
        at_work: what producers are and do.
        names: of brokers by their addresses, as `broker_names` returns them.
        processes: those that other lines say something of, as `notable_processes` returns them.
        with_owner: looks up rules and process of attempts, and of `hours`.
    """

    sends: DataFrame
    hours: DataFrame
    per_process: DataFrame
    at_work: AtWork
    names: DataFrame
    processes: DataFrame
    with_owner: WithOwner


def senders_of(
    sends: DataFrame, opening: DataFrame, settings: Settings, policies: Sequence[Policy], materialize: Materialize
) -> Senders:
    """The day's senders, by one look at every attempt.

    Args:
        sends: the published attempts of the day.
        opening: `fault_item_state` of the day before; empty when it is not in the lake.
        settings: producers' rules, what counts as slow.
        policies: every policy that a producer may follow.
        materialize: for the counts, which nearly all that follows reads.
    """
    hours = materialize("sender-hours", sender_hours(sends, settings.slow_ms))
    processes = notable_processes(sends, hours, opening, materialize)
    owner = partial(with_owner, producers=settings.producers, processes=processes)
    parsed = versions_of(hours, released_profiles(), settings.producers)
    per_process = materialize("process-sends", process_sends(owner(hours, versions=parsed)))
    return Senders(
        sends,
        hours,
        per_process,
        at_work(per_process, policies),
        broker_names(hours),
        processes,
        with_owner=partial(owner, versions=known_versions(per_process)),
    )
