"""The documentation as a site: what is linked is there, a broken link fails the build, nothing comes from elsewhere."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from mkdocs.commands.build import build
from mkdocs.config import load_config
from mkdocs.exceptions import Abort

from jobs.kinds import FindingKind
from jobs.serving.views import VIEWS
from jobs.tables import TABLES

ROOT = Path(__file__).parents[2]
NAV = [{"Start": "docs/README.md"}, "CHANGELOG.md", {"More": ["docs/more/*.md", {"Two": "docs/more/two.md"}]}]
CHECKOUT = {
    "CHANGELOG.md": "# Changes\n\n## An end's end\n",
    "deploy/cron/night": "0 1 * * * faultline\n",
    "docs/README.md": "# Start\n",
    "docs/more/one.md": "# One\n",
    "docs/more/two.md": "# Two\n",
    "docs/site.css": "",
}


def site(folder: Path, files: Mapping[str, str]) -> Path:
    """The site of a small checkout, by the configuration of this one but for `nav`."""
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    built = folder / "built"
    build(load_config(f"{ROOT / 'mkdocs.yml'}", docs_dir=f"{folder / 'docs'}", site_dir=f"{built}", nav=NAV))
    return built


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of this checkout; that it is built says that no link, anchor or picture is broken."""
    built = tmp_path_factory.mktemp("site")
    build(load_config(f"{ROOT / 'mkdocs.yml'}", site_dir=f"{built}"))
    return built


@pytest.mark.parametrize(
    ("path", "text", "said"),
    [
        ("docs/README.md", "[a](gone.md)", "'docs/README.md' contains a link 'gone.md'"),
        ("docs/README.md", "[a](../gone/gone.py)", "'docs/README.md' contains a link '../gone/gone.py'"),
        ("docs/README.md", "[a](../gone)", "'docs/README.md' contains an unrecognized relative link '../gone'"),
        ("docs/README.md", "[a](../..)", "'docs/README.md' contains an unrecognized relative link '../..'"),
        ("docs/README.md", "![a](gone.png)", "'docs/README.md' contains a link 'gone.png'"),
        ("docs/README.md", "[a](#gone)", "'docs/README.md' contains a link '#gone', but there is no such anchor"),
        ("docs/README.md", "[a](../CHANGELOG.md#gone)", "does not contain an anchor '#gone'"),
        ("CHANGELOG.md", "[a](docs/gone.md)", "'CHANGELOG.md' contains a link 'docs/gone.md'"),
        ("docs/new.md", "# New", 'not included in the "nav" configuration:\n  - docs/new.md'),
    ],
)
def test_what_leads_nowhere_fails_the_build_and_is_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, path: str, text: str, said: str
) -> None:
    with pytest.raises(Abort, match="1 warnings in strict mode"):
        site(tmp_path, CHECKOUT | {path: text})
    assert said in caplog.text


def test_links_lead_where_they_do_on_github(tmp_path: Path) -> None:
    links = "[a](../CHANGELOG.md#an-ends-end) [b](../deploy) [c](../deploy/cron/night) [d](more/one.md)"
    built = site(tmp_path, CHECKOUT | {"docs/README.md": f"# Start\n\n{links}\n"})
    start = (built / "index.html").read_text(encoding="utf-8")
    assert re.findall(r'<a href="([^"]+)">[abcd]</a>', start) == [
        "CHANGELOG.html#an-ends-end",
        "deploy/files.html",
        "deploy/cron/night.html",
        "more/one.html",
    ]
    assert '<a href="cron/night.html">cron/night</a>' in (built / "deploy/files.html").read_text(encoding="utf-8")
    assert "0 1 * * * faultline" in (built / "deploy/cron/night.html").read_text(encoding="utf-8")


