"""MkDocs' hook: the site's pages are the checkout's own, each under its path there, so nothing is copied by hand.

A link that leads somewhere on GitHub does here: to a page outside docs/, to a file, whose text becomes a page, and to a
folder, which becomes a list of its files that Git knows. What a page of the site links to is taken in by itself.
"""

from __future__ import annotations

import posixpath
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

SAMPLE = "dist/sample-night/page.html"
"""The page of the sample night, made by `make site`; a build without it says so."""

_SAMPLE_IN_SITE = "docs/sample-night/page.html"
_SAMPLE_MARK = "<!-- The site has the page here. -->"
_SAMPLE_SHOWN = """[Open it alone](sample-night/page.html)

<iframe src="sample-night/page.html" title="The page of the sample night"></iframe>"""
_SAMPLE_MISSING = "*This build of the site is without the page: `make site` has it.*"

_COPIED = {".css", ".json", ".svg"}
"""Besides what is no text."""

_LANGUAGES = {"": "text", ".service": "ini", ".timer": "ini", "Dockerfile": "docker"}
"""Suffix or name → what Pygments calls the language, where that is not the suffix."""


class Shown(File):
    """A page under a path that is not a page's: the text of a file, or what a folder holds."""

    def is_documentation_page(self) -> bool:
        """Yes, whatever its name."""
        return True


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Replace each pattern in `nav` by the pages that it finds and no other entry names."""
    config.nav = list(_expanded(config.nav or [], _root(config), set(_named(config.nav))))
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """The theme's files, and those of the checkout that the site shows. What is missing, MkDocs names with its link."""
    root = _root(config)
    named = set(_named(config.nav))
    waiting = [*named, *(f"docs/{sheet}" for sheet in config.extra_css)]
    waiting += [page.relative_to(root).as_posix() for page in (root / "docs").rglob("*.md")]
    found: dict[str, File] = {}
    while waiting:
        path = waiting.pop()
        if path in found or path == "." or path.startswith(("..", "/")):
            continue
        if (root / path).is_file() or _inside(path, root):
            found[path] = _file(path, root, config)
            if path not in named and not re.fullmatch(r"docs/.*\.md", path):
                found[path].inclusion = InclusionLevel.NOT_IN_NAV
            waiting += _leads_to(path, root)
    if (root / SAMPLE).is_file():
        sample = File.generated(config, _SAMPLE_IN_SITE, abs_src_path=f"{root / SAMPLE}")
        sample.dest_uri = _place(_SAMPLE_IN_SITE)
        found[SAMPLE] = sample
    of_theme = [file for file in files if file.src_dir != config.docs_dir]
    return Files([*of_theme, *(found[path] for path in sorted(found))])


def on_page_markdown(markdown: str, page: Page, files: Files, **_: Any) -> str:
    """Put the page of the sample night where a page has its mark, and no empty columns beside a page."""
    is_wide = page.is_homepage or _SAMPLE_MARK in markdown or isinstance(page.file, Shown)
    page.meta["hide"] = [*["navigation"] * is_wide, *["toc"] * (is_wide or "\n## " not in markdown)]
    has_it = files.get_file_from_path(_SAMPLE_IN_SITE) is not None
    return markdown.replace(_SAMPLE_MARK, _SAMPLE_SHOWN if has_it else _SAMPLE_MISSING)


def _root(config: MkDocsConfig) -> Path:
    return Path(config.docs_dir).parent


def _named(nav: Any) -> Iterator[str]:
    """Paths and patterns in `nav`."""
    if isinstance(nav, str):
        yield nav
    elif nav:
        for entry in nav.values() if isinstance(nav, dict) else nav:
            yield from _named(entry)


def _expanded(nav: list[Any], root: Path, named: set[str]) -> Iterator[Any]:
    for entry in nav:
        if isinstance(entry, str) and "*" in entry:
            yield from sorted({page.relative_to(root).as_posix() for page in root.glob(entry)} - named)
        elif isinstance(entry, dict):
            yield {
                title: list(_expanded(inner, root, named)) if isinstance(inner, list) else inner
                for title, inner in entry.items()
            }
        else:
            yield entry


def _file(path: str, root: Path, config: MkDocsConfig) -> File:
    source = root / path
    if source.suffix == ".md" or _is_copied(source):
        return File(path, f"{root}", config.site_dir, use_directory_urls=False, dest_uri=_place(path))
    place = _place(f"{path}/files.md" if source.is_dir() else f"{path}.md")
    page = Shown(path, None, config.site_dir, use_directory_urls=False, dest_uri=place)
    page.content_string = f"# {path}\n\n{_list(path, root) if source.is_dir() else _code(source)}\n"
    return page


def _is_copied(source: Path) -> bool:
    return source.is_file() and (source.suffix in _COPIED or b"\0" in source.read_bytes())


def _place(path: str) -> str:
    """Where the site has a page: docs/ is its top, so the checkout's own README moves aside."""
    if path == "README.md":
        return "faultline.html"
    folder, name = posixpath.split(path.removeprefix("docs/"))
    return posixpath.join(folder, "index.html" if name == "README.md" else re.sub(r"\.md$", ".html", name))


def _leads_to(path: str, root: Path) -> Iterator[str]:
    source = root / path
    if source.is_dir():
        yield from _inside(path, root)
    elif source.suffix == ".md":
        for target in re.findall(r"\]\(([^)#\s]+)", source.read_text(encoding="utf-8")):
            yield posixpath.normpath(posixpath.join(posixpath.dirname(path), target))


def _inside(path: str, root: Path) -> list[str]:
    """Those that Git knows; of a copy without Git, all."""
    if (root / ".git").exists():
        command = ["git", "-C", f"{root}", "ls-files", "-z", "--", path]
        known = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.split("\0")
        return sorted(file for file in known if file and (root / file).is_file())
    files = (file for file in (root / path).rglob("*") if file.is_file() and file.suffix != ".pyc")
    return sorted(file.relative_to(root).as_posix() for file in files)


def _list(path: str, root: Path) -> str:
    above = posixpath.dirname(path)  # links of a page are relative to what holds it
    return "\n".join(
        f"- [{posixpath.relpath(file, path)}]({posixpath.relpath(file, above)})" for file in _inside(path, root)
    )


def _code(source: Path) -> str:
    suffix = source.name if source.name in _LANGUAGES else source.suffix
    text = source.read_text(encoding="utf-8").removesuffix("\n")
    return f"````{_LANGUAGES.get(suffix, suffix.removeprefix('.'))}\n{text}\n````"
