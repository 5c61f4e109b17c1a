"""Clients' answers checked against member lists: a client that dropped out of every list owns nothing."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence

from jobs.allocation.group.known import Answered, MemberList
from jobs.intervals.of_lists import covered_parts

_FOR_EVER_MS = 2**62
_Span = tuple[int, int]
"""Start and end."""


def while_listed(answered: Iterable[Answered], member_lists: Sequence[MemberList]) -> list[Answered]:
    """The answers, cut where the client has dropped out of every member list.

    Exceptions: a client that answers while unlisted still counts, a client that was never listed is kept, and
    nobody drops out while no broker answers.

    Args:
        answered: intervals of equal answers.
        member_lists: intervals longer than zero.
    """
    unlisted = _unlisted(member_lists)
    return [part for answer in answered for part in _without(answer, unlisted)]


def _unlisted(member_lists: Iterable[MemberList]) -> dict[str, list[_Span]]:
    """Intervals from a client's disappearance from all lists until its return to one."""
    spans: dict[str, list[_Span]] = {}
    left_ms: dict[str, int] = {}
    before: frozenset[str] = frozenset()
    for start_ms, _, covering in covered_parts(member_lists):
        listed = frozenset(client_id for member_list in covering for client_id in member_list.client_ids)
        left_ms |= dict.fromkeys(before - listed, start_ms)
        for client_id in listed & left_ms.keys():
            spans.setdefault(client_id, []).append((left_ms.pop(client_id), start_ms))
        before = listed
    for client_id, since_ms in left_ms.items():
        spans.setdefault(client_id, []).append((since_ms, _FOR_EVER_MS))
    return spans


def _without(answered: Answered, unlisted: Mapping[str, Sequence[_Span]]) -> Iterator[Answered]:
    rest = answered
    for left_ms, back_ms in unlisted.get(answered.client_id, ()):
        answers = (rest.start_ms, rest.last_answer_ms)
        if not rest.start_ms < left_ms < rest.end_ms or any(left_ms <= at_ms < back_ms for at_ms in answers):
            continue
        yield dataclasses.replace(rest, end_ms=left_ms, last_answer_ms=min(rest.last_answer_ms, left_ms))
        if back_ms >= rest.end_ms:
            return
        rest = dataclasses.replace(rest, start_ms=back_ms, last_answer_ms=max(rest.last_answer_ms, back_ms))
    yield rest
