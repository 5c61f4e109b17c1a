"""conf/releases.toml: each fact has its releases and its source, and somebody asks for it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from udfs.plain_version import plain_version_number
from udfs.releases import since

ROOT = Path(__file__).parents[2]
FACTS = tomllib.loads((ROOT / "conf" / "releases.toml").read_text(encoding="utf-8"))
ASKS = re.compile(r"\b(?:since|holds)\(\s*\"(\w+)\"")


def test_every_fact_is_asked_for_and_no_other() -> None:
    sources = [
        path.read_text(encoding="utf-8") for folder in ("jobs", "udfs") for path in (ROOT / folder).rglob("*.py")
    ]
    assert {name for text in sources for name in ASKS.findall(text)} == set(FACTS)


@pytest.mark.parametrize("fact", FACTS)
def test_a_fact_names_its_releases_and_where_it_stands(fact: str) -> None:
    given = FACTS[fact]
    assert set(given) - {"until"} == {"since", "holds", "source"}
    assert given["holds"]
    assert given["source"]
    assert since(fact) >= 40000
    assert plain_version_number(given.get("until", "99.9.9")) >= since(fact)
