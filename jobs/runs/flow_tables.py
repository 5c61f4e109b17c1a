"""Table names of each flow, for `faultline plan`, which runs without Spark."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class FlowTables:
    """Names of a flow's inputs and tables; every flow also writes `quarantine` and `run_log`.

    Attributes:
        inputs: settings below `inputs`.
        needed: inputs that the flow cannot run without.
        published: tables of the lines themselves.
        derived: tables derived from the day's lines and the state at 00:00, in the order in which their writes start:
            the longest first.
    """

    inputs: tuple[str, ...]
    needed: tuple[str, ...]
    published: tuple[str, ...]
    derived: tuple[str, ...]


FLOW_TABLES = {
    "fault-latency": FlowTables(
        inputs=("sends", "fault_item_updates", "routes"),
        needed=("sends",),
        published=("sends", "fault_item_updates", "topic_brokers", "order_key_moves"),
        derived=(
            "findings",
            "send_calls",
            "plain_calls",
            "broker_windows",
            "fault_item_changes",
            "isolation_intervals",
            "fault_item_state",
            "events",
            "producer_days",
        ),
    ),
    "allocation": FlowTables(
        inputs=("routes", "consumers", "running_info", "client_logs"),
        needed=("consumers", "routes"),
        published=(),
        derived=(
            "topic_queues",
            "route_changes",
            "group_members",
            "queue_allocation",
            "queue_ownership",
            "allocation_findings",
            "group_events",
            "rebalances",
            "strategy_comparison",
        ),
    ),
}


def inputs_of(flows: Iterable[str]) -> list[str]:
    """Distinct inputs of these flows.

    >>> inputs_of(["fault-latency", "allocation"])
    ['sends', 'fault_item_updates', 'routes', 'consumers', 'running_info', 'client_logs']
    """
    return list(dict.fromkeys(kind for flow in flows for kind in FLOW_TABLES[flow].inputs))


def needed_of(flows: Iterable[str]) -> list[str]:
    """Distinct inputs that one of these flows cannot run without.

    >>> needed_of(["fault-latency", "allocation"])
    ['sends', 'consumers', 'routes']
    """
    return list(dict.fromkeys(kind for flow in flows for kind in FLOW_TABLES[flow].needed))
