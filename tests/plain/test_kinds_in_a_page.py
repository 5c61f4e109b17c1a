"""What a report says of each kind of finding is docs/findings, with no link that leads out of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from jobs.kinds import FindingKind
from tests.given.scripts import script

ROOT = Path(__file__).parents[2]
bin_kinds = script("kinds")


def _page(folder: Path, name: str, text: str) -> None:
    (folder / "docs" / "findings").mkdir(parents=True, exist_ok=True)
    (folder / "docs" / "findings" / f"{name}.md").write_text(text, encoding="utf-8")


def test_each_kind_has_its_sentence_and_its_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    _page(tmp_path, "README", "# Findings\n")
    _page(tmp_path, "lone", "# LONE\n\n**One alone.**\n\nHow: `a < b`.\n\n| a | b |\n|---|---|\n| 1 | <b>2</b> |\n")
    _page(tmp_path, "wide", "# WIDE\n\n**Many.**\n\nSee [alone](lone.md), [more](../more.md) and [LONE](lone.md).\n")
    assert bin_kinds.kinds() == {
        "LONE": {
            "says": "One alone.",
            "text": "<p>How: <code>a &lt; b</code>.</p>\n"
            "<table>\n<thead>\n<tr>\n<th>a</th>\n<th>b</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td>1</td>\n<td>&lt;b&gt;2&lt;/b&gt;</td>\n</tr>\n</tbody>\n</table>\n",
        },
        "WIDE": {
            "says": "Many.",
            "text": '<p>See <a href="#kind-lone">alone</a>, more (docs/more.md)'
            ' and <a href="#kind-lone">LONE</a>.</p>\n',
        },
    }


def test_the_file_of_this_checkout_is_what_the_pages_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert bin_kinds.main(["--check"]) == 0
    kinds = bin_kinds.kinds()
    assert set(kinds) == set(FindingKind)
    links = {link for each in kinds.values() for link in re.findall(r'href="([^"]*)"', each["text"])}
    assert links
    assert links <= {f"#kind-{kind.lower()}" for kind in FindingKind}


def test_a_stale_file_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    _page(tmp_path, "lone", "# LONE\n\n**One alone.**\n\nHow.\n")
    (tmp_path / "jobs" / "answers" / "page").mkdir(parents=True)
    assert bin_kinds.main(["--check"]) == 1
    assert bin_kinds.main([]) == 0
    assert bin_kinds.main(["--check"]) == 0
    _page(tmp_path, "lone", "# LONE\n\n**One alone.**\n\nHow else.\n")
    assert bin_kinds.main(["--check"]) == 1
    assert capsys.readouterr().err == "jobs/answers/page/kinds.json is stale; run make docs\n" * 2
