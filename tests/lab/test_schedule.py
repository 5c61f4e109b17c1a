"""Deeds drawn from a seed."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.lab.deeds import AT_CONSUMERS, DeedKind
from tests.lab.schedule import LAST_MS, ORDER, PAUSE_MS, Site, schedule

SITE = Site(("a", "b", "c"), ("p1", "p2"), {"G": ("c1", "c2"), "H": ("m1", "m2")}, {"G": ("c3",), "H": ()})
SEEDS = range(40)


@pytest.mark.parametrize("seed", SEEDS)
def test_no_deed_begins_before_the_one_before_is_over(seed: int) -> None:
    deeds = schedule(seed, 6, SITE)
    assert all(later.start_ms - earlier.end_ms >= PAUSE_MS for earlier, later in pairwise(deeds))
    assert deeds[-1].end_ms <= 6 * 60_000 - LAST_MS


@pytest.mark.parametrize("seed", SEEDS)
def test_six_minutes_have_a_deed_of_each_kind(seed: int) -> None:
    assert {deed.kind for deed in schedule(seed, 6, SITE)} == {*ORDER}


@pytest.mark.parametrize("seed", SEEDS)
def test_a_consumer_comes_and_goes_once_and_a_group_keeps_one(seed: int) -> None:
    deeds = [deed for deed in schedule(seed, 30, SITE) if deed.kind in AT_CONSUMERS]
    there = {"c1", "c2", "m1", "m2"}
    for deed in deeds:
        (name,) = deed.names
        assert (name in there) == (deed.kind != DeedKind.CONSUMER_JOINS)
        there ^= {name}
        assert there & {"c1", "c2", "c3"}
        assert there & {"m1", "m2"}


def test_a_seed_draws_the_same_night_and_another_another() -> None:
    assert schedule(7, 6, SITE) == schedule(7, 6, SITE)
    assert schedule(7, 6, SITE) != schedule(8, 6, SITE)


def test_a_night_too_short_for_a_deed_has_none() -> None:
    assert schedule(7, 0.5, SITE) == []
