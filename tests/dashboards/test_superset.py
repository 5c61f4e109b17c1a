"""The bundle in a real Superset, in a real Chromium: five to eight minutes, and 700 MB of packages once."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, Response

from dashboards.superset.build import Dashboard, Filter, read_definition
from jobs.serving.duckdb_file import export_duckdb
from tests.given.drawn_nights import CLUSTERS, DAYS
from tests.given.lakes import LiteralLake
from tests.given.real_superset import Superset

pytestmark = pytest.mark.slow

DEFINITION = read_definition()
BY_SLUG = {dashboard.slug: dashboard for dashboard in DEFINITION.dashboards}
NEWEST = f"IN ('{DAYS[-1]}')"


class Answers:
    """What the charts of a page are answered: id to the last answer, with its HTTP status."""

    def __init__(self, page: Page) -> None:
        self.by_chart: dict[int, dict[str, Any]] = {}
        self._page = page
        page.on("response", self._keep)

    def _keep(self, response: Response) -> None:
        if "/api/v1/chart/data" not in response.url:
            return
        asked = (response.request.post_data_json or {}).get("form_data", {})
        if "slice_id" in asked:
            self.by_chart[asked["slice_id"]] = {"status": response.status, **response.json()}

    def until(self, holds: Callable[[], bool], what: str) -> None:
        """Wait for answers, and for their pictures."""
        for _ in range(600):
            self._page.wait_for_timeout(200)
            if holds() and not self._page.locator(".loading").count():
                return
        pytest.fail(f"not within two minutes: {what}; answered are {sorted(self.by_chart)}")

    def until_narrowed(self, by: str, charts: int) -> None:
        """Wait until so many charts have the condition in their SQL."""
        self.until(lambda: sum(by in query for query in self.queries.values()) == charts, f"{charts} charts {by}")

    @property
    def queries(self) -> dict[int, str]:
        """Chart to its SQL."""
        return {chart: answer["result"][0]["query"] for chart, answer in self.by_chart.items()}

    def chosen(self, column: str) -> set[str]:
        """Values of the column that charts are narrowed to."""
        return {value for query in self.queries.values() for value in re.findall(rf"{column} IN \('(.+?)'\)", query)}


def _open(page: Page, superset: Superset, slug: str) -> Answers:
    """A dashboard at its newest day, all charts answered."""
    answers, dashboard = Answers(page), BY_SLUG[slug]
    (day,) = (each for each in dashboard.filters if each.column == "day")
    page.goto(f"{superset.url}/superset/dashboard/{slug}/")
    answers.until(lambda: len(answers.by_chart) == len(dashboard.charts), f"{len(dashboard.charts)} charts")
    answers.until_narrowed(NEWEST, _narrowed_by(day, dashboard))
    return answers


def _narrowed_by(each: Filter, dashboard: Dashboard) -> int:
    """How many charts have the filter's column and do not ignore it."""
    return sum(
        each.name not in chart.ignores and each.column in DEFINITION.datasets[chart.of].types
        for chart in dashboard.charts
    )


def _choose(page: Page, name: str, value: str = "") -> str:
    """Another value of a filter, applied with what that changes in the filters after it."""
    field = page.locator(f"input#NATIVE_FILTER-{name}")
    field.click(force=True)  # where several may be chosen, the field is read-only until its list is open
    if value:
        field.fill(value)
    title = f"[title='{value}']" if value else ":not(.ant-select-item-option-selected):not([title='<NULL>'])"
    option = page.locator(f".ant-select-item-option{title}:visible").first
    value = option.get_attribute("title") or ""
    option.click()
    page.keyboard.press("Escape")
    page.wait_for_timeout(3_000)
    page.locator("[data-test=filter-bar__apply-button]").click()
    return value


def test_a_second_import_left_one_of_each(listed: Any) -> None:
    titles = Counter(chart.title for dashboard in DEFINITION.dashboards for chart in dashboard.charts)
    assert [each["database_name"] for each in listed["database"]] == ["Faultline"]
    assert Counter(each["table_name"] for each in listed["dataset"]) == Counter(DEFINITION.datasets.keys())
    assert Counter(each["slice_name"] for each in listed["chart"]) == titles
    assert sorted(each["slug"] for each in listed["dashboard"]) == sorted(BY_SLUG)


