"""The chance that round robin passes a broker by, against every way in which threads may share the choices."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest

from udfs.round_robin import chance_of_none

TOPICS = [(1, 3), (2, 6), (4, 12), (4, 8), (1, 24), (8, 9)]
"""Queues of the broker, and of its topic."""
LARGE = [(1, 96), (2, 48), (4, 96), (4, 192), (8, 256)]
MANY = range(20, 1500, 60)


def _shares(choices: int, most: int) -> Iterator[list[int]]:
    """Every way to share the choices among threads."""
    if choices == 0:
        yield []
    for share in range(min(choices, most), 0, -1):
        for others in _shares(choices - share, share):
            yield [share, *others]


def _missed(choices: int, own: int, queues: int, step: int = 1) -> float:
    """Of the places where a thread may stand, those from which so many choices in a row miss the first `own` queues."""
    places = range(queues)
    missing = [all((place + step * choice) % queues >= own for choice in range(choices)) for place in places]
    return sum(missing) / queues


@pytest.mark.parametrize("topic", TOPICS)
def test_no_number_of_threads_makes_it_likelier(topic: tuple[int, int]) -> None:
    for choices in range(1, 13):
        worst = max(math.prod(_missed(share, *topic) for share in shares) for shares in _shares(choices, choices))
        assert worst <= chance_of_none(choices, *topic) + 1e-12


@pytest.mark.parametrize("topic", LARGE)
def test_among_many_threads_hardly_likelier(topic: tuple[int, int]) -> None:
    own, queues = topic
    for choices in MANY:
        evenly = (max(0.0, (queues - own + 1 - choices / threads) / queues) ** threads for threads in range(1, choices))
        worst = max(*evenly, (1 - own / queues) ** choices)
        assert worst <= chance_of_none(choices, own, queues) * 1.02 or worst < 0.001


@pytest.mark.parametrize("between", [0, 1, 2, 3])
def test_other_choices_between_make_it_no_likelier(between: int) -> None:
    for queues in range(4, 20):
        for own in range(between + 1, queues):
            for choices in range(1, queues):
                missed = _missed(choices, own, queues, step=between + 1)
                assert missed <= _missed(choices, own, queues)


def test_more_between_may_pass_a_broker_by() -> None:
    assert _missed(100, 1, 4, step=2) == 0.5


def test_it_is_reached_where_threads_share_evenly() -> None:
    assert chance_of_none(12, 4, 12) == pytest.approx(_missed(4, 4, 12) ** 3)
    assert chance_of_none(2, 1, 3) == pytest.approx(_missed(1, 1, 3) ** 2)
