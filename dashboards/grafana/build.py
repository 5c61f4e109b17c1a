"""Writes the two dashboards beside this file: `.venv/bin/python dashboards/grafana/build.py`.

docs/grafana.md is about them. Grafana's own SDK builds them, so that mypy holds this file to the schema.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from grafana_foundation_sdk.builders import bargauge, stat, table, timeseries
from grafana_foundation_sdk.builders.common import ReduceDataOptions
from grafana_foundation_sdk.builders.dashboard import (
    Dashboard,
    DashboardLink,
    DatasourceVariable,
    QueryVariable,
    Row,
    ThresholdsConfig,
)
from grafana_foundation_sdk.builders.prometheus import Dataquery as PromQuery
from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.variants import Dataquery
from grafana_foundation_sdk.models.common import (
    BigValueGraphMode,
    DataSourceRef,
    GraphDrawStyle,
    LineInterpolation,
    VisibilityMode,
    VizOrientation,
)
from grafana_foundation_sdk.models.dashboard import (
    DashboardLinkType,
    DynamicConfigValue,
    Threshold,
    ThresholdsMode,
    VariableRefresh,
)

SOURCES: Final = {"prometheus": "prometheus", "duckdb": "motherduck-duckdb-datasource"}
"""Variable for the data source to its plugin; they differ, as a link to the other dashboard takes variables along."""
SERIES, ROWS = 0, 1
"""Formats of the DuckDB plugin."""


class SqlQuery(Dataquery, Builder[Dataquery]):
    """A query of the DuckDB plugin, which the SDK has no type for; it sends these fields alone to its server."""

    def __init__(self, sql: str, format_: int) -> None:
        self._sql, self._format = sql, format_

    def build(self) -> Dataquery:
        """Itself."""
        return self

    def to_json(self) -> dict[str, object]:
        """As the plugin's editor leaves it."""
        return {"datasource": _source("duckdb"), "editorMode": "code", "format": self._format, "rawQuery": True,
                "rawSql": self._sql, "refId": "A"}  # fmt: skip


def _source(name: str) -> DataSourceRef:
    return DataSourceRef(SOURCES[name], f"${{{name}}}")


def _above(*limits: tuple[str, float]) -> ThresholdsConfig:
    """Green below the first limit, and from each on its colour."""
    steps = [Threshold(None, "green"), *(Threshold(limit, color) for color, limit in limits)]
    return ThresholdsConfig().mode(ThresholdsMode.ABSOLUTE).steps(steps)


def _asks(asks: Mapping[str, str], *, last_only: bool) -> list[Builder[Dataquery]]:
    """Legend to PromQL."""
    made = [
        PromQuery().datasource(_source("prometheus")).expr(expr).legend_format(legend).ref_id(ref)
        for ref, (legend, expr) in zip("AB", asks.items(), strict=False)
    ]
    return [each.instant() if last_only else each.range() for each in made]


def _figure(title: str, about: str, unit: str, asks: Mapping[str, str], *limits: tuple[str, float]) -> stat.Panel:
    """A figure of the last night, unknown if it has no sample; `asks` is legend to PromQL."""
    shown = stat.Panel().title(title).description(about).datasource(_source("prometheus")).unit(unit).span(4).height(4)
    shown = shown.targets(_asks(asks, last_only=True)).reduce_options(ReduceDataOptions().calcs(["lastNotNull"]))
    return shown.thresholds(_above(*limits)).graph_mode(BigValueGraphMode.NONE).no_value("unknown")


def _nights(title: str, about: str, unit: str, asks: Mapping[str, str]) -> timeseries.Panel:
    """A figure night after night; `asks` is legend to PromQL."""
    about = f"{about} Each step begins as a night is published, and is about the day before."
    shown = timeseries.Panel().title(title).description(about).datasource(_source("prometheus")).unit(unit)
    shown = shown.line_interpolation(LineInterpolation.STEP_AFTER).fill_opacity(10).show_points(VisibilityMode.NEVER)
    return shown.targets(_asks(asks, last_only=False)).min(0).span(8).height(8)


