"""What an answer rests on: the sources that it has, and what those cannot know."""

from __future__ import annotations

from collections.abc import Collection

from jobs.text.terminal import counted

RUNNING_INFO, CLIENT_LOG = "RUNNING_INFO", "CLIENT_LOG"
_OWNERS = {
    frozenset(): "ownership: neither running info nor client logs were given, so that who held a queue is not known",
    frozenset({RUNNING_INFO}): "ownership: by answers alone, no consumer logs: what changed between two is not known",
    frozenset({CLIENT_LOG}): "ownership: by consumers' logs alone, no running info: others than theirs are not known",
    frozenset({RUNNING_INFO, CLIENT_LOG}): "ownership: by consumers' logs, and by their answers",
}


def of_producers(switched_on: int, recorded: int, *, has_routes: bool) -> list[str]:
    """What isolations rest on.

    >>> of_producers(40, 28, has_routes=True)
    ['isolations: 12 of 40 producers with the switch on by replay of their sends, 28 as their clients recorded them']
    >>> of_producers(0, 0, has_routes=False)
    ['no topic routes: the brokers of a topic are those that sends name']

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
    routes = [] if has_routes else ["no topic routes: the brokers of a topic are those that sends name"]
    return [f"isolations: {by}", *routes] if switched_on else routes


def of_owners(sources: Collection[str]) -> str:
    """What ownership of queues rests on.

    >>> of_owners({"CLIENT_LOG"})
    "ownership: by consumers' logs alone, no running info: others than theirs are not known"

    Args:
        sources: RUNNING_INFO, CLIENT_LOG, as `queue_ownership.source` has them.
    """
    return _OWNERS[frozenset(sources)]
