"""Queues of each client by the strategies."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from jobs.allocation.group.inputs import Input
from jobs.allocation.group.known import OwnerBefore
from jobs.intervals.of_lists import grouped
from udfs.moves import owners_of
from udfs.shares import UNCHANGED, Share, shares_of_group
from udfs.strategy import Queue

SharesOf = Callable[..., tuple[Share, ...]]


@dataclass(frozen=True)
class Allocated:
    """An input with computable owners, and the queues of each distinct client."""

    input: Input
    shares: tuple[Share, ...]

    @property
    def start_ms(self) -> int:
        """Start of the input."""
        return self.input.start_ms

    @property
    def end_ms(self) -> int:
        """End of the input, exclusive."""
        return self.input.end_ms

    @cached_property
    def owners(self) -> dict[Queue, frozenset[str]]:
        """Owners by queue; queues without an owner are absent."""
        return owners_of((share.client_id, share.queues) for share in self.shares)

    @property
    def fails(self) -> bool:
        """A strategy throws on the input."""
        return any(share.outcome == UNCHANGED for share in self.shares)


@dataclass(frozen=True, slots=True)
class PreviousShare:
    """Queues that a client got under one view, from `start_ms` on."""

    client_id: str
    topic: str
    view_broker_name: str | None
    start_ms: int
    queues: tuple[Queue, ...]


def allocated(
    inputs: Iterable[Input], before: Sequence[PreviousShare] = (), shares_of: SharesOf = shares_of_group
) -> list[Allocated]:
    """Each input with its shares; a client whose strategy throws keeps its queues of the topic.

    Args:
        inputs: inputs with computable owners.
        before: shares at 00:00.
        shares_of: `shares_of_group`, or it with a cache.
    """
    rows = [
        Allocated(interval, shares_of(interval.strategies, interval.topic, interval.queues, interval.client_ids))
        for interval in inputs
    ]
    if not any(row.fails for row in rows):
        return rows
    previous = grouped((*before, *_previous_shares(rows)), lambda share: (share.client_id, share.topic))
    return [Allocated(row.input, tuple(_with_kept_queues(row, previous))) for row in rows]


def _with_kept_queues(row: Allocated, previous: Mapping[tuple[str, str], Sequence[PreviousShare]]) -> Iterator[Share]:
    """Shares of an input; a client whose strategy throws keeps its latest queues, preferring those of the same view."""
    view = row.input.view_broker_name
    for share in row.shares:
        earlier = (
            (previous_share.start_ms, previous_share.view_broker_name == view, previous_share.queues)
            for previous_share in previous.get((share.client_id, row.input.topic), ())
            if previous_share.start_ms < row.start_ms and share.outcome == UNCHANGED
        )
        yield dataclasses.replace(share, queues=max(earlier, default=(0, False, share.queues))[2])


def _previous_shares(rows: Iterable[Allocated]) -> Iterator[PreviousShare]:
    return (
        PreviousShare(share.client_id, row.input.topic, row.input.view_broker_name, row.start_ms, share.queues)
        for row in rows
        for share in row.shares
        if share.outcome != UNCHANGED
    )


def shares_at_midnight(owners: Iterable[OwnerBefore]) -> list[PreviousShare]:
    """Shares of each client at 00:00 under each view; they sort before all shares of the day."""
    of_views = grouped(
        (owner for owner in owners if owner.client_id is not None),
        lambda owner: (owner.client_id or "", owner.topic, owner.view_broker_name),
    )
    return [
        PreviousShare(*of_view, 0, tuple(sorted({(owner.broker_name, owner.queue_id) for owner in rows})))
        for of_view, rows in of_views.items()
    ]