def _statements() -> dict[str, tuple[str, str]]:
    """Of night.sql: name to what it says, and the SQL."""
    _, *parts = (Path(__file__).parent / "night.sql").read_text(encoding="utf-8").split("\n\n-- ")
    heads = [(part.partition("\n")[0].split(": ", 1), part.partition("\n")[2].strip()) for part in parts]
    return {name: (about, sql) for (name, about), sql in heads}


def _minutes(name: str, unit: str) -> timeseries.Panel:
    about, sql = _statements()[name]
    shown = timeseries.Panel().title(name).description(about).datasource(_source("duckdb")).unit(unit).interval("1m")
    shown = shown.draw_style(GraphDrawStyle.BARS).fill_opacity(60).min(0).span(8).height(8)
    return shown.with_target(SqlQuery(sql, SERIES))


def _rows(name: str) -> table.Panel:
    about, sql = _statements()[name]
    shown = table.Panel().title(name).description(about).datasource(_source("duckdb")).filterable(True)
    for ending, unit in (("ms", "ms"), ("minutes", "m")):
        shown = shown.override_by_regexp(f"/_{ending}$/", [DynamicConfigValue("unit", unit)])
    return shown.with_target(SqlQuery(sql, ROWS)).span(24).height(8)


def _choice(name: str, kind: str, query: str, *, several: bool = False) -> QueryVariable:
    chosen = QueryVariable(name).label(name).datasource(_source(kind)).query(query)
    chosen = chosen.definition(query).refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
    return chosen.multi(several).include_all(several)


def _dashboard(title: str, uid: str, about: str, kind: str) -> Dashboard:
    links = DashboardLink("Faultline").type(DashboardLinkType.DASHBOARDS).tags(["faultline"])
    links = links.include_vars(True).as_dropdown(False)
    made = Dashboard(title).uid(uid).description(about).tags(["faultline", "rocketmq"]).timezone("utc").link(links)
    return made.with_variable(DatasourceVariable(kind).label("data source").type(SOURCES[kind]))


