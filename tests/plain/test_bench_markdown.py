"""Figures as bench/ prints them."""

from __future__ import annotations

import pytest

from bench.markdown import ratio


@pytest.mark.parametrize(
    ("seconds", "of_seconds", "expected"),
    [(1, 3, "0.33"), (1, 110, "0.0091"), (10, 10, "1"), (340, 2, "170"), (22_600, 2, "11,000")],
)
def test_a_ratio_has_two_digits(seconds: float, of_seconds: float, expected: str) -> None:
    assert ratio(seconds, of_seconds) == expected
