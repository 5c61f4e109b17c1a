"""Which files of a day a swap may take away whole: what Delta notes of a file says so, or it does not."""

from __future__ import annotations

import json

import pytest

from jobs.lake.day_swap import only_of


def _stats(least: str, greatest: str) -> str:
    return json.dumps({"numRecords": 2, "minValues": {"cluster": least}, "maxValues": {"cluster": greatest}})


@pytest.mark.parametrize(
    ("stats", "is_its"),
    [
        pytest.param(_stats("main", "main"), True, id="its own"),
        pytest.param(_stats("a", "main"), None, id="of others too, up to it"),
        pytest.param(_stats("main", "z"), None, id="of others too, from it on"),
        pytest.param(_stats("a", "z"), None, id="of others, and perhaps of it"),
        pytest.param(_stats("mainz", "z"), False, id="all after it"),
        pytest.param(_stats("a", "mai"), False, id="all before it"),
        pytest.param(None, None, id="nothing is noted"),
        pytest.param("", None, id="an empty note"),
        pytest.param('{"numRecords": 2}', None, id="only the number of rows"),
        pytest.param('{"minValues": {"cluster": "main"}, "maxValues": {}}', None, id="only the least"),
    ],
)
def test_whose_rows_a_file_holds(stats: str | None, is_its: bool | None) -> None:  # noqa: FBT001
    assert only_of("main", stats) is is_its


@pytest.mark.parametrize("name", ["c" * 32, "c" * 33, "ü" * 40])
def test_of_a_long_name_its_beginning_and_a_text_after_it_tell_nothing(name: str) -> None:
    """Delta notes 32 characters: as the least the beginning, as the greatest that and a character after all others."""
    noted = _stats(name[:32], f"{name[:32]}\U0010ffff" if len(name) > 32 else name)
    assert only_of(name, noted) is (True if len(name) == 32 else None)
