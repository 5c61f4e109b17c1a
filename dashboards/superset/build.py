"""Writes dashboards/superset/bundle, what Superset imports: `.venv/bin/python dashboards/superset/build.py [--check]`.

They are made of dashboards/superset/definition.yaml and of the tables' own columns. Ids come from names, so that a
repeated import overwrites. `--check` fails when a file is stale.
"""

from __future__ import annotations

import re
import shutil
import sys
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import yaml

from jobs.serving.duckdb_file import create_table, define
from jobs.serving.views import VIEWS, read_view
from jobs.tables import TABLES

_HERE = Path(__file__).parent
_BUNDLE = _HERE / "bundle"
_URI = "duckdb:///lake.duckdb?access_mode=read_only"
_VERSION = "1.0.0"
_IDS = uuid.uuid5(uuid.NAMESPACE_URL, "faultline/dashboards/superset")
_WHOLE = ("BIGINT", "INTEGER", "HUGEINT")
_NUMBERS = (*_WHOLE, "DOUBLE", "DECIMAL")


@dataclass(frozen=True)
class Dataset:
    """A table or view, or `sql`.

    Attributes:
        name: of the table, view or virtual dataset.
        about: what one row is, or what the view answers.
        metrics: name to label, SQL, and D3 format.
        columns: name to SQL of the calculated ones.
        sql: of a virtual dataset; empty = the name is a table or view.
        types: DuckDB's type of each column, calculated ones included.
        meanings: what the columns mean, as far as known.
    """

    name: str
    about: str
    metrics: Mapping[str, tuple[str, str, str]]
    columns: Mapping[str, str]
    sql: str
    types: Mapping[str, str]
    meanings: Mapping[str, str]


@dataclass(frozen=True)
class Chart:
    """A chart as definition.yaml explains it."""

    title: str
    kind: str
    of: str
    metrics: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()
    line: str = ""
    time: str = ""
    spans: tuple[str, str] = ("", "")
    unit: str = ""
    order: str = ""
    where: str = ""
    log: bool = False
    wide: int = 0
    ignores: tuple[str, ...] = ()


@dataclass(frozen=True)
class Filter:
    """A filter: what may be chosen is in a column; the first choice is the value with `most`, else the last."""

    name: str
    of: str
    column: str
    most: str = ""
    after: tuple[str, ...] = ()
    several: bool = False


@dataclass(frozen=True)
class Dashboard:
    """Rows of charts, each with its height in units of 8 px."""

    title: str
    slug: str
    about: str
    filters: tuple[Filter, ...]
    rows: tuple[tuple[int, tuple[Chart, ...]], ...]

    @property
    def charts(self) -> list[Chart]:
        """All of them, in order."""
        return [chart for _, charts in self.rows for chart in charts]


@dataclass(frozen=True)
class Definition:
    """Everything in definition.yaml."""

    datasets: Mapping[str, Dataset] = field(default_factory=dict)
    dashboards: tuple[Dashboard, ...] = ()


def read_definition() -> Definition:
    """The definition, its SQL asked of empty tables: a column that is not there raises."""
    told = yaml.safe_load((_HERE / "definition.yaml").read_text(encoding="utf-8"))
    with empty_lake() as lake:
        datasets = {name: _dataset(lake, name, **how) for name, how in told["datasets"].items()}
    return Definition(datasets, tuple(_dashboard(**how) for how in told["dashboards"]))


def empty_lake() -> duckdb.DuckDBPyConnection:
    """Every table without rows, and the views, in memory."""
    lake = duckdb.connect()
    for table in TABLES:
        create_table(lake, table)
    define(lake)
    return lake


