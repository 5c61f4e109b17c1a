"""The bundle for Superset without a Superset: it is what its definition says, and its SQL is that of every catalog."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import sqlglot
import yaml
from sqlglot import exp

from dashboards.superset import build as made
from jobs.serving.views import VIEWS, read_view

ROOT = Path(__file__).parents[2]
DEFINITION = made.read_definition()
BUNDLE: dict[str, Any] = {path: yaml.safe_load(text) for path, text in made.bundle(DEFINITION).items()}
CATALOGS = ("spark", "databricks", "trino")


def _sql() -> dict[str, str]:
    """Everything that dashboards ask, by name."""
    found = {f"view {name}": read_view(name).select for name in VIEWS}
    for dataset in DEFINITION.datasets.values():
        found |= {f"dataset {dataset.name}": dataset.sql} if dataset.sql else {}
        found |= {f"metric {dataset.name} {name}": sql for name, (_, sql, _) in dataset.metrics.items()}
        found |= {f"column {dataset.name} {name}": sql for name, sql in dataset.columns.items()}
    for dashboard in DEFINITION.dashboards:
        found |= {f"chart {dashboard.slug} {chart.title}": chart.where for chart in dashboard.charts if chart.where}
    return found


SQL = _sql()


def _meaning(sql: str, dialect: str) -> exp.Expression:
    """The tree, without what makes no difference here: lengths of texts, and where nulls go among instants."""
    return sqlglot.parse_one(sql, read=dialect).transform(_plain)


def _plain(node: exp.Expression) -> exp.Expression:
    if isinstance(node, exp.TryCast):
        return exp.Cast(this=node.this.transform(_plain), to=node.args["to"].transform(_plain))
    if isinstance(node, exp.DataType) and node.is_type(*exp.DataType.TEXT_TYPES):
        return exp.DataType.build("TEXT")
    if isinstance(node, exp.Div) and any("e" in each.name for each in node.find_all(exp.Literal)):
        node.set("typed", None)  # by a float: no catalog divides that into whole numbers
    for argument in ("safe", "nulls_first"):
        node.set(argument, None)
    return node


def _functions(sql: str) -> set[str]:
    return {name.upper() for name in re.findall(r"\b([a-z_]\w*)\(", re.sub(r"--.*", "", sql), re.IGNORECASE)}


def _is_shared(sql: str, catalog: str) -> bool:
    """The catalog reads what DuckDB reads, and knows the functions by the same names."""
    (there,) = sqlglot.transpile(sql, read="duckdb", write=catalog)
    return _meaning(sql, catalog) == _meaning(sql, "duckdb") and _functions(sql) - {"VARCHAR"} <= _functions(there)


def test_the_bundle_is_what_its_definition_says() -> None:
    assert made.main(["--check"]) == 0


@pytest.mark.parametrize("catalog", CATALOGS)
def test_what_charts_and_views_ask_is_the_same_sql_in_every_catalog(catalog: str) -> None:
    assert not {name for name, sql in SQL.items() if not _is_shared(sql, catalog)}


def test_sql_that_only_duckdb_reads_is_noticed() -> None:
    assert not _is_shared("SELECT sum(a) / 60000 FROM t", "trino")
    assert not _is_shared("SELECT list_contains(a, 1) FROM t", "spark")
    assert not _is_shared("SELECT array_contains(a, 1) FROM t", "trino")
    assert _is_shared("SELECT sum(a) / 6e4, max_by(a, b) FROM t", "trino")


def test_no_metric_or_column_is_named_as_a_value() -> None:
    """Superset shows a value that equals such a name under the name's label."""
    for dataset in DEFINITION.datasets.values():
        values = set(re.findall(r"'([^']*)'", " ".join([dataset.sql, *dataset.columns.values()])))
        assert not values & {*dataset.metrics, *dataset.types}, dataset.name


def test_ids_are_unique_and_every_reference_has_one() -> None:
    ids = [content["uuid"] for path, content in BUNDLE.items() if path != "metadata.yaml"]
    assert len(ids) == len(set(ids))
    placed = [
        place["meta"]["uuid"]
        for content in BUNDLE.values()
        for place in content.get("position", {}).values()
        if isinstance(place, dict) and place["type"] == "CHART"
    ]
    assert sorted(placed) == sorted(content["uuid"] for content in BUNDLE.values() if "viz_type" in content)


@pytest.mark.parametrize("dashboard", DEFINITION.dashboards, ids=lambda each: each.slug)
def test_charts_and_filters_name_what_there_is(dashboard: Any) -> None:
    filters = {each.name for each in dashboard.filters}
    for each in dashboard.filters:
        assert each.column in DEFINITION.datasets[each.of].types
        assert not each.most or each.most in DEFINITION.datasets[each.of].metrics
    for high, charts in dashboard.rows:
        assert high > 0
        assert sum(chart.wide or 12 // len(charts) for chart in charts) <= 12
        for chart in charts:
            dataset = DEFINITION.datasets[chart.of]
            columns = (*chart.by, *chart.columns, *chart.rows, chart.line, chart.time, *chart.spans, chart.order)
            assert {name.removeprefix("-") for name in columns if name} <= dataset.types.keys(), chart.title
            assert set(chart.metrics) <= dataset.metrics.keys(), chart.title
            assert set(chart.ignores) <= filters, chart.title


@pytest.mark.parametrize("dashboard", DEFINITION.dashboards, ids=lambda each: each.slug)
def test_one_cluster_is_always_chosen_and_narrows_the_other_filters(dashboard: Any) -> None:
    cluster, *others = dashboard.filters
    assert (cluster.name, cluster.column, cluster.several, cluster.after) == ("Cluster", "cluster", False, ())
    assert all("Cluster" in each.after for each in others)
    assert {each.most for each in dashboard.filters if not each.several and each.name != "Day"} == {"opens_with"}


@pytest.mark.parametrize("chart", [chart for dashboard in DEFINITION.dashboards for chart in dashboard.charts])
def test_a_chart_that_is_cut_says_so_or_has_the_longest(chart: Any) -> None:
    _, params = made._KINDS[chart.kind](chart, DEFINITION.datasets[chart.of])
    if chart.kind == "ranks":
        has_few = chart.line in {"fault_latency", "strategy_used"}  # closed lists
        assert params["row_limit"] == 50_000 or has_few or "20" in chart.title
        assert chart.line != "day" or params["row_limit"] == 50_000
    if chart.kind == "gantt":
        assert re.fullmatch(r'\["\w+_s", false\]', params["order_by_cols"][0])


def test_a_producer_is_counted_by_cluster_client_and_group() -> None:
    counted = {name: sql for name, sql in SQL.items() if "client_id" in sql and name.startswith("metric")}
    del counted["metric queue_owners owner"]
    assert counted
    assert all("cluster || ' ' || client_id || ' ' || producer_group" in sql for sql in counted.values())


def test_the_default_database_is_the_file_that_export_writes() -> None:
    assert BUNDLE["databases/Faultline.yaml"]["sqlalchemy_uri"] == "duckdb:///lake.duckdb?access_mode=read_only"
