"""What an answer is based on: its sources, and what those cannot show."""

from __future__ import annotations

from collections.abc import Collection

from jobs.text.terminal import counted

RUNNING_INFO, CLIENT_LOG = "RUNNING_INFO", "CLIENT_LOG"
_OWNERS = {
    frozenset(): "ownership: neither running info nor client logs were given, so who held a queue is unknown",
    frozenset({RUNNING_INFO}): "ownership: by answers alone, no consumer logs: changes between two answers are unknown",
    frozenset({CLIENT_LOG}): "ownership: by consumers' logs alone, no running info: clients without a log are unknown",
    frozenset({RUNNING_INFO, CLIENT_LOG}): "ownership: by consumers' logs, and by their answers",
}


def of_producers(switched_on: int, recorded: int, *, has_routes: bool) -> list[str]:
    """What isolations are based on.

    >>> of_producers(40, 28, has_routes=True)
    ['isolations: 12 of 40 producers with the switch on by replay of their sends, 28 as their clients recorded them']
    >>> of_producers(0, 0, has_routes=False)
    ['no topic routes: brokers of a topic are those in its sends']

    Args:
        switched_on: producers whose switch was on.
        recorded: those of them whose client recorded what it decided.
        has_routes: topic routes were given.
    """
    alone, all_of_them = switched_on - recorded, counted(switched_on, "producer")
    if not recorded:
        by = f"{all_of_them} with the switch on by replay of their sends, none as its client recorded them"
    elif alone <= 0:
        by = f"{all_of_them} with the switch on as their clients recorded them"
    else:
        by = f"{alone:,} of {all_of_them} with the switch on by replay of their sends,"
        by += f" {recorded:,} as their clients recorded them"
    routes = [] if has_routes else ["no topic routes: brokers of a topic are those in its sends"]
    return [f"isolations: {by}", *routes] if switched_on else routes


def of_owners(sources: Collection[str]) -> str:
    """What ownership of queues is based on.

    >>> of_owners({"CLIENT_LOG"})
    "ownership: by consumers' logs alone, no running info: clients without a log are unknown"

    Args:
        sources: RUNNING_INFO, CLIENT_LOG, as `queue_ownership.source` has them.
    """
    return _OWNERS[frozenset(sources)]