def bundle(definition: Definition) -> dict[str, str]:
    """Path below the bundle, to the file's text."""
    files: dict[str, Any] = {
        "metadata.yaml": {"version": _VERSION, "type": "assets", "timestamp": "2026-01-01T00:00:00+00:00"},
        "databases/Faultline.yaml": _database_yaml(),
    }
    for dataset in definition.datasets.values():
        files[f"datasets/Faultline/{dataset.name}.yaml"] = _dataset_yaml(dataset)
    for dashboard in definition.dashboards:
        for chart in dashboard.charts:
            name = re.sub(r"[^a-z0-9]+", "-", chart.title.lower()).strip("-")
            files[f"charts/{dashboard.slug}/{name}.yaml"] = _chart_yaml(dashboard, chart, definition.datasets[chart.of])
        files[f"dashboards/{dashboard.slug}.yaml"] = _dashboard_yaml(dashboard)
    return {path: yaml.safe_dump(content, sort_keys=False, width=120) for path, content in files.items()}


def main(arguments: Sequence[str]) -> int:
    """Write the files, or with `--check` fail when one is stale."""
    files = bundle(read_definition())
    if "--check" in arguments:
        kept = {str(path.relative_to(_BUNDLE)): path.read_text(encoding="utf-8") for path in _BUNDLE.rglob("*.yaml")}
        stale = sorted(path for path in files.keys() | kept.keys() if files.get(path) != kept.get(path))
        if stale:
            sys.stderr.write(f"{_BUNDLE.name}/{stale[0]} is stale; run .venv/bin/python dashboards/superset/build.py\n")
        return int(bool(stale))
    shutil.rmtree(_BUNDLE, ignore_errors=True)
    for path, text in files.items():
        (_BUNDLE / path).parent.mkdir(parents=True, exist_ok=True)
        (_BUNDLE / path).write_text(text, encoding="utf-8")
    return 0


def _dataset(
    lake: duckdb.DuckDBPyConnection,
    name: str,
    metrics: Mapping[str, Sequence[str]],
    columns: Mapping[str, str] | None = None,
    about: str = "",
    sql: str = "",
) -> Dataset:
    source = f"({sql})" if sql else name
    lake.execute(f"CREATE OR REPLACE VIEW plain AS SELECT * FROM {source}")  # noqa: S608 - our own SQL
    calculated = dict(columns or {})
    if "event_date" in _types(lake, "SELECT * FROM plain"):
        calculated = {"day": "CAST(event_date AS VARCHAR(10))", **calculated}
    added = "".join(f", {expression} AS {column}" for column, expression in calculated.items())
    types = _types(lake, f"SELECT *{added} FROM plain")  # noqa: S608
    for _, expression, _ in metrics.values():
        _types(lake, f"SELECT {expression} FROM plain")  # noqa: S608
    return Dataset(
        name,
        about or _about(name),
        {metric: (label, expression, form) for metric, (label, expression, form) in metrics.items()},
        calculated,
        sql,
        types,
        _meanings(name),
    )


def _types(lake: duckdb.DuckDBPyConnection, query: str) -> dict[str, str]:
    return {name: kind for name, kind, *_ in lake.execute(f"DESCRIBE {query}").fetchall()}


def _about(name: str) -> str:
    return {table.name: table.grain for table in TABLES}.get(name) or read_view(name).question


def _meanings(name: str) -> Mapping[str, str]:
    if name in VIEWS:
        return read_view(name).columns
    return {
        column.name: column.metadata["comment"] for table in TABLES if table.name == name for column in table.columns
    }


def _dashboard(title: str, slug: str, about: str, filters: Sequence[Any], rows: Sequence[Any]) -> Dashboard:
    return Dashboard(
        title,
        slug,
        about,
        tuple(Filter(**{**how, "after": tuple(how.get("after", ()))}) for how in filters),
        tuple((row["high"], tuple(_chart(**how) for how in row["charts"])) for row in rows),
    )


def _chart(**how: Any) -> Chart:
    by = how.get("by", ())
    told: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in how.items()}
    told |= {"by": (by,) if isinstance(by, str) else tuple(by), "spans": (told.pop("from", ""), told.pop("until", ""))}
    return Chart(**told)


def _id(*names: str) -> str:
    return str(uuid.uuid5(_IDS, "/".join(names)))


def _database_yaml() -> dict[str, Any]:
    return {
        "database_name": "Faultline",
        "sqlalchemy_uri": _URI,
        "expose_in_sqllab": True,
        "allow_run_async": False,
        "allow_ctas": False,
        "allow_cvas": False,
        "allow_dml": False,
        "extra": {"allows_virtual_table_explore": True},
        "uuid": _id("database"),
        "version": _VERSION,
    }


