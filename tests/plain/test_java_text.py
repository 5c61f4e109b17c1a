"""Java's notions of text beside what a JVM answers: `String.compareTo`, `split`, `getBytes`."""

from __future__ import annotations

import pytest

from udfs.java_text import encoded, split, string_key

HALF = "\ud83d"
"""The first of the two units of a rocket, alone: Java has such texts."""


def test_texts_are_in_the_order_of_their_units() -> None:
    assert sorted(["\ue000", HALF, "a", "\U0001f680"], key=string_key) == ["a", HALF, "\U0001f680", "\ue000"]


@pytest.mark.parametrize(
    ("text", "parts"),
    [("a@b@", ["a", "b"]), ("a@@b", ["a", "", "b"]), ("a@@", ["a"]), ("@@", []), ("a", ["a"]), ("", [""])],
)
def test_split(text: str, parts: list[str]) -> None:
    assert split(text, "@") == parts


@pytest.mark.parametrize("charset", ["GBK", "gbk", "CP936", "cp936", "MS936", "ms936"])
def test_gbk_by_any_of_its_names(charset: str) -> None:
    assert encoded(f"\ue000日\U0001f680{HALF}", charset) == b"\xaa\xa1\xc8\xd5??"