def nights() -> Dashboard:
    """Night after night, over what `faultline export metrics` writes."""
    here, by = '{cluster="$cluster"}', "max by"
    lost = {"lost": f"max(faultline_sends_lost{here})"}
    isolation = {"isolation": f"max(faultline_isolation_seconds{here})"}
    groups = {"changes": f"max(faultline_group_events{here})", "findings": f"max(faultline_group_findings{here})"}
    about_groups = "Changes of consumer groups, and findings about them."
    isolated, isolating = (
        f'{by} (broker) (faultline_broker_{name}{{cluster="$cluster", broker=~"$broker"}})'
        for name in ("isolation_seconds", "isolating_producers")
    )
    of_all, of_bad, of_others = (
        f'{by} (flow, disposition) (faultline_rows{{cluster="$cluster"{wanted}}})'
        for wanted in ("", ', disposition="quarantined"', ', disposition!="published"')
    )
    made = _dashboard(
        "Faultline: night after night", "faultline-nights", "What published nights came to.", "prometheus"
    )
    brokers = f"label_values(faultline_broker_isolation_seconds{here}, broker)"
    return (
        made.time("now-30d", "now")
        .with_variable(_choice("cluster", "prometheus", "label_values(faultline_day_timestamp_seconds, cluster)"))
        .with_variable(_choice("broker", "prometheus", brokers, several=True))
        .with_row(Row("Last published night"))
        .with_panel(_figure("Day", "The other figures are about this UTC day.", "time:YYYY-MM-DD",
                            {"day": f"1000 * max(faultline_day_timestamp_seconds{here})"}))
        .with_panel(_figure("How long ago", "The day ended, and each flow last published one, perhaps an older one "
                            "again. Red from 30 hours on: a night is missing.", "s", {
            "day ended": f"time() - (max(faultline_day_timestamp_seconds{here}) + 86400)",
            "{{flow}} published": f"time() - {by} (flow) (faultline_last_success_timestamp_seconds{here})",
        }, ("red", 30 * 3600)))
        .with_panel(_figure("Sends lost", "Sends that failed for their callers.", "short", lost, ("red", 1)))
        .with_panel(_figure("Critical", "Events and findings of severity CRITICAL.", "short", {
            name: f'max(faultline_{name}{{cluster="$cluster", severity="CRITICAL"}})' for name in ("events", "findings")
        }, ("red", 1)))
        .with_panel(_figure("Isolation", "Of all brokers, summed over producers.", "s", isolation))
        .with_panel(_figure("Consumer groups", about_groups, "short", groups))
        .with_row(Row("Night after night"))
        .with_panel(_nights("Sends lost", "Sends that failed for their callers.", "short", lost))
        .with_panel(_nights("Events by severity", "Troubles of a broker, or of several at once.", "short",
                            {"{{severity}}": f"{by} (severity) (faultline_events{here})"}))
        .with_panel(_nights("Findings by severity", "Findings about producers and brokers.", "short",
                            {"{{severity}}": f"{by} (severity) (faultline_findings{here})"}))
        .with_panel(_nights("Isolation of all brokers", "Also of those beyond the fifty that have a series.", "s",
                            isolation))
        .with_panel(_nights("Isolation by broker", "The ten isolated longest, summed over producers.", "s",
                            {"{{broker}}": f"topk(10, {isolated})"}))
        .with_panel(_nights("Consumer groups", about_groups, "short", groups))
        .with_row(Row("Brokers of the last night"))
        .with_panel(
            bargauge.Panel().title("Isolation for each producer that isolated the broker").unit("s")
            .description("On average; the alert FaultlineBrokerIsolated begins at 5 minutes.")
            .datasource(_source("prometheus")).orientation(VizOrientation.HORIZONTAL).min(0).span(24).height(8)
            .targets(_asks({"{{broker}}": f"sort_desc({isolated} / ({isolating} > 0))"}, last_only=True))
            .reduce_options(ReduceDataOptions().calcs(["lastNotNull"])).thresholds(_above(("red", 300)))
        )
        .with_row(Row("Input and runs"))
        .with_panel(_nights("Lines not published", "Input lines by flow and where they went.", "short",
                            {"{{flow}} {{disposition}}": of_others}))
        .with_panel(_nights("Share of lines in quarantine", "FaultlineBadLines begins at 0.1 %.", "percentunit",
                            {"{{flow}}": f"{of_bad} / ignoring (disposition) sum by (flow) ({of_all})"}))
        .with_panel(_nights("Duration", "From input read to tables published.", "s",
                            {"{{flow}}": f"{by} (flow) (faultline_flow_duration_seconds{here})"}))
    )  # fmt: skip


def night() -> Dashboard:
    """A night, or several, over the file of `faultline export duckdb`."""
    made = _dashboard(
        "Faultline: a night", "faultline-night", "What happened in the UTC days of the time range.", "duckdb"
    )
    for name, several in (("cluster", False), ("broker", True), ("group", True)):
        made = made.with_variable(_choice(name, "duckdb", _statements()[name][1], several=several))
    return (
        made.time("now-1d/d", "now-1d/d")
        .with_row(Row("What happened"))
        .with_panel(_rows("Events"))
        .with_panel(_minutes("Failed attempts", "short"))
        .with_panel(_minutes("P99 latency", "ms"))
        .with_panel(_minutes("Isolating producers", "short"))
        .with_panel(_rows("Findings"))
        .with_row(Row("Brokers and producers"))
        .with_panel(
            _rows("Brokers by isolation").override_by_regexp(
                "/^(place|isolat)/", [DynamicConfigValue("noValue", "unknown")]
            )
        )
        .with_panel(_rows("Isolations"))
        .with_panel(_rows("Producer groups"))
        .with_row(Row("Consumer groups"))
        .with_panel(_rows("Changes"))
        .with_panel(_rows("Groups that rebalance"))
        .with_panel(_rows("Owners"))
    )


def written() -> dict[Path, str]:
    """File to what is in it."""
    made = {"nights": nights().build(), "night": night().build()}
    for each in made.values():
        for number, panel in enumerate(each.panels or [], 1):
            panel.id_val = number
    folder, encoder = Path(__file__).parent, JSONEncoder(sort_keys=True, indent=2)
    return {folder / f"faultline-{name}.json": f"{encoder.encode(each)}\n" for name, each in made.items()}


if __name__ == "__main__":
    for file, text in written().items():
        file.write_text(text, encoding="utf-8")
