"""Grafana's dashboards are what their definition makes, and ask for what is written."""

from __future__ import annotations

import datetime as dt
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from dashboards.grafana.build import SOURCES, written
from jobs.answers.metrics import GAUGES, export_metrics
from jobs.answers.published import DISPOSITIONS
from tests.given.lakes import LiteralLake, in_duckdb, publish
from tests.given.site import D1, D2, at

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "dashboards/grafana"
FILES = sorted(FOLDER.glob("*.json"))
METRICS, TABLES = (json.loads((FOLDER / f"faultline-{name}.json").read_text("utf-8")) for name in ("nights", "night"))
SHOWN = {"VARCHAR", "BIGINT", "INTEGER", "DOUBLE", "TIMESTAMP"}
"""Types that the plugin hands on as they are: of HUGEINT, which sum() gives, it makes text, and lists it refuses."""


def _panels(dashboard: dict[str, Any]) -> Iterator[dict[str, Any]]:
    return (panel for panel in dashboard["panels"] if panel["type"] != "row")


def _asks(dashboard: dict[str, Any], of: str) -> dict[str, str]:
    """Panel, or panel and legend, to what it asks."""
    return {
        f"{panel['title']} {panel['type']} {target.get('legendFormat', '')}".strip(): target[of]
        for panel in _panels(dashboard)
        for target in panel["targets"]
    }


PROMQL, SQL = _asks(METRICS, "expr"), _asks(TABLES, "rawSql")


def test_the_files_are_what_the_definition_makes() -> None:
    made = written()
    assert sorted(made) == FILES
    assert {file: file.read_text("utf-8") for file in FILES} == made, "run .venv/bin/python dashboards/grafana/build.py"


@pytest.mark.parametrize("dashboard", [METRICS, TABLES], ids=["nights", "night"])
def test_a_site_chooses_the_data_source_and_links_stay(dashboard: dict[str, Any]) -> None:
    (chosen, *choices) = dashboard["templating"]["list"]
    source = {"type": SOURCES[chosen["name"]], "uid": f"${{{chosen['name']}}}"}
    assert chosen["query"] == source["type"]
    asking = [*choices, *_panels(dashboard), *(each for panel in _panels(dashboard) for each in panel["targets"])]
    assert all(each["datasource"] == source for each in asking)
    numbers = [panel["id"] for panel in dashboard["panels"]]
    assert numbers == list(range(1, len(numbers) + 1))


@pytest.mark.parametrize("expr", PROMQL.values(), ids=list(PROMQL))
def test_promql_asks_for_metrics_and_labels_that_are_written(expr: str) -> None:
    selected = re.findall(r"faultline_(\w+)\{(.*?)\}", expr)
    assert len(selected) == len(re.findall("faultline_", expr))
    for name, matchers in selected:
        assert {"cluster"} <= {*re.findall(r"(\w+)[=!]", matchers)} <= {"cluster", *GAUGES[name][1]}
    grouped = {label for labels in re.findall(r"by \((.*?)\)", expr) for label in labels.split(", ")}
    assert grouped <= set.intersection(*(set(GAUGES[name][1]) for name, _ in selected))


def test_each_metric_but_one_is_shown() -> None:
    """Left out: how many brokers there are."""
    assert {*re.findall(r"faultline_(\w+)", " ".join(PROMQL.values()))} == {*GAUGES} - {"brokers"}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """North on two days; on each of them one row of everything at broker b1 and of group g1."""
    made = tmp_path_factory.mktemp("grafana") / "lake"
    lake = LiteralLake(made)
    read = {f"rows_{name}": 9 for name in DISPOSITIONS}
    for flow in ("FAULT_LATENCY", "ALLOCATION"):
        publish(made, D1, D2, cluster="north", flow=flow)
        lake.add("run_log", D2, {"cluster": "north", "flow": flow, "run_id": "r1", "status": "SUCCEEDED", **read})
    for day in (D1, D2):
        start, end = at(day, "01:00:00"), at(day, "01:00:30")
        row = {"cluster": "north", "start_ms": start, "end_ms": end}
        broker, group = row | {"broker_name": "b1"}, row | {"consumer_group": "g1"}
        lake.add("events", day, broker | {"brokers": ["b1"], "bad_from_ms": start, "bad_until_ms": end})
        lake.add("broker_windows", day, broker | {"window_start_ms": start, "failures": 3, "latency_p99_ms": 80,
                                                  "isolating_producers": 2, "isolated_ms": 60_000})  # fmt: skip
        lake.add("findings", day, broker)
        lake.add("isolation_intervals", day, broker | {"client_id": "p1", "producer_group": "pg", "enforced": True})
        lake.add("producer_days", day, broker | {"client_id": "p1", "enforced": True})
        lake.add("send_calls", day, row | {"producer_group": "pg", "failed": True, "attempts": 1})
        lake.add("group_events", day, group | {"settled_ms": end, "unowned_queues": 1})
        lake.add("group_members", day, group | {"broker_name": "b1"})
        lake.add("rebalances", day, group | {"topic": "T", "changed_at_ms": start, "trigger": "JOINED", "moved": 4})
        owned = {"broker_name": "b1", "topic": "T", "queue_id": 0, "source": "CLIENT_LOG", "client_id": "c1"}
        lake.add("queue_ownership", day, group | owned)
    return made


