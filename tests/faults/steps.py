"""The steps of a run, each a commit to a table: the n-th to `sends` is `sends 1`, `sends 2` and so on.

Listed by hand, as a list of the tests is made before a run is; tests hold them equal to what an undisturbed run does.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

import jobs.allocation.run
import jobs.fault_latency.run
from jobs.lake.tables_io import Lake

DERIVED_OF_SENDS = ("fault_item_changes", "isolation_intervals", "fault_item_state", "broker_windows",
                    "events", "producer_days", "send_calls", "plain_calls", "findings")  # fmt: skip
DERIVED_OF_GROUPS = ("topic_queues", "route_changes", "group_members", "queue_allocation", "queue_ownership",
                     "allocation_findings", "group_events", "rebalances", "strategy_comparison")  # fmt: skip

SENDS = ("run_log 1", *(f"{table} 1" for table in (
    "sends", "fault_item_updates", "topic_brokers", "order_key_moves", "quarantine", *DERIVED_OF_SENDS)), "run_log 2",
)  # fmt: skip
SECOND_DAY = ("run_log 3", *(f"{table} 2" for table in DERIVED_OF_SENDS), "run_log 4")
"""What follows in the same run, when the first day's end changed what the second starts from."""
GROUPS = ("run_log 1", *(f"{table} 1" for table in ("quarantine", *DERIVED_OF_GROUPS)), "run_log 2")

_EVENTS = ("STARTED", "SUCCEEDED", "STARTED", "SUCCEEDED")  # of the day, of the second day


def nothing(_step: str) -> None:
    """What happens at most steps."""


@contextmanager
def watched(before: Callable[[str], None], after: Callable[[str], None] = nothing) -> Iterator[None]:
    """Let runs in the block call these with the name of each step; `staging 1` is one too.

    The program knows nothing of it: its steps are wrapped from outside.
    """
    begun: Counter[str] = Counter()

    def wrapped(function: Callable[..., Any], name: Callable[..., str]) -> Any:
        def called(*args: Any, **named: Any) -> Any:
            begun[name(*args)] += 1
            step = f"{name(*args)} {begun[name(*args)]}"
            before(step)
            result = function(*args, **named)
            after(step)
            return result

        return called

    def of_table(_: Lake, table: Any, *__: Any) -> str:
        return str(table.name)

    with ExitStack() as patches:
        patches.enter_context(mock.patch.object(Lake, "publish_day", wrapped(Lake.publish_day, of_table)))
        patches.enter_context(mock.patch.object(Lake, "append", wrapped(Lake.append, of_table)))
        for each in staged_by(lambda stage: wrapped(stage, lambda *_: "staging")):
            patches.enter_context(each)
        yield


def staged_by(change: Callable[[Callable[..., Any]], Any]) -> list[Any]:
    """Patches, not yet begun, after which both flows stage their input by what `change` makes of their stage."""
    flows = ((jobs.fault_latency.run, "FAULT_LATENCY_FLOW"), (jobs.allocation.run, "ALLOCATION_FLOW"))
    return [
        mock.patch.object(module, name, dataclasses.replace(flow, stage=change(flow.stage)))
        for module, name in flows
        if (flow := vars(module)[name])
    ]


def logged(steps: Sequence[str], when: str, step: str) -> list[str]:
    """What the run log holds of a run that died before or after the step, sorted.

    >>> logged(SENDS, "before", "sends 1"), logged(SENDS, "after", "run_log 2")
    (['STARTED'], ['STARTED', 'SUCCEEDED'])
    """
    if step not in steps:  # staging
        return []
    done = steps[: steps.index(step) + (when == "after")]
    return sorted(_EVENTS[: sum(each.startswith("run_log ") for each in done)])
