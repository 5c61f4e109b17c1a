"""What Plotly could send or load: every button and host of its library is known, and none leads out of our pages."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserType, Page
from plotly import graph_objects
from plotly.offline import get_plotlyjs

from jobs.what_if.picture import write_picture
from tests.given.what_if_answers import line, summary

SHOWN = {"toImage", "zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "autoScale2d", "resetScale2d"}
NOT_SHOWN = {
    "downloadJson", "select2d", "lasso2d", "drawclosedpath", "drawopenpath", "drawline", "drawrect", "drawcircle",
    "eraseshape", "hoverClosestCartesian", "hoverCompareCartesian", "hoverClosestPie", "hoverClosestGeo",
    "hoverClosest3d", "toggleHover", "toggleSpikelines", "zoom3d", "pan3d", "orbitRotation", "tableRotation",
    "resetCameraDefault3d", "resetCameraLastSave3d", "zoomInGeo", "zoomOutGeo", "resetGeo", "zoomInMap", "zoomOutMap",
    "resetViewMap", "resetSankeyGroup", "resetViews",
}  # fmt: skip
LEADS_OUT = {"sendChartToCloud"}

_NAME, _TEXT = "the name of a namespace, never fetched", "in a comment, a message or an attribution"
_MAP = "tiles, styles and fonts of maps: nothing is loaded, and no picture of ours is a map"
_LINK = "a link or a window: closed.js opens neither"
HOSTS = {
    "www.w3.org": _NAME,
    **dict.fromkeys(("feross.org", "getify.mit-license.org", "github.com", "syntheti.cc"), _TEXT),
    **dict.fromkeys(("maplibre.org", "wiki.openstreetmap.org", "www.esri.com", "www.openstreetmap.org"), _TEXT),
    **dict.fromkeys(("basemaps.cartocdn.com", "cdn.jsdelivr.net", "cdn.plot.ly", "fonts.openmaptiles.org"), _MAP),
    **dict.fromkeys(("geoserveis.icgc.cat", "server.arcgisonline.com", "tile.openstreetmap.org"), _MAP),
    **dict.fromkeys(("tilemaps.icgc.cat", "tiles.basemaps.cartocdn.com"), _MAP),
    **dict.fromkeys(("cloud.plotly.com", "get.webgl.org", "plotly.com"), _LINK),
}


def test_every_button_that_plotly_has_is_known() -> None:
    buttons = re.findall(r'\{name:"(\w+)",(?:_cat:"\w+",)?title:', get_plotlyjs())
    assert set(buttons) == SHOWN | NOT_SHOWN | LEADS_OUT


def test_every_host_that_plotly_names_is_known() -> None:
    hosts = re.findall(r"(?:https?|wss?|ftp):(?:\\?/){2}([A-Za-z0-9.-]+)", get_plotlyjs())
    assert set(hosts) == set(HOSTS)


class Outside:
    """Every host there is, as the browser finds it: it keeps who was asked for, by name, and answers nobody.

    A browser asks for hosts of its maker by itself; these do not count.
    """

    def __init__(self) -> None:
        self.asked: list[str] = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.rule = f"MAP * 127.0.0.1:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        with suppress(OSError):  # closed
            while True:
                threading.Thread(target=self._note, args=self._socket.accept()[:1], daemon=True).start()

    def _note(self, connection: socket.socket) -> None:
        """The first message of TLS names the host in plain text."""
        said = b""
        with connection, suppress(OSError):
            connection.settimeout(0.3)
            while part := connection.recv(4096):
                said += part
        self.asked += [host for host in HOSTS if re.search(rb"(?<![\w.-])" + re.escape(host.encode()), said)]

    def close(self) -> None:
        self._socket.close()


@pytest.fixture(scope="module")
def outside() -> Iterator[Outside]:
    made = Outside()
    yield made
    made.close()


@pytest.fixture(scope="module")
def watched(chromium: tuple[BrowserType, str], outside: Outside) -> Iterator[Browser]:
    """A browser to which every name is the host that counts; what it asks for by itself is not counted."""
    kind, executable = chromium
    quiet = ["--no-sandbox", "--disable-background-networking", "--disable-component-update"]
    started = kind.launch(executable_path=executable, args=[*quiet, f"--host-resolver-rules={outside.rule}"])
    yield started
    started.close()


@pytest.fixture(scope="module")
def picture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("picture") / "picture.html"
    write_picture(summary(line("P5", 30, 9), line("worse", 8, 50)), found)
    return found


@pytest.fixture(params=["timeline-plot", "group-plot", "picture"])
def plot(request: pytest.FixtureRequest, watched: Browser, file: Path, picture: Path) -> Iterator[tuple[Page, str]]:
    """A page of ours in a tab, and the id of a plot in it."""
    page = watched.new_page(viewport={"width": 1440, "height": 1000})
    page.goto((picture if request.param == "picture" else file).as_uri())
    page.wait_for_selector(f"#{request.param} .modebar", state="attached")
    yield page, request.param
    page.context.close()


WAYS_OUT = """async (hosts) => {
    const ways = {fetch: 0, opened: 0, moved: 0};
    const here = location.href;
    for (const host of hosts) {
        const sent = {method: "POST", body: "x", mode: "no-cors"};
        await fetch(`https://${host}/`, sent).then(() => ways.fetch++, () => {});
        navigator.sendBeacon(`https://${host}/`, "x");
        new Image().src = `https://${host}/x.png`;
        ways.opened += window.open(`https://${host}/`) ? 1 : 0;
        const link = document.createElement("a");
        Object.assign(link, {href: `https://${host}/`, target: "_blank"});
        const form = document.createElement("form");
        Object.assign(form, {action: `https://${host}/`, method: "POST", target: "_blank"});
        document.body.append(link, form);
        link.click();
        form.submit();
        form.requestSubmit();
    }
    await new Promise((done) => setTimeout(done, 1_000));
    ways.moved = location.href === here ? 0 : 1;
    return ways;
}"""


def test_no_way_leads_to_any_of_these_hosts(plot: tuple[Page, str], outside: Outside) -> None:
    page, _ = plot
    before = len(outside.asked)
    assert page.evaluate(WAYS_OUT, list(HOSTS)) == {"fetch": 0, "opened": 0, "moved": 0}
    assert (outside.asked[before:], len(page.context.pages)) == ([], 1)


def test_the_buttons_shown_are_ours_and_none_leads_out(plot: tuple[Page, str], outside: Outside) -> None:
    page, name = plot
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    before, here = len(outside.asked), page.url.partition("#")[0]
    page.hover(f"#{name}")
    buttons = page.locator(f"#{name} .modebar-btn")
    assert page.evaluate(f"document.getElementById('{name}')._fullLayout._modeBar.buttonsNames") == [
        "toImage", "zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "autoScale2d", "resetScale2d",
    ]  # fmt: skip
    assert buttons.count() == len(SHOWN)
    with page.expect_download() as download:
        buttons.first.click()
    assert download.value.suggested_filename.endswith(".svg")
    for number in range(1, len(SHOWN)):
        buttons.nth(number).click()
    page.wait_for_timeout(1_000)
    assert (outside.asked[before:], len(page.context.pages), page.url.partition("#")[0], said) == ([], 1, here, [])


SHARE = """(id) => {
    const plot = document.getElementById(id);
    const config = {displaylogo: true, showSendToCloud: true, plotlyServerURL: "https://cloud.plotly.com/newchart"};
    return Plotly.newPlot(plot, plot.data, plot.layout, {...config, modeBarButtons: false, displayModeBar: true});
}"""


def _share(page: Page, name: str) -> None:
    """What a person could do if the button were there: share the chart, follow the links."""
    page.locator(f"#{name} .modebar-btn--logo").click()
    page.locator(f"#{name} .modebar-btn[data-title^='Share chart']").click()
    page.locator(".plotly-cloud-dialog-message--hostname").click()
    page.locator(".plotly-cloud-dialog-btn--confirm").click()
    page.wait_for_timeout(1_000)


def test_a_chart_cannot_be_shared_even_if_the_button_came_back(plot: tuple[Page, str], outside: Outside) -> None:
    page, name = plot
    before, here = len(outside.asked), page.url.partition("#")[0]
    page.evaluate(SHARE, name)
    _share(page, name)
    assert (outside.asked[before:], len(page.context.pages), page.url) == ([], 1, here)


@pytest.mark.last  # what it asks for may arrive late, and would count against another page
def test_the_tests_see_a_page_that_is_not_closed(watched: Browser, outside: Outside, tmp_path: Path) -> None:
    graph_objects.Figure(data=[{"type": "scatter", "y": [1, 2]}]).write_html(tmp_path / "open.html", div_id="open")
    page = watched.new_page()
    page.goto((tmp_path / "open.html").as_uri())
    page.wait_for_selector("#open .modebar", state="attached")
    before = len(outside.asked)
    page.evaluate(SHARE, "open")
    _share(page, "open")
    assert set(outside.asked[before:]) == {"cloud.plotly.com", "plotly.com"}
    assert len(page.context.pages) == 4  # the logo's, the dialog's link, and the cloud
    page.context.close()