@pytest.fixture(scope="module")
def file(lake: Path) -> duckdb.DuckDBPyConnection:
    return in_duckdb(lake)


DAY = "2026-03-02T00:00:00Z", "2026-03-02T23:59:59Z"
"""The second of the two."""
HOUR = "2026-03-02T01:00:10Z", "2026-03-02T02:00:10Z"
"""It begins in the midst of what lasts from 01:00:00 to 01:00:30."""


def _filled(sql: str, within: tuple[str, str] = DAY, broker: str = "'b0','b1'", group: str = "'g1'") -> str:
    """As Grafana and the plugin fill it in: its two macros become texts, to whole seconds."""
    chosen = {"cluster:sqlstring": "'north'", "broker:sqlstring": broker, "group:sqlstring": group,
              "__interval_ms:raw": "30000"}  # fmt: skip
    sql = re.sub(r"\$\{(.*?)\}", lambda found: chosen[found[1]], sql)
    for macro, instant in zip(("$__timeFrom()", "$__timeTo()"), within, strict=True):
        sql = sql.replace(macro, f"'{instant}'")
    assert "$" not in sql
    return sql


def test_each_choice_has_what_the_lake_has(file: duckdb.DuckDBPyConnection) -> None:
    got = {each["name"]: file.sql(_filled(each["query"])).fetchall() for each in TABLES["templating"]["list"][1:]}
    assert got == {"cluster": [("north",)], "broker": [("b1",)], "group": [("g1",)]}


@pytest.mark.parametrize("within", [DAY, HOUR], ids=["day", "hour"])
@pytest.mark.parametrize("panel", [*_panels(TABLES)], ids=lambda panel: panel["title"])
def test_sql_has_rows_of_the_chosen_time_in_types_that_the_plugin_shows(
    file: duckdb.DuckDBPyConnection, panel: dict[str, Any], within: tuple[str, str]
) -> None:
    (target,) = panel["targets"]
    got = file.sql(_filled(target["rawSql"], within))
    assert {str(each) for each in got.types} <= SHOWN
    (row,) = (dict(zip(got.columns, each, strict=True)) for each in got.fetchall())
    days = {str(row[name])[:10] for name in ("day", "time", "start_at", "bad_from_at") if name in row}
    assert days == ({"2026-03-02"} if panel["title"] != "Owners" else set())
    if panel["type"] == "timeseries":
        assert target["format"] == 0
        assert got.columns[:2] == ["time", "broker_name"]
        assert row["time"] == dt.datetime(2026, 3, 2, 1, tzinfo=dt.UTC).replace(tzinfo=None)
    else:
        assert target["format"] == 1


@pytest.mark.parametrize("clock", ["00:30", "01:01"])
def test_of_an_hour_without_trouble_only_figures_of_its_day_are_left(
    file: duckdb.DuckDBPyConnection, clock: str
) -> None:
    within = f"2026-03-02T{clock}:00Z", f"2026-03-02T{clock}:59Z"
    left = {title.rpartition(" ")[0] for title, sql in SQL.items() if file.sql(_filled(sql, within)).fetchall()}
    assert left == {"Brokers by isolation", "Producer groups", "Groups that rebalance", "Owners"}


@pytest.mark.parametrize(
    ("within", "shown"),
    [
        (("2026-03-02T04:00:00Z", "2026-03-02T04:59:59Z"), {"Events table": [], "Changes table": []}),
        (("2026-03-02T06:00:00Z", "2026-03-02T07:00:00Z"), {"Events table": [5], "Changes table": [5]}),
        (("2026-03-03T00:00:00Z", "2026-03-03T01:00:00Z"), {"Events table": [], "Changes table": []}),
    ],
    ids=["before", "later that day", "day after"],
)
def test_trouble_without_a_known_end_may_last_until_its_day_ends(
    tmp_path: Path, within: tuple[str, str], shown: dict[str, list[int]]
) -> None:
    """But of a change whose owners are not known no more is known than when it was."""
    lake, start = LiteralLake(tmp_path / "lake"), at(D2, "05:00:00")
    row = {"cluster": "north", "start_ms": start}
    publish(lake.folder, D2, cluster="north")
    lake.add("events", D2, row | {"brokers": ["b1"], "bad_from_ms": start})
    lake.add("group_events", D2, row | {"consumer_group": "g1", "unowned_queues": 1})
    lake.add("group_events", D2, row | {"consumer_group": "g1", "start_ms": at(D2, "03:00:00")})
    with in_duckdb(lake.folder) as file:
        got = {title: [each[0].hour for each in file.sql(_filled(SQL[title], within)).fetchall()] for title in shown}
    assert got == shown


