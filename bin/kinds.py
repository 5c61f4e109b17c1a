"""Writes jobs/answers/page/kinds.json, docs/findings as parts of a report: `python bin/kinds.py [--check]`.

`--check` fails when the file is stale. A report is read without a checkout and must be self-contained: a link to
another kind leads to that kind's part of the report, and any other link becomes text.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

_PAGES = Path("docs/findings")
_FILE = Path("jobs/answers/page/kinds.json")


def kinds() -> dict[str, dict[str, str]]:
    """Kind of finding to `says`, its sentence, and `text`, HTML of what follows it."""
    pages = sorted(page for page in _PAGES.glob("*.md") if page.name != "README.md")
    return {page.stem.upper(): _part(page.read_text(encoding="utf-8")) for page in pages}


def _part(page: str) -> dict[str, str]:
    _, says, text = page.split("\n\n", 2)
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = parser.parse(text)
    for token in tokens:
        token.children = list(_closed(token.children)) if token.children else token.children
    return {"says": says.strip("*\n"), "text": parser.renderer.render(tokens, parser.options, {})}


def _closed(tokens: Sequence[Token]) -> Iterator[Token]:
    """The tokens of a line without outgoing links: other pages than a kind's follow their text in brackets."""
    page: str | None = None
    for token in tokens:
        if token.type == "link_open":
            target = f"{token.attrs['href']}"
            is_kind = (_PAGES / target).parent == _PAGES
            page = None if is_kind else str((_PAGES / target).resolve().relative_to(Path.cwd()))
            token.attrs["href"] = f"#kind-{Path(target).stem}"
        if page is None or not token.type.startswith("link_"):
            yield token
        elif token.type == "link_close":
            yield Token("text", "", 0, content=f" ({page})")
            page = None


def main(arguments: Sequence[str]) -> int:
    """Write the file, or with `--check` fail when it is stale."""
    text = f"{json.dumps(kinds(), indent=1, ensure_ascii=False)}\n"
    if "--check" not in arguments:
        _FILE.write_text(text, encoding="utf-8")
        return 0
    if _FILE.is_file() and _FILE.read_text(encoding="utf-8") == text:
        return 0
    sys.stderr.write(f"{_FILE} is stale; run make docs\n")
    return 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
