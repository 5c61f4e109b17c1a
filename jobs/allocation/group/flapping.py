"""Members that repeatedly drop off a broker's list and return."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from jobs.allocation.group.known import MemberList
from jobs.intervals.of_lists import grouped, in_time

REBALANCE_MS = 21_000  # clients rebalance every 20 s; one more second to do it
_FLAPS = 3  # returns of one member within ten minutes
_FLAPPING_MS = 600_000
_AWAY_MS = 120_000
Flap = tuple[str, int, int]
"""Client id, start and end of an interval in which a member repeatedly dropped off and returned."""


def flaps(member_lists: Iterable[MemberList]) -> list[Flap]:
    """Members that drop off a broker's list and return within two minutes, three times in ten minutes."""
    return [
        (client_id, first_ms, last_ms + REBALANCE_MS)
        for of_broker in grouped(member_lists, lambda member_list: member_list.broker_name).values()
        for client_id, returns in grouped(_returns(of_broker), lambda pair: pair[0]).items()
        for first_ms, last_ms in _often([at_ms for _, at_ms in returns])
    ]


def _returns(lists: Iterable[MemberList]) -> Iterator[tuple[str, int]]:
    """Client id and time of each return to a broker's list shortly after dropping off it, by time.

    Nobody drops off while the broker does not answer.
    """
    named_until_ms: dict[str, int] = {}
    for before, after in pairwise(in_time(lists)):
        named_until_ms |= dict.fromkeys(before.client_ids, before.end_ms)
        for client_id in sorted({*named_until_ms}.intersection(after.client_ids).difference(before.client_ids)):
            if after.start_ms - named_until_ms[client_id] <= _AWAY_MS:
                yield client_id, after.start_ms


def _often(returns: Sequence[int]) -> Iterator[tuple[int, int]]:
    """First and last of every three consecutive returns within ten minutes.

    >>> list(_often([0, 300_000, 600_000, 901_000]))
    [(0, 600000)]
    """
    for first_ms, last_ms in zip(returns, returns[_FLAPS - 1 :], strict=False):
        if last_ms - first_ms <= _FLAPPING_MS:
            yield first_ms, last_ms