def _dataset_yaml(dataset: Dataset) -> dict[str, Any]:
    return {
        "table_name": dataset.name,
        "description": dataset.about,
        "schema": "",  # the URI's own; null would become that of Superset's examples
        "sql": dataset.sql or None,
        "source_db_engine": "duckdb" if dataset.sql else None,
        "filter_select_enabled": True,
        "uuid": _id("dataset", dataset.name),
        "metrics": [
            {"metric_name": name, "verbose_name": label, "expression": expression, "d3format": form or None}
            for name, (label, expression, form) in dataset.metrics.items()
        ],
        "columns": [_column_yaml(dataset, name, kind) for name, kind in dataset.types.items()],
        "version": _VERSION,
        "database_uuid": _id("database"),
    }


def _column_yaml(dataset: Dataset, name: str, kind: str) -> dict[str, Any]:
    column = {
        "column_name": name,
        "verbose_name": _label(name),
        "type": kind.partition("(")[0],
        "is_dttm": kind in {"TIMESTAMP", "DATE"},
        "expression": dataset.columns.get(name),
        "description": dataset.meanings.get(name),
    }
    return {key: value for key, value in column.items() if value is not None}


def _label(column: str) -> str:
    """A column's heading, with its unit.

    >>> _label("bad_from_at"), _label("latency_p99_ms"), _label("unowned_s"), _label("isolated_min"), _label("day")
    ('bad from (UTC)', 'latency p99 (ms)', 'unowned (s)', 'isolated (minutes)', 'day (UTC)')
    """
    units = {"_at": "UTC", "_ms": "ms", "_s": "s", "_min": "minutes"}
    unit = next((unit for ending, unit in units.items() if column.endswith(ending)), "")
    words = column.rpartition("_")[0] if unit else column
    unit = "UTC" if column == "day" else unit
    return words.replace("_", " ") + (f" ({unit})" if unit else "")


def _chart_yaml(dashboard: Dashboard, chart: Chart, dataset: Dataset) -> dict[str, Any]:
    kind, params = _KINDS[chart.kind](chart, dataset)
    condition = {"expressionType": "SQL", "clause": "WHERE", "sqlExpression": chart.where}
    return {
        "slice_name": chart.title,
        "viz_type": kind,
        "params": {"viz_type": kind, "adhoc_filters": [condition] if chart.where else [], **params},
        "uuid": _chart_id(dashboard, chart),
        "version": _VERSION,
        "dataset_uuid": _id("dataset", dataset.name),
    }


def _chart_id(dashboard: Dashboard, chart: Chart) -> str:
    return _id("chart", dashboard.slug, chart.title)


def _number(chart: Chart, dataset: Dataset) -> tuple[str, dict[str, Any]]:
    (metric,) = chart.metrics
    form = dataset.metrics[metric][2]
    shown = (
        {"time_format": form, "force_timestamp_formatting": True} if form.startswith("%") else {"y_axis_format": form}
    )
    return "big_number_total", {"metric": metric, "header_font_size": 0.4, **shown}


def _over_time(chart: Chart, _dataset: Dataset) -> tuple[str, dict[str, Any]]:
    """A point per minute and series; of many series those with most."""
    kinds = {"line": "line", "points": "scatter"}
    return f"echarts_timeseries_{kinds[chart.kind]}", {
        **_axes(chart),
        "x_axis": chart.time,
        "time_grain_sqla": "PT1M",
        "groupby": list(chart.by),
        "limit": 20 if chart.by else 0,
        "timeseries_limit_metric": chart.metrics[0],
        "row_limit": 50_000,
        "x_axis_title": "UTC",
        "x_axis_title_margin": 30,
        "x_axis_time_format": "%H:%M",
        "y_axis_title": chart.unit,
        "y_axis_title_margin": 50,
        "logAxis": chart.log,
        "zoomable": True,
        "markerEnabled": True,  # a minute between minutes without any has no line
        "markerSize": 3 if chart.kind == "line" else 7,
        "tooltipTimeFormat": "%Y-%m-%d %H:%M:%S",
    }