@pytest.mark.parametrize("producer", [{"not_replayed": "CLIENT_TOO_OLD"}, {"switch_assumed": True}], ids=str)
def test_isolation_is_unknown_where_no_producer_can_be_replayed(tmp_path: Path, producer: dict[str, Any]) -> None:
    """On the second day; on the first one was."""
    lake = LiteralLake(tmp_path / "lake")
    for day, other in ((D1, {}), (D2, producer)):
        publish(lake.folder, day, cluster="north")
        lake.add("producer_days", day, {"cluster": "north", "client_id": "p1", **other})
        window = {"cluster": "north", "broker_name": "b1", "window_start_ms": at(day, "01:00:00"), "sends": 5}
        lake.add("broker_windows", day, window)
    within = "2026-03-01T00:00:00Z", DAY[1]
    with in_duckdb(lake.folder) as file:
        brokers, minutes = (
            file.sql(_filled(SQL[title], within)).fetchall()
            for title in ("Brokers by isolation table", "Isolating producers timeseries")
        )
    assert brokers == [
        ("2026-03-02", None, "b1", None, None, None, 0, 5, 0),
        ("2026-03-01", 1, "b1", 0.0, 0, 0, 0, 5, 0),
    ]
    assert minutes == [(dt.datetime(2026, 3, 1, 1, tzinfo=dt.UTC).replace(tzinfo=None), "b1", 0)]


@pytest.mark.parametrize(("title", "sql"), SQL.items(), ids=list(SQL))
def test_sql_keeps_to_what_is_chosen(file: duckdb.DuckDBPyConnection, title: str, sql: str) -> None:
    """Where there is no broker or group to choose Grafana fills in nothing, which must be no error."""
    of_no_broker_or_group = file.sql(_filled(sql, broker="", group="")).fetchall()
    assert len(of_no_broker_or_group) == (title == "Producer groups table")
    assert file.sql(_filled(sql).replace("'north'", "'south'")).fetchall() == []


def test_the_page_has_each_row_of_panels() -> None:
    page = (ROOT / "docs/grafana.md").read_text("utf-8")
    rows = [
        panel["title"] for dashboard in (METRICS, TABLES) for panel in dashboard["panels"] if panel["type"] == "row"
    ]
    assert re.findall(r"^\| ([A-Z].*?) \|", page, re.MULTILINE) == rows


@pytest.mark.slow
def test_prometheus_has_an_answer_to_each_query(lake: Path, tmp_path: Path) -> None:
    """As promtool evaluates them on what `export metrics` writes; it is on the path, such as of Debian's package."""
    said = tmp_path / "night.prom"
    export_metrics(str(lake), said)
    series = [
        {"series": name, "values": value}
        for name, value in re.findall(r"^(faultline_.*\}) (\S+)$", said.read_text("utf-8"), re.MULTILINE)
    ]
    asked = [expr.replace("$cluster", "north").replace("$broker", "(b0|b1)") for expr in PROMQL.values()]
    answers = [{"expr": f"count({expr}) > bool 0", "eval_time": "0m", "exp_samples": [{"value": 1}]} for expr in asked]
    _promtool(tmp_path, series, answers)


@pytest.mark.slow
def test_a_missing_night_is_red_although_an_older_day_was_published_again(tmp_path: Path) -> None:
    """30 hours after the day that begins at 0 ended, with a run of each flow in each minute."""
    (panel,) = (panel for panel in _panels(METRICS) if panel["title"] == "How long ago")
    (_, red) = panel["fieldConfig"]["defaults"]["thresholds"]["steps"]
    of_day, of_flow = (target["expr"].replace("$cluster", "north") for target in panel["targets"])
    series = [
        {"series": 'faultline_day_timestamp_seconds{cluster="north"}', "values": "0+0x3300"},
        {"series": 'faultline_last_success_timestamp_seconds{cluster="north",flow="ALLOCATION"}',
         "values": "0+60x3300"},
    ]  # fmt: skip
    answers = [
        {"expr": f"({expr}) >= bool {red['value']}", "eval_time": when, "exp_samples": [sample]}
        for expr, when, sample in (
            (of_day, "53h59m", {"value": 0}),
            (of_day, "54h", {"value": 1}),
            (of_flow, "54h", {"labels": '{flow="ALLOCATION"}', "value": 0}),
        )
    ]
    _promtool(tmp_path, series, answers)


def _promtool(folder: Path, series: list[dict[str, str]], answers: list[dict[str, Any]]) -> None:
    tests = folder / "tests.yml"
    case = {"interval": "1m", "input_series": series, "promql_expr_test": answers}
    tests.write_text(json.dumps({"tests": [case]}), "utf-8")
    command = ["promtool", "test", "rules", str(tests)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
