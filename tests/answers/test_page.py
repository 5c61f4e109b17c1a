"""The page in a real Chromium: what is drawn is what the tables hold, names are inert, nothing is asked for."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from jobs.cli import main as cli
from jobs.kinds import FindingKind
from jobs.tables import BROKER_WINDOWS
from tests.given.bad_night import write_bad_night
from tests.given.console import console_of
from tests.given.hostile_night import BOLD, DRAWN, HOSTILE, IMAGE, NIGHT, OWNED, SCRIPT, START, window
from tests.given.lakes import publish, write_rows


class Opened:
    """The page in a tab, with what it said and asked for."""

    def __init__(self, browser: Browser, file: Path, **how: Any) -> None:
        self.asked: list[str] = []
        self.refused: list[tuple[str, str | None]] = []
        self.page: Page = browser.new_page(**{"viewport": {"width": 1440, "height": 1000}, **how})
        self.said = console_of(self.page)
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("requestfailed", lambda request: self.refused.append((request.url, request.failure)))
        self.page.goto(file.as_uri())
        self.page.wait_for_selector("#group-plot .barlayer")

    def traces(self, plot: str, meta: str) -> list[dict[str, Any]]:
        """Traces of a kind, with their points as the DOM has them."""
        found: list[dict[str, Any]] = self.page.evaluate(
            """([plot, meta]) => [...document.querySelectorAll(`#${plot} .barlayer .trace`)]
                .map((each) => ({trace: each.__data__[0].trace, points: each.querySelectorAll(".point").length}))
                .filter(({trace}) => trace.meta === meta)
                .map(({trace, points}) => ({points, hover: [].concat(trace.hovertext), base: [...trace.base ?? []],
                    length: [...trace.x], color: trace.marker.color}))""",
            [plot, meta],
        )
        return found

    def hover(self, plot: str, start_ms: int, length_ms: int, contains: str) -> str:
        """What a person reads who points at the bar that begins then and whose data contains the text."""
        box = self.page.evaluate(
            """([plot, start, length, contains]) => {
                for (const each of document.querySelectorAll(`#${plot} .barlayer .trace`)) {
                    const trace = each.__data__[0].trace;
                    for (const [at, point] of [...each.querySelectorAll(".point path")].entries()) {
                        if (trace.base && trace.base[at] === start && trace.x[at] === length
                            && trace.hovertext[at].includes(contains)) {
                            point.scrollIntoView({block: "center", behavior: "instant"});
                            const {x, y, width, height} = point.getBoundingClientRect();
                            return {x: x + width / 2, y: y + height / 2};
                        }
                    }
                }
            }""",
            [plot, start_ms, length_ms, contains],
        )
        lines = self.page.locator(f"#{plot} .hoverlayer .hovertext text.nums")
        self.page.mouse.move(1, 1)
        lines.wait_for(state="detached")
        self.page.mouse.move(box["x"], box["y"], steps=3)
        lines.wait_for()
        return "\n".join(lines.locator("tspan.line").all_text_contents()) or (lines.text_content() or "")


@pytest.fixture(scope="module")
def opened(browser: Browser, file: Path) -> Opened:
    found = Opened(browser, file, color_scheme="light")
    found.page.click("#unfold")
    return found


def test_it_says_nothing_and_asks_for_nothing(opened: Opened, file: Path) -> None:
    assert opened.said == []
    assert [url for url in opened.asked if not url.startswith(("data:", "blob:"))] == [file.as_uri()]


def test_every_isolation_is_a_bar_and_every_bar_an_isolation(opened: Opened) -> None:
    traces = opened.traces("timeline-plot", "isolation")
    drawn = [(start, length) for trace in traces for start, length in zip(trace["base"], trace["length"], strict=True)]
    assert sorted(drawn) == sorted((each["start_ms"], each["end_ms"] - each["start_ms"]) for each in DRAWN)
    assert sum(trace["points"] for trace in traces) == len(DRAWN)
    hollow = [trace["points"] for trace in traces if trace["color"] == "rgba(0,0,0,0)"]
    assert sum(hollow) == 1


def test_pointing_at_a_bar_says_what_the_table_says(opened: Opened) -> None:
    (each,) = [each for each in DRAWN if each["client_id"] == "p2"]
    said = opened.hover("timeline-plot", each["start_ms"], 10_000, "p2")
    assert said.split("\n") == [
        "broker-a",
        "PG (client 5.3.3, p2) isolated it",
        "2026-03-02 00:00:06.000 – 00:00:16.000 UTC, 10.0 s",
        "cause: RemotingTimeoutException, 3,000 ms; ended: EXPIRED",
        "evidence LOGGED",
        "extended 2 times",
    ]


@pytest.mark.fault(39)
def test_pointing_at_a_bar_of_a_hostile_name_shows_the_name(opened: Opened) -> None:
    (each,) = [each for each in DRAWN if each["client_id"] == IMAGE]
    said = opened.hover("timeline-plot", each["start_ms"], 10_000, "cause: &lt;img")
    assert f"PG (client 5.3.3, {IMAGE}) isolated it" in said
    assert f"cause: {IMAGE}, 600 ms; ended: EXPIRED" in said


def test_minutes_are_the_windows_of_the_chosen_broker(opened: Opened) -> None:
    shown = """() => document.getElementById("timeline-plot").data.slice(0, 5)
        .map(({name, x, y, customdata}) => [name, x.length, customdata ?? y])"""
    opened.page.select_option("#broker", label="broker-a")
    assert opened.page.evaluate(shown) == [
        ["sends", 3, [[900, 60], [900, 60], [900, 60]]],
        ["failed", 1, [[45, 60]]],
        ["p99", 7, [3001, 5, 5, None, 5, 5, None]],
        ["p95", 7, [3, 3, 3, None, 3, 3, None]],
        ["p50", 7, [1, 0.4, 0.4, None, 1, 1, None]],
    ]
    opened.page.select_option("#broker", index=0)
    assert opened.page.evaluate(shown)[0] == ["sends", 3, [[960, 60], [900, 60], [900, 60]]]


@pytest.mark.fault(39, 41)
def test_names_are_text(opened: Opened) -> None:
    page = opened.page
    assert page.evaluate("window.owned") is None
    assert page.locator("main img, main iframe, main a[href^=javascript], svg a").count() == 0
    assert page.locator("main bdi b, main bdi script, main option b").count() == 0
    shown = page.locator("body").inner_text()
    for name in HOSTILE:
        readable = name.replace("\n", "\\n").replace("\u202e", "\\u202e").replace("\x1b", "\\x1b")
        assert readable in shown, name
    events = page.locator("#events tbody").inner_text()
    assert "{{" in events
    assert "49" not in events
    assert not [text for text in (shown, page.title()) if re.search("[\x00-\x08\x0b-\x1f\u202a-\u202e]", text)]


@pytest.mark.fault(39)
def test_labels_of_the_pictures_are_text(opened: Opened) -> None:
    labels = opened.page.locator("#timeline-plot .ytick text").all_text_contents()
    assert f"{BOLD} p1" in labels
    assert IMAGE[:14] in " ".join(labels)
    legend = opened.page.locator("#group-plot .legend2text").all_text_contents()
    assert [name for name in legend if name.startswith("</script>")]


@pytest.mark.fault(39)
def test_nothing_but_the_page_s_own_scripts_may_run_or_connect(browser: Browser, file: Path) -> None:
    fresh = Opened(browser, file)
    tried = """async () => {
        const script = document.createElement("script");
        script.textContent = "window.owned = 2";
        document.body.append(script);
        const image = document.createElement("img");
        image.setAttribute("onerror", "window.owned = 3");
        image.src = "https://example.invalid/x.png";
        document.body.append(image);
        const fetched = await fetch("https://example.invalid/").then(() => "fetched", () => "refused");
        await new Promise((done) => setTimeout(done, 100));
        return [window.owned ?? null, fetched];
    }"""
    assert fresh.page.evaluate(tried) == [None, "refused"]
    assert [text for text in fresh.said if "Content Security Policy" in text]
    assert fresh.refused == [("https://example.invalid/x.png", "csp")]


def test_a_queue_with_two_owners_has_two_bars_side_by_side_for_as_long_as_it_has_them(opened: Opened) -> None:
    """Each of them is cut where the other one begins or ends, and both pieces say what the whole one would."""
    traces = opened.traces("group-plot", "owner")
    of_group = [each for each in OWNED if each["consumer_group"] == "g"]
    both = [each for each in of_group if each["queue_id"] == 0]
    assert sum(trace["points"] for trace in traces) == len(of_group) + len(both)
    alone, together = START, START + 30_000
    pieces = [(alone, "c1"), (together, "c1"), (together, "c2"), (START + 60_000, "c2")]
    said = [opened.hover("group-plot", start_ms, 30_000, owner) for start_ms, owner in pieces]
    first = "T broker-a:0\nc1\n2026-03-02 00:00:00.000 – 00:01:00.000 UTC, 1 min 00 s"
    second = "T broker-a:0\nc2\n2026-03-02 00:00:30.000 – 00:01:30.000 UTC, 1 min 00 s"
    assert said == [first, first, second, second]


def test_choosing_a_group_draws_it(opened: Opened) -> None:
    opened.page.select_option("#group", label=f"{IMAGE}: who held them, by the clients' logs")
    assert sum(trace["points"] for trace in opened.traces("group-plot", "owner")) == 1
    assert SCRIPT[:8] in " ".join(opened.page.locator("#group-plot .ytick text").all_text_contents())
    opened.page.select_option("#group", index=0)


def test_it_follows_the_system_s_theme_and_the_button(browser: Browser, file: Path) -> None:
    dark = Opened(browser, file, color_scheme="dark").page
    back, text = "getComputedStyle(document.body).backgroundColor", "#timeline-plot .xtick text"
    assert dark.evaluate(back) == "rgb(20, 23, 26)"
    assert dark.locator(text).first.evaluate("(each) => getComputedStyle(each).fill") == "rgb(230, 233, 236)"
    dark.click("#theme")
    assert dark.evaluate(back) == "rgb(255, 255, 255)"
    assert dark.locator(text).first.evaluate("(each) => getComputedStyle(each).fill") == "rgb(28, 33, 38)"


def test_it_can_be_used_by_keyboard(browser: Browser, file: Path) -> None:
    page = Opened(browser, file).page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page.locator("#timeline details summary").focus()
    page.keyboard.press("Enter")
    assert page.locator("#isolated").is_visible()
    page.get_by_label("Text").focus()
    page.keyboard.type("calm")
    assert page.locator("#found tbody tr:visible").count() == 1
    assert page.locator("#filters output").inner_text().startswith("1 of ")
    for words, rows in (("CALM all_isolated", 1), ("calm bold", 0)):  # each word is in the row
        page.get_by_label("Text").fill(words)
        assert page.locator("#found tbody tr:visible").count() == rows
    page.get_by_role("button", name="Show all").press("Enter")
    assert page.locator("#found tbody tr:visible").count() == 1 + len(HOSTILE)
    assert page.locator("#filters output").inner_text() == ""
    page.locator("#broker").focus()
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.getElementById('timeline-plot').data[0].y.length") == 3


def test_a_printed_page_holds_its_tables_and_the_screen_is_then_as_before(browser: Browser, file: Path) -> None:
    page = Opened(browser, file).page
    of_both = "['timeline-plot', 'group-plot'].map((id) => document.getElementById(id)._fullLayout)"
    left_of_labels = f"{of_both}.map(({{margin}}) => margin.l)"
    size = f"{of_both}.map(({{width, height}}) => [width, height])"
    before, size_before = page.evaluate(left_of_labels), page.evaluate(size)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details:not([open])").count() == 0
    assert page.evaluate(left_of_labels) == [170, 170]
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate(left_of_labels) == before
    assert 170 not in before
    assert page.evaluate(size) == size_before


def labels(page: Page) -> list[str]:
    return page.locator("#timeline-plot .ytick text").all_text_contents()


def test_a_group_unfolds_by_keyboard(browser: Browser, file: Path) -> None:
    page = Opened(browser, file).page
    assert labels(page)[:4] == ["broker-b 1 min 00 s", "PG 5.3.3 (6)", "broker-a 40.0 s", "PG 5.3.3 (3)"]
    of_a = page.get_by_role("button", name="broker-a PG 5.3.3")
    assert of_a.get_attribute("aria-expanded") == "false"
    of_a.press("Enter")
    assert labels(page)[3:8] == ["PG 5.3.3 (3)", "p1", "p2", "p3", "\"'`;--\\…x1b[31m 10.0 s"]
    assert page.evaluate("document.activeElement.getAttribute('aria-expanded')") == "true"
    page.keyboard.press("Enter")
    assert labels(page)[3:5] == ["PG 5.3.3 (3)", "\"'`;--\\…x1b[31m 10.0 s"]


def test_a_filter_narrows_tables_and_timeline_and_its_link_shows_the_same(browser: Browser, file: Path) -> None:
    page = Opened(browser, file).page
    page.select_option("select[name=broker]", label="broker-a")
    assert page.locator("#events tbody tr[data-of]:visible th").all_inner_texts() == ["broker-a"]
    assert labels(page) == ["broker-a 40.0 s", "PG 5.3.3 (3)"]
    assert page.locator("#broker option:checked").inner_text() == "broker-a"  # its sends and latency too
    assert page.locator("#group-numbers tbody tr:visible").count() == 2  # of no broker
    page.evaluate(f"Plotly.relayout('timeline-plot', {{'xaxis.range': [{START + 1_000}, {START + 30_000}]}})")
    page.get_by_label("Text").fill("PG")
    link = page.get_by_role("link", name="Link to this view").get_attribute("href")
    assert link == f"#broker=broker-a&text=PG&from={START + 1_000}&until={START + 30_000}"
    again = Opened(browser, file).page
    again.goto(f"{file.as_uri()}{link}")
    again.reload()
    assert labels(again) == labels(page)
    shown = "document.getElementById('timeline-plot')._fullLayout.xaxis.range.map((each) => String(each).slice(11, 19))"
    assert again.evaluate(shown) == ["00:00:01", "00:00:30"]
    again.click("#fold")
    folded = browser.new_page()
    folded.goto(f"{file.as_uri()}{again.evaluate('location.hash')}".replace("broker=broker-a&text=PG&", ""))
    assert labels(folded) == [label for label in labels(folded) if label.endswith(" s")]  # brokers alone
    again.click("#all")
    assert again.evaluate("location.hash") == f"#from={START + 1_000}&until={START + 30_000}&open="


def test_a_link_to_an_event_opens_it(browser: Browser, file: Path) -> None:
    page = Opened(browser, file).page
    page.locator("#events .below details").nth(1).locator("summary").click()
    link = page.get_by_role("link", name="link to this event").get_attribute("href")
    view = page.evaluate("location.hash")
    assert (link, view) == ("#event-event-1", "#event=event-event-1")
    for address in (link, view):
        again = browser.new_page()
        again.goto(f"{file.as_uri()}{address}")
        assert again.locator("#events details[open]").get_attribute("id") == "event-event-1"


def test_an_event_s_button_zooms_to_it(browser: Browser, file: Path) -> None:
    """From its first bad attempt to the end of its avoidance, second 6 to 35, and as long again on both sides."""
    page = Opened(browser, file).page
    page.get_by_role("button", name="zoom the timeline to broker-a").click()
    shown = page.evaluate("document.getElementById('timeline-plot')._fullLayout.xaxis2.range")
    assert [str(each)[11:19] for each in shown] == ["23:59:37", "00:01:04"]


@pytest.mark.parametrize("height", [500, 1000])
def test_a_zoomed_event_s_own_rows_are_in_view(browser: Browser, tmp_path: Path, height: int) -> None:
    write_bad_night(tmp_path / "lake", 2_000)
    file = tmp_path / "bad.html"
    assert cli.main(["report", "--lake", str(tmp_path / "lake"), "--cluster", "main", "--output", str(file)]) == 0
    page = Opened(browser, file, viewport={"width": 1440, "height": height}, reduced_motion="reduce").page
    buttons = page.locator("button[data-row]")
    lowest = max(range(buttons.count()), key=lambda number: int(buttons.nth(number).get_attribute("data-row") or 0))
    buttons.nth(lowest).click()
    broker = buttons.nth(lowest).locator("xpath=ancestor::tr/th").inner_text()
    label = page.locator("#timeline-plot .yaxislayer-above .ytick", has_text=broker)
    box = label.bounding_box()
    assert box is not None
    assert page.locator("header").bounding_box()["height"] < box["y"] < height - box["height"]  # type: ignore[index]


def test_an_event_opens_to_its_findings(browser: Browser, file: Path) -> None:
    page = Opened(browser, file).page
    opened = page.locator("#events .below details").nth(1)
    opened.locator("summary").click()
    assert opened.locator("summary").inner_text() == "ALL_ISOLATED 1"
    assert opened.locator("li bdi").inner_text() == f"PG (client version unknown, {IMAGE})"
    opened.get_by_role("link", name="ALL_ISOLATED").click()
    page.locator("#kind-all_isolated").get_by_text("What to do").first.wait_for()


@pytest.mark.fault(39)
def test_an_event_opens_to_bars_and_to_names_that_are_text(browser: Browser, file: Path) -> None:
    """Outage second 6 to 15.99 and avoidance to second 35, of 29 s; groups, producers and topics of its lost sends."""
    page = Opened(browser, file).page
    page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    event = page.locator("#event-event-0")
    widths = [
        event.locator(each).first.evaluate("(each) => each.getBoundingClientRect().width")
        for each in (".track", ".outage", ".unanswered", ".avoidance")
    ]
    inner = widths[0] - 2  # without its border
    assert [width / inner for width in widths[1:]] == pytest.approx([9.99 / 29, 0.01 / 29, 1], abs=2.5 / inner)
    assert event.get_by_role("img").count() == 2
    assert event.get_by_role("link", name="link to this event").get_attribute("href") == "#event-event-0"
    shown = event.inner_text()
    for name in (BOLD, IMAGE, SCRIPT):
        assert shown.count(name) >= 5, name
    explained = page.locator("#events pre:not(.lines)")
    assert explained.count() == 1 + len(HOSTILE)
    assert IMAGE in " ".join(explained.all_inner_texts())
    assert page.evaluate("window.owned") is None
    assert (
        page.locator(".event img, .event script, .event bdi *, .event pre *, .event a[href^=javascript]").count() == 0
    )


def test_each_scroll_box_says_how_many_rows_it_holds(opened: Opened) -> None:
    for box in opened.page.locator("section .wide:not(:has(.nights))").all():
        rows = box.locator("tbody tr:not(.below)").count()
        said = box.locator("xpath=preceding-sibling::p[.//output or .//*[@class='count']][1]").text_content() or ""
        assert re.search(rf"\b{rows:,} rows?\b", said), said


@pytest.mark.parametrize("width", [390, 800])
def test_it_fits_a_narrow_window(browser: Browser, file: Path, width: int) -> None:
    page = Opened(browser, file, viewport={"width": width, "height": 900}).page
    assert page.evaluate("document.documentElement.scrollWidth") == width
    own, plotly = (page.locator(f"{each}:visible").all_text_contents() for each in (".key span", ".plot .legendtext"))
    assert "sends" in (own if width == 390 else plotly)
    assert (plotly if width == 390 else own) == []


def test_on_a_phone_the_page_s_own_legend_names_owners_as_they_are(browser: Browser, file: Path) -> None:
    page = Opened(browser, file, viewport={"width": 390, "height": 900}).page
    names = """(plot) => document.getElementById(plot).data.filter(({showlegend}) => showlegend !== false)
        .map(({name}) => name.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&"))"""
    for plot in ("timeline", "group"):
        said = page.locator(f"#{plot}-legend span").all_text_contents()
        assert said == page.evaluate(names, f"{plot}-plot")
    assert page.locator(".key img, .key script").count() == 0


def test_an_arrow_stands_where_a_bar_goes_on(browser: Browser, file: Path) -> None:
    page = Opened(browser, file).page
    zoomed = "(range) => Plotly.relayout('timeline-plot', {'xaxis.range': range})"
    page.evaluate(zoomed, [START - 4_000, START + 26_000])
    page.wait_for_function("document.querySelectorAll('#timeline-plot .annotation-text').length > 0")
    bars = """document.getElementById("timeline-plot").data.filter(({meta}) => ["isolation", "together"].includes(meta))
        .flatMap(({base, x, y}) => base.map((start, at) => [Math.round(y[at]), start, start + x[at]]))"""
    shown = """(() => { const axis = document.getElementById("timeline-plot")._fullLayout.xaxis2;
        return axis.range.map((each) => Date.parse(String(each).replace(" ", "T") + "Z")); })()"""
    first, last = page.evaluate(shown)
    left, right = ({row for row, start, end in page.evaluate(bars) if start < edge < end} for edge in (first, last))
    arrows = page.locator("#timeline-plot .annotation-text").all_text_contents()
    assert (arrows.count("◂"), arrows.count("▸")) == (len(left), len(right))
    assert right
    page.evaluate(zoomed, [last - 10**9, last + 10**9])
    page.wait_for_function("document.querySelectorAll('#timeline-plot .annotation-text').length === 0")


def test_a_bad_night_opens_too(browser: Browser, tmp_path: Path) -> None:
    write_bad_night(tmp_path / "lake", 20_000)
    file = tmp_path / "bad.html"
    assert cli.main(["report", "--lake", str(tmp_path / "lake"), "--cluster", "main", "--output", str(file)]) == 0
    bad = Opened(browser, file)
    bad.page.click("#unfold")
    drawn = """document.getElementById("timeline-plot").data.filter(({meta}) => meta === "isolation")
        .reduce((sum, {base}) => sum + base.length, 0)"""
    traces = """[...document.querySelectorAll("#timeline-plot .barlayer .trace")]
        .filter((each) => each.__data__[0].trace.meta === "isolation")
        .reduce((sum, each) => sum + each.querySelectorAll(".point").length, 0)"""
    assert bad.page.evaluate(traces) == bad.page.evaluate(drawn) > 1_000
    assert bad.said == []


def test_a_quiet_night_opens_too(browser: Browser, tmp_path: Path) -> None:
    """No isolation, so that Plotly makes no axis for them; one-way sends, so that no latency is known."""
    lake, file = tmp_path / "lake", tmp_path / "quiet.html"
    lake.mkdir()
    publish(lake, NIGHT)
    write_rows(lake, BROKER_WINDOWS, [window(minute, sends=5) for minute in range(3)])
    assert cli.main(["report", "--lake", str(lake), "--output", str(file)]) == 0
    page = browser.new_page()
    said = console_of(page)
    page.goto(file.as_uri())
    page.wait_for_selector("#timeline-plot .barlayer .point")
    assert said == []
    page.close()


def test_it_counts_what_it_leaves_out(opened: Opened) -> None:
    assert "1 isolation of no length" in opened.page.locator("#left-out").inner_text()
    assert f"{NIGHT}" in opened.page.locator("#nights .asked").inner_text()


def test_a_kind_leads_to_what_it_means_and_what_to_do(browser: Browser, file: Path) -> None:
    """Of each kind that the night has, and of those that its text names."""
    page = Opened(browser, file).page
    kinds = page.locator("#findings .count a").all_text_contents()
    assert kinds
    for kind in kinds:
        about = page.locator(f"#kind-{kind.lower()}")
        assert about.get_attribute("open") is None
        page.locator(f"#findings .count a:text-is('{kind}')").click()
        about.get_by_text("What to do").first.wait_for()
        assert about.locator("summary").text_content() == f"{kind}: {says(kind)}"
    shown = page.locator("#findings details").all_text_contents()
    assert len(shown) == len(FindingKind)
    targets = page.evaluate("[...document.querySelectorAll('#findings a')].map((each) => each.hash)")
    assert all(page.locator(target).count() == 1 for target in targets)
    assert "#kind-all_isolated" in targets  # named by another kind's text


def says(kind: str) -> str:
    """The sentence below a page's title."""
    page = Path(__file__).parents[2] / "docs" / "findings" / f"{kind.lower()}.md"
    return page.read_text(encoding="utf-8").split("**")[1]
