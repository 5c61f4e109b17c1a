"""What each setting may be at its bounds, where its paths lie, and which of them rows depend on."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any, cast

import pytest
from pyspark.sql import DataFrame

from jobs.cli import main as cli
from jobs.errors import SettingsError, SettingValueError
from jobs.settings.load import load_settings
from jobs.settings.model import Export, Settings
from jobs.sources.dispositions import PUBLISHED, QUARANTINED
from jobs.sources.local_files import Listing
from jobs.sources.staged import LineCounts, Staged, StagedInput
from jobs.tables.day import Day

ROOMS = {"groups.G.broker_room": "^([^@]*)", "groups.G.client_room": "^([^-]*)"}


@pytest.mark.parametrize(
    "assignment",
    [
        "max_bad_fraction=0", "max_bad_fraction=1", "event_slow_share=0", "event_slow_share=1", "slow_ms=1",
        "event_gap_ms=1", "event_slow_producers=1", "avoided_too_long_ms=1",
        "max_line_bytes=1", "max_staleness_ms=1", "retention.versions_days=7", "retention.sends_days=1",
        "export.days=1", "export.days=36500",
        "producers.PG.send_timeout_ms=1",
        *(f'{name}="{pattern}"' for name, pattern in ROOMS.items()),
    ],
)  # fmt: skip
def test_the_least_and_the_greatest_that_make_sense_are_taken(assignment: str) -> None:
    load_settings([], [assignment], {})


@pytest.mark.parametrize(
    ("assignments", "sentence"),
    [
        (["max_staleness_ms=0"], "max_staleness_ms is 0; give at least 1"),
        (['owners.PG=""'], "owners: 'PG' = ''; give a group or a glob, and its owner"),
        (['owners." "="team"'], "owners: ' ' = 'team'"),
        (['owners.PG="te\\u0007am"'], r"owners: 'PG' = 'te\\x07am'"),
        (
            ["producers.PG.send_timeout_ms=0"],
            r"\[producers.PG\] send_timeout_ms is 0; give the producer's sendMsgTimeout, at least 1 ms",
        ),
        (["export.days=0"], r"\[export\] export.days is 0; export at least 1 day, at most 36500"),
        (["export.days=36501"], r"export.days is 36501; export at least 1 day"),
        (["export.duckdb=s3a://b/F"], "export.duckdb is s3a://b/F; name a file of this machine, and copy it there"),
        (["export.duckdb=$F"], "export.duckdb is \\$F; \\$F is not expanded here"),
        (["event_gap_ms=0"], "event_gap_ms is 0; give at least 1"),
        (["avoided_too_long_ms=0"], "avoided_too_long_ms is 0; give at least 1"),
        (['cluster=""'], "cluster is ''; give a printable name, such as \"main\""),
        (['cluster=" "'], "cluster is ' '; give a printable name"),
        (['cluster="a\\nb"'], r"cluster is 'a\\nb'; give a printable name"),
        (['cluster="a\\u0000b"'], r"cluster is 'a\\x00b'; give a printable name"),
        (['groups.G.request_mode="POP"'], 'request_mode "POP" needs pop_share_queue_num; -1 is the broker\'s default'),
        *(([f"{name}='{pattern[1:].strip('()')}'"], "has no group") for name, pattern in ROOMS.items()),
        *(([f"{name}='('"], "is not a pattern") for name in ROOMS),
        (['groups.G.clients.x.client_room="x"'], "has no group"),
    ],
    ids=lambda value: value[0].split("=")[0] if isinstance(value, list) else None,
)
def test_what_makes_no_sense_is_named(assignments: list[str], sentence: str) -> None:
    with pytest.raises(SettingValueError, match=f".*{sentence}"):
        load_settings([], assignments, {})


@pytest.mark.parametrize("kind", ["sends", "fault_item_updates", "routes", "consumers", "running_info", "client_logs"])
def test_a_relative_path_of_each_input_lies_beside_its_settings_file(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "conf" / "site.toml"
    file.parent.mkdir()
    file.write_text(f'[inputs.{kind}]\npath = ["logs", "../more/*.gz", "/abs", "s3a://bucket/x"]\n', encoding="utf-8")
    found = getattr(load_settings([file], [], {}).inputs, kind).path
    assert found == (f"{tmp_path}/conf/logs", f"{tmp_path}/more/*.gz", "/abs", "s3a://bucket/x")


@pytest.mark.parametrize("key", ["duckdb", "metrics"])
def test_a_relative_file_of_an_export_lies_beside_its_settings_file(tmp_path: Path, key: str) -> None:
    file = tmp_path / "site.toml"
    file.write_text(f'[export]\n{key} = "../out.prom"\n', encoding="utf-8")
    assert getattr(load_settings([file], [], {}).export, key) == f"{tmp_path.parent}/out.prom"
    assert load_settings([file], [f'export.{key}=""'], {}).export == Export()  # none after all
    with pytest.raises(SettingValueError, match=f"export.{key} is s3a://ops/out; name a file of this machine"):
        load_settings([], [f"export.{key}=s3a://ops/out"], {})


@pytest.mark.parametrize("url", ["https://hooks.slack.com/services/T0/B0/x", "http://127.0.0.1:8065", "http://a?k=%20"])
def test_the_address_of_a_webhook_is_taken(url: str) -> None:
    assert load_settings([], [f"notify.url={url}"], {}).notify.url == url


@pytest.mark.parametrize(
    "url",
    ["", "s3cr3t", "ftp://a/s3cr3t", "https:///s3cr3t", "https://me:s3cr3t@a/", "https://a/s3cr3t b", "https://a/s3cr3t-é",
     "https://a:x/s3cr3t", "https://a/s3cr3t\\nX: y", "https://a..b/s3cr3t"],
)  # fmt: skip
def test_what_is_no_address_of_a_webhook_is_refused_without_its_secrets(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["plan", "nightly", "--lake", "lake", "--set", f'notify.url="{url}"']) == 2
    said = capsys.readouterr().err
    assert "notify.url is not the address of a webhook; write it like https://chat.example.com/hooks/…" in said
    assert said.endswith("goes into the environment as FAULTLINE_NOTIFY_TOKEN\n")
    assert "s3cr3t" not in said


@pytest.mark.parametrize(
    "setting",
    ['notify="http://a/s3cr3t"', 'notify.url=["http://a/s3cr3t"]', 'notify.url={x="s3cr3t"}', 'notify=["s3cr3t"]'],
)
def test_an_address_of_the_wrong_type_is_not_printed(setting: str) -> None:
    with pytest.raises(SettingsError) as refused:
        load_settings([], [setting], {})
    assert "'notify" in str(refused.value)
    assert "s3cr3t" not in str(refused.value)


def test_metrics_have_a_name_that_node_exporter_reads() -> None:
    with pytest.raises(SettingValueError, match=r"export\.metrics is .*/night\.txt; node exporter reads"):
        load_settings([], ["export.metrics=night.txt"], {})


@pytest.mark.parametrize("kind", ["sends", "fault_item_updates", "routes", "consumers", "running_info", "client_logs"])
@pytest.mark.parametrize("value", ['""', '["/logs", ""]'])
def test_an_empty_path_of_an_input_is_not_the_folder_that_one_is_in(kind: str, value: str) -> None:
    """As of a shell variable that is not set: `--sends "$LOGS"`."""
    with pytest.raises(SettingValueError, match=rf"^inputs\.{kind}\.path is empty; give a file, a folder or a glob"):
        load_settings([], [f"inputs.{kind}={value}"], {})


FIRST, SECOND = {"FAULT_LATENCY"}, {"ALLOCATION"}


@pytest.mark.parametrize(
    ("assignment", "rows_of", "lines_of"),
    [
        *((each, FIRST, set()) for each in (
            "slow_ms=1", "event_gap_ms=1", "event_slow_producers=1", "event_slow_share=0.2",
            "avoided_too_long_ms=1",
            "producers.PG.client_version=4.9.8")),
        *((each, SECOND, set()) for each in (
            "max_staleness_ms=9", "groups.G.strategy=AVG", "client_logs.a.time_zone=UTC")),
        *((each, FIRST, FIRST) for each in ("inputs.sends.format=csv", "inputs.sends.fields.latency_ms=cost")),
        *((each, FIRST | SECOND, FIRST | SECOND) for each in ("cluster=c", "max_line_bytes=9")),
        *((each, set(), set()) for each in (
            'owners.PG="team"', "lake=elsewhere", "date=2026-03-01", "max_bad_fraction=0.5", "retention.sends_days=3",
            "retention.versions_days=30", "export.duckdb=F.duckdb", "export.days=30", "spark.sql.shuffle.partitions=8",
            "export.metrics=a.prom", "notify.url=http://chat/x",
            *(f"inputs.{kind}.path=x" for kind in (
                "sends", "fault_item_updates", "routes", "consumers", "running_info", "client_logs")))),
    ],
)  # fmt: skip
def test_the_hashes_of_the_run_log_are_of_the_settings_that_the_flow_reads(
    assignment: str, rows_of: set[str], lines_of: set[str]
) -> None:
    changed, plain = load_settings([], [assignment], {}), Settings()
    assert {flow for flow in FIRST | SECOND if changed.content_hash(flow) != plain.content_hash(flow)} == rows_of
    assert {flow for flow in FIRST | SECOND if changed.input_hash(flow) != plain.input_hash(flow)} == lines_of
    assert (changed.content_hash() != plain.content_hash()) == bool(rows_of)


def test_the_date_of_a_settings_file_counts_for_the_consumers_it_names(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "site.toml"
    plan = ["plan", "allocation", "--lake", "lake", "--settings", str(file)]
    for text, said in (
        ('date = 2026-03-01\ninputs.consumers = "logs"', "publish  2026-03-01 (date in site.toml)"),
        ('date = 2026-03-01\ninputs.routes = "logs"', "(yesterday, as no --date was given)"),
    ):
        file.write_text(text, encoding="utf-8")
        assert cli.main(plan) == 0
        assert said in capsys.readouterr().out


def _staged(fates: LineCounts) -> Staged:
    return Staged((StagedInput("sends", cast("DataFrame", None), Listing(()), fates),))


def test_bad_lines_of_a_cluster_without_a_good_one_count_once() -> None:
    """With the first cluster that is published; where none is, with the default's empty day."""
    day = dt.date(2026, 11, 21)
    bad: dict[Any, int] = {
        (QUARANTINED, "stray", day): 6,
        (QUARANTINED, "south", day): 1,
        (QUARANTINED, "north", None): 2,
    }
    good: dict[Any, int] = {(PUBLISHED, cluster, day): 5 for cluster in ("north", "south")}
    both = _staged(bad | good)
    assert {each: both.counts(Day(day, each)).rows_quarantined for each in ("north", "south")} == {
        "north": 8,
        "south": 1,
    }
    assert _staged(bad).counts(Day(day, "main")).rows_quarantined == 9
