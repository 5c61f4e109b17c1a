"""A day of both flows in a few lines, and what a lake on any store says of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import deltalake

from jobs.answers.store import storage_options
from jobs.tables import POLICY_OUTCOMES, REPLAY_CHECKS, RUN_LOG, TABLES
from tests.given.corrected_day import CORRECTED_ROUTES, CORRECTED_UPDATES, FIRST, said_by
from tests.given.recorded_lines import attempt, of, update
from tests.given.site import D1, at, write_lines
from tests.given.snapshot_site import connection, route, running_info
from tests.stores.programs import WarmProgram

DAY = ("--date", f"{D1}")
_KINDS = ("sends", "fault_item_updates", "consumers", "routes", "running_info")
_SMALL = {"spark.sql.shuffle.partitions": "2"}


def write_night(folder: Path) -> None:
    """A folder for each kind of input; a few sends are of the day after."""
    noon = at(D1, "12:00:00")
    lines = {
        "sends": [*FIRST, *of("recorded", attempt(noon, 1, "MQBrokerException"))],
        "fault_item_updates": [*CORRECTED_UPDATES, *of("recorded", update(noon + 1, 2, 10_000, reachable=True))],
        "consumers": [connection(noon, ["x", "y"]), connection(noon + 60_000, ["y"]), {}],
        "routes": [*CORRECTED_ROUTES, route(noon, a=4, b=1)],
        "running_info": [running_info(noon, "x", "AllocateMessageQueueAveragelyByCircle")],
    }
    for kind in _KINDS:
        write_lines(folder / kind / "lines.jsonl", lines[kind])


def write_settings(file: Path, lake: str, night: str, spark: Mapping[str, str]) -> Path:
    """Settings of a site that has its lake and its input there; returns the file."""
    tables = [
        f"lake = {json.dumps(lake)}\nmax_bad_fraction = 0.5",
        *(f"[inputs.{kind}]\npath = {json.dumps(f'{night}/{kind}')}" for kind in _KINDS),
        "[spark]",
        *(f"{json.dumps(key)} = {json.dumps(value)}" for key, value in {**_SMALL, **spark}.items()),
    ]
    file.write_text("\n".join(tables) + "\n", encoding="utf-8")
    return file


def ends(program: WarmProgram, exit_code: int, *arguments: object) -> dict[str, Any]:
    """What became of a command that has to end so."""
    ended = program.run(list(map(str, arguments)))
    assert ended["exit_code"] == exit_code, ended
    return ended


def rows_in(lake: str, spark: Mapping[str, str]) -> dict[str, list[str]]:
    """The rows of each table that the flows publish, as delta-rs reads them from the store, but the run log's."""
    options = storage_options(lake, spark)
    names = [table.name for table in TABLES if table not in (RUN_LOG, POLICY_OUTCOMES, REPLAY_CHECKS)]
    there = [name for name in names if deltalake.DeltaTable.is_deltatable(f"{lake}/{name}", options)]
    return said_by({name: open_table(lake, name, spark) for name in there})


def run_log_of(lake: str, spark: Mapping[str, str]) -> list[tuple[str, str, str, str]]:
    """Flow, day, status and run of each row, in the order of events."""
    rows = open_table(lake, RUN_LOG.name, spark).to_pyarrow_table().to_pylist()
    rows.sort(key=lambda row: row["event_seq"])
    return [(row["flow"], f"{row['event_date']}", row["status"], row["run_id"]) for row in rows]


def open_table(lake: str, table: str, spark: Mapping[str, str]) -> deltalake.DeltaTable:
    """A table of the lake, with what the settings say of its store."""
    return deltalake.DeltaTable(f"{lake}/{table}", storage_options=storage_options(lake, spark))
