"""Each kind of finding has its page, and the pages name no other."""

from pathlib import Path

import pytest

from jobs.kinds import FindingCause, FindingKind

PAGES = Path(__file__).parents[2] / "docs" / "findings"


@pytest.mark.parametrize("kind", FindingKind)
def test_a_kind_has_a_page_that_says_how_and_what_to_do(kind: str) -> None:
    page = (PAGES / f"{kind.lower()}.md").read_text(encoding="utf-8")
    assert page.startswith(f"# {kind}\n")
    assert "What to do" in page or "what to do" in page
    assert f"]({kind.lower()}.md)" in (PAGES / "README.md").read_text(encoding="utf-8")


def test_no_page_is_left_over() -> None:
    assert {page.stem.upper() for page in PAGES.glob("*.md")} == {*FindingKind, "README"}


def test_causes_of_sends_while_isolated_are_all_explained() -> None:
    page = (PAGES / "sent_while_isolated.md").read_text(encoding="utf-8")
    explained = {line.split("`")[1] for line in page.splitlines() if line.startswith("| `")}
    assert explained <= set(FindingCause)
    assert len(explained) == 7
