"""Each cause of each finding that the pages name has a story, in which its sentence stands."""

from __future__ import annotations

import json
import re
from pathlib import Path

from jobs.kinds import FindingCause, FindingKind

PAGES = Path(__file__).parents[2] / "docs" / "findings"
STORIES = sorted(Path(__file__).parent.glob("given_*"))
KIND_ROW = re.compile(r"^\| \[([A-Z_0-9]+)\]\(\w+\.md\) \| (.*?) \|", re.MULTILINE)
CAUSE_ROW = re.compile(r"^\| `([A-Z_]+)` \|", re.MULTILINE)


def _named_causes() -> set[tuple[str, str]]:
    """Kind and cause, as the list of kinds names them."""
    listed = KIND_ROW.findall((PAGES / "README.md").read_text(encoding="utf-8"))
    return {(kind, cause) for kind, causes in listed for cause in re.findall(r"`(\w+)`", causes)}


def _with_sentence() -> set[tuple[str, str]]:
    """Kind and cause of the stories' rows that hold a sentence."""
    lines = [
        json.loads(line)
        for story in STORIES
        for file in story.glob("then/findings.jsonl")
        for line in file.read_text(encoding="utf-8").splitlines()
    ]
    return {(line["kind"], line["cause"]) for line in lines if line.get("sentence")}


def test_the_pages_name_every_kind_and_every_cause() -> None:
    named = _named_causes()
    assert {kind for kind, _ in named} == set(FindingKind)
    assert {cause for _, cause in named} == set(FindingCause)


def test_a_page_that_explains_its_causes_explains_those_of_the_list() -> None:
    explained = {
        (page.stem.upper(), cause)
        for page in PAGES.glob("*.md")
        for cause in CAUSE_ROW.findall(page.read_text(encoding="utf-8"))
    }
    kinds = {kind for kind, _ in explained}
    assert "SENT_WHILE_ISOLATED" in kinds
    assert explained == {(kind, cause) for kind, cause in _named_causes() if kind in kinds}


def test_every_cause_of_every_kind_has_a_story_with_its_sentence() -> None:
    assert _with_sentence() == _named_causes()
