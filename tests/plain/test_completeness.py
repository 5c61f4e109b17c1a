"""What an answer rests on, in words."""

from __future__ import annotations

from itertools import product

import pytest

from jobs.tables import QUEUE_OWNERSHIP
from jobs.text.completeness import of_owners, of_producers

NO_ROUTES = "no topic routes: brokers of a topic are those in its sends"


@pytest.mark.parametrize(
    ("switched_on", "recorded", "sentence"),
    [
        (40, 28, "12 of 40 producers with the switch on by replay of their sends, 28 as their clients recorded them"),
        (40, 0, "40 producers with the switch on by replay of their sends, none as its client recorded them"),
        (1, 0, "1 producer with the switch on by replay of their sends, none as its client recorded them"),
        (40, 40, "40 producers with the switch on as their clients recorded them"),
        # A producer that is recorded, and whose sends say that the switch is off.
        (3, 4, "3 producers with the switch on as their clients recorded them"),
        (2_000, 1, "1,999 of 2,000 producers with the switch on by replay of their sends, 1 as their clients recorded"),
    ],
)
def test_isolations(switched_on: int, recorded: int, sentence: str) -> None:
    (said,) = of_producers(switched_on, recorded, has_routes=True)
    assert said.startswith(f"isolations: {sentence}")
    assert of_producers(switched_on, recorded, has_routes=False) == [said, NO_ROUTES]


def test_nobody_isolates() -> None:
    assert of_producers(0, 0, has_routes=True) == []
    assert of_producers(0, 0, has_routes=False) == [NO_ROUTES]


def test_each_choice_of_sources_has_its_words() -> None:
    known = QUEUE_OWNERSHIP.closed_lists["source"]
    said = {
        of_owners({name for name, given in zip(known, each, strict=True) if given}) for each in product((0, 1), (0, 1))
    }
    assert len(said) == 4
    assert all(each.startswith("ownership: ") for each in said)
    assert "unknown" in of_owners(())