def test_a_link_to_a_path_of_the_machine_fails_the_build_and_takes_nothing_in(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    secret = tmp_path / "elsewhere/secret"
    secret.parent.mkdir()
    secret.write_text("s", encoding="utf-8")
    with pytest.raises(Abort, match="1 warnings in strict mode"):
        site(tmp_path / "checkout", CHECKOUT | {"docs/README.md": f"[a]({secret})"})
    assert f"'docs/README.md' contains an absolute link '{secret}'" in caplog.text
    assert list(secret.parent.iterdir()) == [secret]


def test_of_a_linked_folder_only_files_that_git_knows_are_in_the_site(tmp_path: Path) -> None:
    files = CHECKOUT | {"docs/README.md": "# Start\n\n[b](../deploy)\n", "deploy/gone": ""}
    without_git = site(tmp_path, files)
    assert {page.name for page in without_git.rglob("deploy/**/*.html")} == {"files.html", "night.html", "gone.html"}
    for command in (["init", "--quiet"], ["add", "deploy"]):
        subprocess.run(["git", "-C", f"{tmp_path}", *command], check=True)
    (tmp_path / "deploy/gone").unlink()
    built = site(tmp_path, {"deploy/password": "secret"})
    assert "password" not in (built / "deploy/files.html").read_text(encoding="utf-8")
    assert {page.name for page in built.rglob("deploy/**/*.html")} == {"files.html", "night.html"}


def test_a_linked_folder_of_which_git_knows_nothing_fails_the_build(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    subprocess.run(["git", "init", "--quiet", f"{tmp_path}"], check=True)
    with pytest.raises(Abort, match="1 warnings in strict mode"):
        site(tmp_path, CHECKOUT | {"docs/README.md": "[b](../deploy)"})
    assert "unrecognized relative link '../deploy'" in caplog.text


def test_a_file_without_a_final_newline_is_shown_as_code(tmp_path: Path) -> None:
    files = {"docs/README.md": "# Start\n\n[b](../deploy)\n", "deploy/cron/night": "0 1 * * * faultline"}
    page = (site(tmp_path, CHECKOUT | files) / "deploy/cron/night.html").read_text(encoding="utf-8")
    assert re.search("<pre>.*0 1 . . . faultline\n</code></pre>", page)
    assert "````" not in page


def test_a_pattern_in_nav_takes_the_pages_that_no_other_entry_names(tmp_path: Path) -> None:
    start = (site(tmp_path, CHECKOUT) / "index.html").read_text(encoding="utf-8")
    listed = re.findall(r'<a href="(more/\w+\.html)" class="md-nav__link">', start)
    assert listed == ["more/one.html", "more/two.html"]


@pytest.mark.parametrize("is_made", [True, False])
def test_the_page_of_the_sample_night_is_in_the_site_once_it_is_made(tmp_path: Path, *, is_made: bool) -> None:
    mark = "<!-- The site has the page here. -->"
    assert mark in (ROOT / "docs/sample-night.md").read_text(encoding="utf-8")
    made = {"dist/sample-night/page.html": "<h1>The night</h1>"} if is_made else {}
    built = site(tmp_path, CHECKOUT | made | {"docs/README.md": f"# Start\n\n{mark}\n"})
    start = (built / "index.html").read_text(encoding="utf-8")
    assert (built / "sample-night/page.html").exists() == is_made
    assert ('<iframe src="sample-night/page.html"' in start) == is_made
    assert ("without the page" in start) != is_made


def test_each_finding_view_and_table_has_its_place(whole: Path) -> None:
    tables = (whole / "tables.html").read_text(encoding="utf-8")
    assert [table.name for table in TABLES if f'<h2 id="{table.name}">' not in tables] == []
    assert [view for view in VIEWS if not (whole / f"jobs/serving/sql/{view}.sql.html").is_file()] == []
    assert [kind for kind in FindingKind if not (whole / f"findings/{kind.lower()}.html").is_file()] == []


def test_nothing_is_loaded_from_elsewhere(whole: Path) -> None:
    pages = list(whole.rglob("*.html"))
    assert len(pages) >= 50
    for page in pages:
        text = page.read_text(encoding="utf-8")
        loaded = re.findall(r'<(?:script|img|iframe)[^>]* src="([^"]+)"|<link[^>]* href="([^"]+)"', text)
        assert [each for pair in loaded for each in pair if "//" in each] == [], page