@pytest.mark.parametrize("slug", BY_SLUG)
def test_every_chart_draws_rows_of_the_newest_day(page: Page, superset: Superset, listed: Any, slug: str) -> None:
    answers = _open(page, superset, slug)
    page.wait_for_timeout(3_000)  # pictures move into their places
    holders = page.locator(".dashboard-component-chart-holder").all()
    if folder := os.environ.get("FAULTLINE_SCREENSHOTS"):
        bottom = max(box["y"] + box["height"] for holder in holders if (box := holder.bounding_box()))
        path = Path(folder) / f"superset-{slug}.png"
        page.screenshot(path=path, clip={"x": 0, "y": 0, "width": 1500, "height": bottom + 16})
    titles = {each["id"]: each["slice_name"] for each in listed["chart"]}
    empty = {
        titles[chart]: answer
        for chart, answer in answers.by_chart.items()
        if answer["status"] != 200 or not answer["result"][0]["rowcount"]
    }
    assert not empty
    assert sorted(titles[chart] for chart in answers.by_chart) == sorted(chart.title for chart in BY_SLUG[slug].charts)
    assert len(holders) == len(answers.by_chart)
    for holder in holders:
        assert holder.locator("canvas, table, .header-line").count(), holder.inner_text()


def test_a_chosen_cluster_broker_and_day_narrow_the_charts(page: Page, superset: Superset) -> None:
    answers = _open(page, superset, "faultline-broker")
    (cluster,) = answers.chosen("cluster")
    (broker,) = answers.chosen("broker_name")
    assert broker in CLUSTERS[cluster]
    other = next(each for each in CLUSTERS if each != cluster)
    _choose(page, "cluster", other)
    answers.until(lambda: answers.chosen("cluster") == {other}, "another cluster")
    answers.until(lambda: answers.chosen("broker_name") <= set(CLUSTERS[other]), "a broker of it")
    _choose(page, "broker", CLUSTERS[other][1])
    answers.until(lambda: answers.chosen("broker_name") == {CLUSTERS[other][1]}, "another broker")
    _choose(page, "day", f"{DAYS[0]}")
    answers.until(lambda: all(NEWEST not in query for query in answers.queries.values()), "another day")
    rows = [row for answer in answers.by_chart.values() for row in answer["result"][0]["data"]]
    assert {row["broker_name"] for row in rows if "broker_name" in row} <= {CLUSTERS[other][1]}


@pytest.mark.parametrize("slug", BY_SLUG)
def test_each_filter_narrows_its_charts(page: Page, superset: Superset, slug: str) -> None:
    answers, dashboard = _open(page, superset, slug), BY_SLUG[slug]
    for each in dashboard.filters:
        if each.column in ("cluster", "day"):
            continue
        chosen = f"{each.column} IN ('{_choose(page, each.name.lower().replace(' ', '-'))}')"
        narrowed = _narrowed_by(each, dashboard)
        assert narrowed
        answers.until_narrowed(chosen, narrowed)


def test_the_file_of_the_next_night_is_shown_without_a_restart(page: Page, superset: Superset) -> None:
    (id_of,) = (
        each["id"]
        for each in page.request.get(f"{superset.url}/api/v1/dataset/?q=(page_size:100)").json()["result"]
        if each["table_name"] == "broker_minutes"
    )
    clusters = f"{superset.url}/api/v1/datasource/table/{id_of}/column/cluster/values/"
    before = page.request.get(clusters).json()["result"]
    LiteralLake(superset.lake).add("broker_windows", DAYS[-1], {"cluster": "mail", "broker_name": "m", "sends": 1})
    export_duckdb(str(superset.lake), superset.file)
    after = page.request.get(clusters).json()["result"]
    assert (sorted(before), sorted(after)) == (["orders", "payments"], ["mail", "orders", "payments"])
