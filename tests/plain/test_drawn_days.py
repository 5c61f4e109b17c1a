"""What Hypothesis draws for the properties of days: no day of equal sends, but each hard thing, and often."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.given import drawn_groups, drawn_sends
from tests.given.drawn_groups import groups_of
from tests.given.drawn_sends import sends_of
from tests.given.site import D1, D2

DRAWN = 50
OFTEN = 5

SENDS = {
    "one client, two processes by id", "seq that starts again", "a restart over midnight", "ends within one ms",
    "an attempt over midnight", "a failure just before midnight", "SYNC", "ASYNC", "ONEWAY", "several releases",
    "several brokers", "switch on", "switch off", "switch not logged", "retries", "order keys", "two clusters",
    "a cluster without a send on one day", "bad lines of several kinds", "copies", "several files", "days not in order",
}  # fmt: skip
GROUPS = {
    "a capture at 00:00:00.000", "members that change at 00:00:00.000",
    "members that change within a minute of midnight", "captures on both sides of midnight", "several groups",
    "two clusters", "queues that change", "a topic that goes away", "a broker without an answer", "running info",
    "a client's log", "bad lines of several kinds", "copies", "several files", "days not in order",
}  # fmt: skip


@pytest.mark.parametrize(
    ("days", "features", "wanted"),
    [
        pytest.param(sends_of(D1, D2), drawn_sends.features, SENDS, id="sends"),
        pytest.param(groups_of(D1, D2), drawn_groups.features, GROUPS, id="groups"),
    ],
)
def test_each_hard_thing_is_drawn_often(
    days: st.SearchStrategy[Any], features: Callable[[Any], set[str]], wanted: set[str]
) -> None:
    seen, examples = Counter[str](), 0

    @settings(
        max_examples=DRAWN, derandomize=True, database=None, deadline=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(days)
    def draw(drawn: Any) -> None:
        nonlocal examples
        seen.update(features(drawn))
        examples += 1

    draw()
    assert examples == DRAWN
    assert not {name: seen[name] for name in wanted if seen[name] < OFTEN}