def _ranks(chart: Chart, _dataset: Dataset) -> tuple[str, dict[str, Any]]:
    """A bar per value: days in their order, others with the longest first."""
    is_days = chart.line == "day"
    return "echarts_timeseries_bar", {
        **_axes(chart),
        "x_axis": chart.line,
        "xAxisForceCategorical": True,
        "groupby": list(chart.by),
        "timeseries_limit_metric": chart.metrics[0],
        "row_limit": 50_000 if chart.by or is_days else 20,
        "orientation": "vertical" if is_days else "horizontal",
        "x_axis_sort": chart.line if is_days else chart.metrics[0],
        "x_axis_sort_asc": True,  # the last of horizontal bars is at the top
        "x_axis_sort_series": "name" if is_days else "sum",
        "x_axis_sort_series_ascending": is_days,
        "stack": "Stack" if chart.by or len(chart.metrics) > 1 else None,
    }


def _axes(chart: Chart) -> dict[str, Any]:
    return {
        "metrics": list(chart.metrics),
        "order_desc": True,
        "y_axis_format": ",.2~f",
        "show_legend": bool(chart.by) or len(chart.metrics) > 1,
        "legendType": "scroll",
        "legendOrientation": "top",
        "rich_tooltip": True,
        "truncate_metric": True,
        "show_empty_columns": True,
        "color_scheme": "supersetColors",
    }


def _rows(chart: Chart, dataset: Dataset) -> tuple[str, dict[str, Any]]:
    column = chart.order.removeprefix("-")
    return "table", {
        "query_mode": "raw",
        "all_columns": list(chart.columns),
        "order_by_cols": [f'["{column}", {"false" if chart.order.startswith("-") else "true"}]'],
        **_table({name: _format(dataset.types[name]) for name in chart.columns}),
    }


def _groups(chart: Chart, dataset: Dataset) -> tuple[str, dict[str, Any]]:
    return "table", {
        "query_mode": "aggregate",
        "groupby": list(chart.by),
        "metrics": list(chart.metrics),
        "timeseries_limit_metric": chart.metrics[0],
        "order_desc": True,
        **_table({name: dataset.metrics[name][2] for name in chart.metrics}),
    }


def _table(formats: Mapping[str, str | None]) -> dict[str, Any]:
    return {
        "row_limit": 1000,
        "page_length": 0,
        "include_search": False,
        "show_cell_bars": False,
        "allow_render_html": False,  # names come from logs
        "table_timestamp_format": "%Y-%m-%d %H:%M:%S",
        "column_config": {name: {"d3NumberFormat": form} for name, form in formats.items() if form},
    }


def _format(kind: str) -> str | None:
    if not kind.startswith(_NUMBERS):
        return None
    return ",d" if kind in _WHOLE else ",.1f"


def _pivot(chart: Chart, _dataset: Dataset) -> tuple[str, dict[str, Any]]:
    return "pivot_table_v2", {
        "groupbyRows": list(chart.rows),
        "groupbyColumns": list(chart.by),
        "metrics": list(chart.metrics),
        "aggregateFunction": "List Unique Values",
        "metricsLayout": "COLUMNS",
        "row_limit": 10_000,
        "rowOrder": "key_a_to_z",
        "colOrder": "key_a_to_z",
        "allow_render_html": False,
    }


def _gantt(chart: Chart, _dataset: Dataset) -> tuple[str, dict[str, Any]]:
    start, end = chart.spans
    return "gantt_chart", {
        "start_time": start,
        "end_time": end,
        "y_axis": chart.line,
        "series": chart.by[0],
        "tooltip_columns": [*chart.columns, start, end],
        "order_by_cols": [f'["{chart.order.removeprefix("-")}", false]', f'["{chart.line}", true]'],
        "row_limit": 10_000,  # the longest
        "show_legend": True,
        "legendType": "scroll",
        "legendOrientation": "top",
        "color_scheme": "supersetColors",
        "zoomable": True,
        "x_axis_title": "UTC",
        "x_axis_title_margin": 30,
        "x_axis_time_format": "%H:%M",
        "y_axis_title": _label(chart.line),
        "y_axis_title_margin": 150,  # the names stand in it, and would be cut
        "tooltipTimeFormat": "%Y-%m-%d %H:%M:%S",
        "tooltipValuesFormat": ",.1~f",
    }


