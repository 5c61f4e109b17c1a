"""The page by keyboard, for a screen reader, and on a phone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from jobs.cli import main as cli
from jobs.tables import BROKER_WINDOWS
from tests.given.hostile_night import NIGHT, window
from tests.given.lakes import publish, write_rows

DESK, PHONE = (1440, 1000), (390, 844)
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]
OPEN_ALL = "document.querySelectorAll('details').forEach((each) => { each.open = true; })"


@pytest.fixture(scope="module")
def quiet_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Without events, isolations, findings, groups and nights before."""
    folder = tmp_path_factory.mktemp("quiet")
    (folder / "lake").mkdir()
    publish(folder / "lake", NIGHT)
    write_rows(folder / "lake", BROKER_WINDOWS, [window(minute, sends=5) for minute in range(3)])
    page = folder / "page.html"
    assert cli.main(["report", "--lake", str(folder / "lake"), "--output", str(page)]) == 0
    return page


def opened(browser: Browser, file: Path, size: tuple[int, int]) -> Page:
    page = browser.new_page(viewport={"width": size[0], "height": size[1]}, reduced_motion="reduce")
    page.goto(file.as_uri())
    page.wait_for_selector("#timeline-plot .barlayer")
    return page


@pytest.fixture(scope="module")
def phone(browser: Browser, file: Path) -> Page:
    page = opened(browser, file, PHONE)
    page.evaluate(OPEN_ALL)
    return page


def violations(page: Page) -> Iterator[str]:
    """A line for each element that breaks a rule."""
    found: list[dict[str, Any]] = (
        Axe().run(page, options={"runOnly": RULES, "resultTypes": ["violations"]}).response["violations"]
    )
    for rule in found:
        for node in rule["nodes"]:
            yield f"{rule['id']} at {node['target']}: {node['failureSummary']}"


@pytest.mark.parametrize("size", [DESK, PHONE])
@pytest.mark.parametrize("night", ["file", "quiet_file"])
def test_axe_finds_nothing(browser: Browser, night: str, size: tuple[int, int], request: pytest.FixtureRequest) -> None:
    page = opened(browser, request.getfixturevalue(night), size)
    assert list(violations(page)) == []
    page.evaluate(OPEN_ALL)
    assert list(violations(page)) == []
    page.emulate_media(color_scheme="dark")
    page.wait_for_selector("html[data-theme=dark]")
    assert list(violations(page)) == []
    page.close()


def test_tab_leads_to_every_control_and_shows_where_it_is(browser: Browser, file: Path) -> None:
    page = opened(browser, file, DESK)
    controls = page.evaluate(
        """[...document.querySelectorAll("a, button, input, select, summary, [tabindex='0']")]
            .filter((each) => each.checkVisibility()).map((each, at) => { each.dataset.control = at; return at; })"""
    )
    reached = []
    for _ in controls:
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate(
                """(() => {
                    const control = document.activeElement;
                    const {top, bottom} = control.getBoundingClientRect();
                    const covered = control.closest("main") ? document.querySelector("header").offsetHeight : 0;
                    const {outlineStyle, outlineWidth} = getComputedStyle(control);
                    const isInView = bottom > covered && top < innerHeight;
                    return [Number(control.dataset.control), outlineStyle, outlineWidth, isInView];
                })()"""
            )
        )
    assert reached == [[control, "solid", "3px", True] for control in controls]
    page.close()


def test_nothing_is_beyond_the_edge_of_a_phone(phone: Page) -> None:
    scrolled = """[document.documentElement, ...document.querySelectorAll(".wide, .about")]
        .filter((each) => each.scrollWidth > each.clientWidth).map((each) => each.className || each.tagName)"""
    assert phone.evaluate(scrolled) == []
    outside = phone.evaluate(
        """(() => {
            const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
            const outside = [];
            while (texts.nextNode()) {
                const within = texts.currentNode.parentElement;
                if (within.closest(".skip, .hidden, thead, script, style, #js-plotly-tester")) continue;
                const range = document.createRange();
                range.selectNodeContents(texts.currentNode);
                const {left, right} = range.getBoundingClientRect();
                if (left < 0 || right > innerWidth) outside.push([texts.currentNode.textContent, left, right]);
            }
            return outside;
        })()"""
    )
    assert outside == []


def test_a_row_is_a_card_on_a_phone(phone: Page) -> None:
    row = phone.locator("#events tbody tr", has=phone.locator("th", has_text="broker-a"))
    cells = row.evaluate(
        """(row) => [...row.cells].map((cell) => {
            const label = getComputedStyle(cell, "::before");
            return [label.content, cell.innerText.split(/\\n/)[0], cell.getBoundingClientRect().top];
        })"""
    )
    assert [(content.split('"')[1:2], text) for content, text, _ in cells] == [
        ([], "broker-a"),
        (["severity"], "WARNING"),
        (["what"], "timed out"),
        (["from"], "00:00:06.000"),
        (["bad for"], "10.0 s"),
        (["producers hit"], "0 of 3"),
        (["avoided by"], "2"),
        (["until"], "00:00:35.000 19.0 s after"),
        (["lost"], "0"),
        (["saved"], "0"),
        (["slow"], "0"),
        (["timeline"], "zoom"),
    ]
    tops = [top for *_, top in cells]
    assert tops == sorted(set(tops))
    assert phone.locator("table :is(thead, tbody, tr, th, td):not([role])").count() == 0


def test_a_filter_leaves_the_cards_that_it_finds(browser: Browser, file: Path) -> None:
    page = opened(browser, file, PHONE)
    page.get_by_label("Text").fill("calm")
    assert page.locator("#found tbody tr:visible").count() == 1
    page.close()


def test_the_legend_of_a_phone_has_the_colours_of_the_bars(phone: Page) -> None:
    drawn = phone.evaluate(
        """Object.fromEntries([...document.querySelectorAll("#group-plot .barlayer .trace")].map((each) =>
            [each.__data__[0].trace.name, getComputedStyle(each.querySelector(".point path")).fill]))"""
    )
    chips = phone.evaluate(
        """Object.fromEntries([...document.querySelectorAll("#group-legend span")].map((each) =>
            [each.textContent, getComputedStyle(each.querySelector("i")).backgroundColor]))"""
    )
    assert {name: chips[name] for name in ("c1", "c2")} == {name: drawn[name] for name in ("c1", "c2")}
    assert chips["c1"] != chips["c2"]


def test_paper_has_the_page_s_own_legend(browser: Browser, file: Path) -> None:
    """Plotly's own, as wide as the screen, would cover a picture as wide as the paper."""
    page = opened(browser, file, DESK)
    assert page.locator(".infolayer > [class^=legend]:visible").count() == 4
    assert page.locator(".key:visible").count() == 0
    page.emulate_media(media="print")
    assert page.locator(".infolayer > [class^=legend]:visible").count() == 0
    assert page.locator(".key:visible").count() == 2
    page.close()
