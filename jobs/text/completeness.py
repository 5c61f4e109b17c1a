"""What an answer is based on: its sources, and what those cannot show."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from jobs.text.terminal import counted, safe

RUNNING_INFO, CLIENT_LOG = "RUNNING_INFO", "CLIENT_LOG"
_OWNERS = {
    frozenset(): "ownership: unknown, as neither running info nor client logs show who held a queue",
    frozenset({RUNNING_INFO}): "ownership: by answers alone, no consumer logs: changes between two answers are unknown",
    frozenset({CLIENT_LOG}): "ownership: by consumers' logs alone, no running info: clients without a log are unknown",
    frozenset({RUNNING_INFO, CLIENT_LOG}): "ownership: by consumers' logs, and by their answers",
}
_MOST_NAMED = 3


def of_producers(switched_on: int, recorded: int, *, has_routes: bool) -> list[str]:
    """What isolations are based on.

    >>> of_producers(40, 28, has_routes=True)
    ['isolations: 12 of 40 producers with the switch on by replay of their sends, 28 as their clients recorded them']
    >>> of_producers(0, 0, has_routes=False)
    ['no topic routes: brokers of a topic are those in its sends']

    Args:
        switched_on: producers whose switch was on.
        recorded: those of them whose client recorded its decisions.
        has_routes: topic routes were given.
    """
    alone, all_of_them = switched_on - recorded, counted(switched_on, "producer")
    if not recorded:
        by = f"{all_of_them} with the switch on by replay of their sends, none as its client recorded them"
    elif alone <= 0:
        by = f"{all_of_them} with the switch on as their clients recorded them"
    else:
        by = (
            f"{alone:,} of {all_of_them} with the switch on by replay of their sends,"
            f" {recorded:,} as their clients recorded them"
        )
    routes = [] if has_routes else ["no topic routes: brokers of a topic are those in its sends"]
    return [f"isolations: {by}", *routes] if switched_on else routes


def of_calls(producers: int) -> list[str]:
    """What is not seen of producers whose lines are calls of `send()`.

    >>> of_calls(0), of_calls(1)
    ([], ['1 producer logs calls, not attempts: failed tries within a call are not seen (evidence INFERRED_CALL)'])
    """
    if not producers:
        return []
    log = "logs" if producers == 1 else "log"
    unseen = "failed tries within a call are not seen (evidence INFERRED_CALL)"
    return [f"{counted(producers, 'producer')} {log} calls, not attempts: {unseen}"]


def of_owners(sources: Collection[str]) -> str:
    """What ownership of queues is based on.

    >>> of_owners({"CLIENT_LOG"})
    "ownership: by consumers' logs alone, no running info: clients without a log are unknown"

    Args:
        sources: RUNNING_INFO, CLIENT_LOG, as `queue_ownership.source` has them.
    """
    return _OWNERS[frozenset(sources)]


def of_client_logs(files: Iterable[Mapping[str, Any]]) -> list[str]:
    """What was assumed of client logs, and what was not read.

    >>> read = {"entries": 9, "other_loggers": 4, "events": 0, "zone_assumed": 9, "without_head": 2}
    >>> for sentence in of_client_logs([{"file": "/l/a.log", **read}]):
    ...     print(sentence)
    client logs: UTC is assumed for /l/a.log, as nothing says its time zone; set time_zone in [client_logs."FOLDER"]
    client logs: no line of /l/a.log is of use (9 entries, 4 of other loggers)
    client logs: 2 lines of /l/a.log have an unknown layout and were not read

    Args:
        files: of `run_log.client_logs`.
    """
    read = list(files)
    said = []
    if assumed := [file["file"] for file in read if file["zone_assumed"]]:
        said.append(
            f"client logs: UTC is assumed for {some_of(assumed)}, as nothing says its time zone; set time_zone in"
            ' [client_logs."FOLDER"]'
        )
    used = {file["file"] for file in read if file["events"]}
    if silent := [file for file in read if file["file"] not in used]:
        entries, others = (sum(file[name] for file in silent) for name in ("entries", "other_loggers"))
        names = some_of([file["file"] for file in silent])
        said.append(f"client logs: no line of {names} is of use ({entries:,} entries, {others:,} of other loggers)")
    if headless := {file["file"]: file["without_head"] for file in read if file["without_head"]}:
        lines = counted(sum(headless.values()), "line")
        said.append(f"client logs: {lines} of {some_of(list(headless))} have an unknown layout and were not read")
    return said


def some_of(names: Sequence[str]) -> str:
    """The first three of the names, and how many more there are.

    >>> some_of(["a", "b", "a", "c", "d"])
    'a, b, c and 1 more'
    """
    few = list(dict.fromkeys(map(safe, names)))
    return f"{', '.join(few[:_MOST_NAMED])}{f' and {len(few) - _MOST_NAMED} more' if few[_MOST_NAMED:] else ''}"