_KINDS = {
    "number": _number,
    "line": _over_time,
    "points": _over_time,
    "ranks": _ranks,
    "rows": _rows,
    "groups": _groups,
    "pivot": _pivot,
    "gantt": _gantt,
}


def _dashboard_yaml(dashboard: Dashboard) -> dict[str, Any]:
    return {
        "dashboard_title": dashboard.title,
        "description": dashboard.about,
        "slug": dashboard.slug,
        "uuid": _id("dashboard", dashboard.slug),
        "position": _position(dashboard),
        "metadata": {
            "native_filter_configuration": [_filter_yaml(dashboard, each) for each in dashboard.filters],
            "cross_filters_enabled": True,
            "refresh_frequency": 0,
            "color_scheme": "supersetColors",
            "label_colors": {"CRITICAL": "#E04355", "WARNING": "#FF7F44", "INFO": "#A1A6BD"},
        },
        "version": _VERSION,
        "published": True,
    }


def _position(dashboard: Dashboard) -> dict[str, Any]:
    """Charts are numbered from 1 within the dashboard; an import gives them other ids."""
    rows = [f"ROW-{number}" for number in range(1, len(dashboard.rows) + 1)]
    grid: dict[str, Any] = {
        "DASHBOARD_VERSION_KEY": "v2",
        "ROOT_ID": {"type": "ROOT", "id": "ROOT_ID", "children": ["GRID_ID"]},
        "HEADER_ID": {"type": "HEADER", "id": "HEADER_ID", "meta": {"text": dashboard.title}},
        "GRID_ID": {"type": "GRID", "id": "GRID_ID", "children": rows, "parents": ["ROOT_ID"]},
    }
    number = 0
    for row, (high, charts) in zip(rows, dashboard.rows, strict=True):
        above = ["ROOT_ID", "GRID_ID"]
        places = [f"CHART-{number + place}" for place in range(1, len(charts) + 1)]
        grid[row] = {
            "type": "ROW",
            "id": row,
            "children": places,
            "parents": above,
            "meta": {"background": "BACKGROUND_TRANSPARENT"},
        }
        for column, (place, chart) in enumerate(zip(places, charts, strict=True)):
            number += 1
            grid[place] = {
                "type": "CHART",
                "id": place,
                "children": [],
                "parents": [*above, row],
                "meta": {
                    "chartId": number,
                    "uuid": _chart_id(dashboard, chart),
                    "sliceName": chart.title,
                    "width": chart.wide or 12 // len(charts) + (column < 12 % len(charts)),
                    "height": high,
                },
            }
    return grid


def _filter_yaml(dashboard: Dashboard, told: Filter) -> dict[str, Any]:
    excluded = [number for number, chart in enumerate(dashboard.charts, start=1) if told.name in chart.ignores]
    return {
        "id": _filter_id(told.name),
        "type": "NATIVE_FILTER",
        "filterType": "filter_select",
        "name": told.name,
        "description": "",
        "targets": [{"column": {"name": told.column}, "datasetUuid": _id("dataset", told.of)}],
        "sortMetric": told.most or None,
        "requiredFirst": not told.several,
        "controlValues": {
            "enableEmptyFilter": not told.several,
            "defaultToFirstItem": not told.several,
            "multiSelect": told.several,
            "searchAllOptions": True,
            "inverseSelection": False,
            "sortAscending": told.several,
        },
        "defaultDataMask": {"extraFormData": {}, "filterState": {}, "ownState": {}},
        "cascadeParentIds": [_filter_id(name) for name in told.after],
        "scope": {"rootPath": ["ROOT_ID"], "excluded": excluded},
    }


def _filter_id(name: str) -> str:
    return f"NATIVE_FILTER-{name.lower().replace(' ', '-')}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
