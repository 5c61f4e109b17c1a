"""One module per published table: grain, keys, columns with units, and the checks the lake enforces."""

from collections.abc import Iterable

from jobs.tables.allocation_findings import ALLOCATION_FINDINGS
from jobs.tables.broker_windows import BROKER_WINDOWS
from jobs.tables.events import EVENTS
from jobs.tables.fault_item_changes import FAULT_ITEM_CHANGES
from jobs.tables.fault_item_state import FAULT_ITEM_STATE
from jobs.tables.fault_item_updates import FAULT_ITEM_UPDATES
from jobs.tables.findings import FINDINGS
from jobs.tables.group_events import GROUP_EVENTS
from jobs.tables.group_members import GROUP_MEMBERS
from jobs.tables.isolation_intervals import ISOLATION_INTERVALS
from jobs.tables.order_key_moves import ORDER_KEY_MOVES
from jobs.tables.plain_calls import PLAIN_CALLS
from jobs.tables.policy_outcomes import POLICY_OUTCOMES
from jobs.tables.producer_days import PRODUCER_DAYS
from jobs.tables.quarantine import QUARANTINE
from jobs.tables.queue_allocation import QUEUE_ALLOCATION
from jobs.tables.queue_ownership import QUEUE_OWNERSHIP
from jobs.tables.rebalances import REBALANCES
from jobs.tables.replay_checks import REPLAY_CHECKS
from jobs.tables.route_changes import ROUTE_CHANGES
from jobs.tables.run_log import RUN_LOG
from jobs.tables.send_calls import SEND_CALLS
from jobs.tables.sends import SENDS
from jobs.tables.strategy_comparison import STRATEGY_COMPARISON
from jobs.tables.table import Table
from jobs.tables.topic_brokers import TOPIC_BROKERS
from jobs.tables.topic_queues import TOPIC_QUEUES

TABLES: tuple[Table, ...] = (
    SENDS,
    FAULT_ITEM_UPDATES,
    TOPIC_BROKERS,
    FAULT_ITEM_CHANGES,
    ISOLATION_INTERVALS,
    FAULT_ITEM_STATE,
    BROKER_WINDOWS,
    EVENTS,
    PRODUCER_DAYS,
    SEND_CALLS,
    PLAIN_CALLS,
    FINDINGS,
    POLICY_OUTCOMES,
    REPLAY_CHECKS,
    ORDER_KEY_MOVES,
    TOPIC_QUEUES,
    ROUTE_CHANGES,
    GROUP_MEMBERS,
    QUEUE_ALLOCATION,
    QUEUE_OWNERSHIP,
    ALLOCATION_FINDINGS,
    GROUP_EVENTS,
    REBALANCES,
    STRATEGY_COMPARISON,
    QUARANTINE,
    RUN_LOG,
)


def named(names: Iterable[str]) -> tuple[Table, ...]:
    """The tables of these names, in order."""
    return tuple(next(table for table in TABLES if table.name == name) for name in names)


__all__ = [
    "ALLOCATION_FINDINGS",
    "BROKER_WINDOWS",
    "EVENTS",
    "FAULT_ITEM_CHANGES",
    "FAULT_ITEM_STATE",
    "FAULT_ITEM_UPDATES",
    "FINDINGS",
    "GROUP_EVENTS",
    "GROUP_MEMBERS",
    "ISOLATION_INTERVALS",
    "ORDER_KEY_MOVES",
    "PLAIN_CALLS",
    "POLICY_OUTCOMES",
    "PRODUCER_DAYS",
    "QUARANTINE",
    "QUEUE_ALLOCATION",
    "QUEUE_OWNERSHIP",
    "REBALANCES",
    "REPLAY_CHECKS",
    "ROUTE_CHANGES",
    "RUN_LOG",
    "SENDS",
    "SEND_CALLS",
    "STRATEGY_COMPARISON",
    "TABLES",
    "TOPIC_BROKERS",
    "TOPIC_QUEUES",
    "Table",
    "named",
]
