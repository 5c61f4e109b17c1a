"""Settings from files, `--set` and options: merged key by key, strictly typed, every mistake named."""

from __future__ import annotations

import datetime as dt
import os
from pathlib import Path
from typing import Any

import pytest

from jobs.errors import SettingsError, SettingValueError
from jobs.settings.inputs import FieldSource, SendsInput
from jobs.settings.load import load_settings
from jobs.settings.model import ProducerSettings, Settings
from jobs.sources.send_fields import json_types


def _file(folder: Path, text: str, name: str = "site.toml") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def _of(tmp_path: Path, text: str) -> Settings:
    return load_settings([_file(tmp_path, text)], [], {})


def _set(*assignments: str) -> Settings:
    return load_settings([], assignments, {})


def test_without_anything_the_defaults_hold() -> None:
    settings = _set()
    assert (settings.cluster, settings.lake, settings.date) == ("main", "", None)
    assert (settings.max_bad_fraction, settings.max_line_bytes) == (0.01, 1_048_576)
    assert (settings.slow_ms, settings.event_gap_ms, settings.avoided_too_long_ms) == (550, 30_000, 60_000)
    assert load_settings([], ['owners."PG_*"="team"'], {}).owners == {"PG_*": "team"}
    assert (settings.event_slow_producers, settings.event_slow_share) == (2, 0.1)
    assert settings.inputs.sends.path == ()
    assert settings.inputs.sends.format == "auto"
    assert settings.origins == {}


def test_a_later_file_wins_key_by_key(tmp_path: Path) -> None:
    first = _file(
        tmp_path / "a",
        """
        cluster = "first"
        max_bad_fraction = 0.2
        [producers.PG]
        client_version = "4.9.8"
        fault_latency_enabled = true
        """,
    )
    second = _file(tmp_path / "b", 'cluster = "second"\n[producers.PG]\nclient_version = "5.1.4"\n')
    settings = load_settings([first, second], [], {})
    assert settings.cluster == "second"
    assert settings.max_bad_fraction == 0.2
    assert settings.producers == {"PG": ProducerSettings(client_version="5.1.4", fault_latency_enabled=True)}
    assert settings.origins == {
        "cluster": str(second),
        "max_bad_fraction": str(first),
        "producers.PG.client_version": str(second),
        "producers.PG.fault_latency_enabled": str(first),
    }


def test_a_bare_value_replaces_a_whole_table(tmp_path: Path) -> None:
    first = _file(tmp_path, '[inputs.sends.fields]\nended_at_ms = { column = "t", unit = "s" }\n', "first.toml")
    second = _file(tmp_path, 'inputs.sends.fields.ended_at_ms = "end"\n', "second.toml")
    settings = load_settings([first, second], [], {})
    assert settings.inputs.sends.fields == {"ended_at_ms": FieldSource("end")}
    assert settings.origins == {"inputs.sends.fields.ended_at_ms": str(second)}


def test_set_wins_over_files_and_options_over_set(tmp_path: Path) -> None:
    file = _file(tmp_path, 'cluster = "file"\nlake = "file"\nmax_bad_fraction = 0.1')
    settings = load_settings([file], ["cluster=set", "lake=set"], {"lake": "/option"})
    assert (settings.cluster, settings.lake, settings.max_bad_fraction) == ("set", "/option", 0.1)
    assert settings.origins == {"max_bad_fraction": str(file), "cluster": "--set", "lake": "command line"}


@pytest.mark.parametrize(
    ("assignment", "expected"),
    [
        ("max_bad_fraction=0.5", {"max_bad_fraction": 0.5}),
        ("max_bad_fraction=1", {"max_bad_fraction": 1.0}),
        ("slow_ms=7", {"slow_ms": 7}),
        (
            "producers.PG.detector_enabled=false",
            {"producers": {"PG": ProducerSettings(detector_enabled=False)}},
        ),
        ("date=2026-11-21", {"date": dt.date(2026, 11, 21)}),
        ('cluster="quoted"', {"cluster": "quoted"}),
        ("cluster=a=b", {"cluster": "a=b"}),
        ("cluster=集群😀", {"cluster": "集群😀"}),
        (
            'producers."PG.dotted@1".client_version=4.9.8',
            {"producers": {"PG.dotted@1": ProducerSettings(client_version="4.9.8")}},
        ),
        (
            "producers.PG.latency_max_ms=[1,2]",
            None,  # a ladder needs both arrays
        ),
    ],
)
def test_set_takes_toml_or_a_bare_word(assignment: str, expected: dict[str, Any] | None) -> None:
    if expected is None:
        with pytest.raises(SettingValueError, match=r"^\[producers.PG\] a ladder needs both"):
            _set(assignment)
        return
    settings = _set(assignment)
    assert {key: getattr(settings, key) for key in expected} == expected


@pytest.mark.parametrize(
    ("text", "error", "sentence"),
    [
        ('clutser = "x"', SettingsError, "unknown setting 'clutser'; did you mean 'cluster'?"),
        ("[inputs.sends]\nfromat = 'csv'", SettingsError, "'inputs.sends.fromat'; did you mean 'format'?"),
        ("[producers.PG]\nversion_of = '1'", SettingsError, "unknown setting 'producers.PG.version_of'"),
        ("origins = {}", SettingsError, "unknown setting 'origins'"),
        (
            "zzz = 1",
            SettingsError,
            "known here: avoided_too_long_ms, client_logs, cluster, date, event_gap_ms, event_slow_producers,",
        ),
        ("cluster = 7", SettingsError, "setting 'cluster' is 7 (int); it must be a text in quotes"),
        (
            "[producers.PG]\ndetector_enabled = 'yes'",
            SettingsError,
            "setting 'producers.PG.detector_enabled' is 'yes' (str); it must be true or false",
        ),
        # A setting that earlier releases had.
        ("infer = true", SettingsError, "unknown setting 'infer'"),
        ("max_bad_fraction = true", SettingsError, "setting 'max_bad_fraction' is True (bool); it must be a number"),
        ("max_line_bytes = 1.5", SettingsError, "is 1.5 (float); it must be a whole number"),
        ("max_line_bytes = true", SettingsError, "is True (bool); it must be a whole number"),
        ("date = 'yesterday'", SettingsError, "'yesterday'; it must be a day such as 2026-11-21"),
        ("inputs = 'logs'", SettingsError, "setting 'inputs' is 'logs' (str); it must be a table"),
        ("inputs.sends = 5", SettingsError, "setting 'inputs.sends.path' is 5 (int)"),
        ("inputs.sends = ['a', 5]", SettingsError, "setting 'inputs.sends.path' is 5 (int); it must be a text"),
        ("producers = []", SettingsError, "setting 'producers' is [] (list); it must be a table"),
        ("[producers.PG]\nlatency_max_ms = ['1']", SettingsError, "'producers.PG.latency_max_ms' is '1' (str)"),
        ("[inputs.sends]\nformat = 'xml'", SettingValueError, "it must be one of auto, jsonl, csv, parquet"),
        ("[producers.PG]\nqueue_chosen_by = 'ME'", SettingValueError, "it must be one of CLIENT, CALLER"),
        (
            "[inputs.sends]\none_line_per = 'send'",
            SettingValueError,
            "'inputs.sends.one_line_per' is 'send'; it must be one of attempt, call",
        ),
        (
            "[producers.PG]\none_line_per = 'CALL'",
            SettingValueError,
            "'producers.PG.one_line_per' is 'CALL'; it must be one of attempt, call",
        ),
        ("[producers.PG]\nsend_timeout_ms = 3.5", SettingsError, "it must be a whole number"),
        ("max_bad_fraction = 1.5", SettingValueError, "max_bad_fraction is 1.5; it is a share between 0 and 1"),
        ("max_bad_fraction = nan", SettingValueError, "max_bad_fraction is nan"),
        ("event_slow_share = -0.1", SettingValueError, "event_slow_share is -0.1"),
        ("slow_ms = 0", SettingValueError, "slow_ms is 0; give at least 1"),
        ("max_line_bytes = 0", SettingValueError, "max_line_bytes is 0; give at least 1"),
        ("cluster = ''", SettingValueError, "cluster is ''; give"),
        (
            "slow_ms = 9223372036854775808",
            SettingValueError,
            "'slow_ms' is 9223372036854775808; give a number",
        ),
        (
            "max_bad_fraction = 99999999999999999999",
            SettingValueError,
            "'max_bad_fraction' is 99999999999999999999;",
        ),
        ("max_bad_fraction = inf", SettingValueError, "max_bad_fraction is inf; it is a share between 0 and 1"),
        ("max_bad_fraction = -inf", SettingValueError, "max_bad_fraction is -inf"),
        ("slow_ms = -5", SettingValueError, "slow_ms is -5; give at least 1"),
        (
            "slow_ms = 3153600000001",
            SettingValueError,
            "slow_ms is 3153600000001; give at least 1, at most 315360000",
        ),
        (
            "max_staleness_ms = 9223372036854775807",
            SettingValueError,
            "max_staleness_ms is 9223372036854775807; give",
        ),
        ("max_line_bytes = 2147483648", SettingValueError, "give at least 1, at most 2147483647"),
        ("retention.sends_days = 36501", SettingValueError, "keep at least 1 day, at most 36500"),
        ("retention.versions_days = 36501", SettingValueError, "keep at least 7, at most 36500"),
        ("date = 0001-01-01", SettingValueError, "date is 0001-01-01; give a day from 2015-01-01 to 2099-12-31"),
        ("date = 9999-12-31", SettingValueError, "date is 9999-12-31; give a day"),
        (
            "[producers.PG]\nlatency_max_ms = [1]\nnot_available_ms = [9223372036854775807]",
            SettingValueError,
            "9223372036854775807 is invalid, give at most 3153600000000 (100 years)",
        ),
        ("[groups.CG]\nvirtual_nodes = 100001", SettingValueError, "virtual_nodes is 100001; give at most 100000"),
        (f"slow_ms = {'[' * 5000}{']' * 5000}", SettingsError, "site.toml cannot be read"),
        (f"slow_ms = {'9' * 5_000}", SettingsError, "site.toml cannot be read"),
        *(
            (
                f"lake = '/data/a{sign}b'",
                SettingValueError,
                f"Spark takes {sign} in a path as a pattern: give a",
            )
            for sign in "[]{}*?\\"
        ),
        ("lake = '/data/a`b'", SettingValueError, "lake is /data/a`b; Delta cannot open a path with a backtick"),
        (
            "retention.versions_days = 6",
            SettingValueError,
            "retention.versions_days is 6; readers may still be",
        ),
        ("retention.sends_days = 0", SettingValueError, "[retention] retention.sends_days is 0; keep at least 1 day"),
        (
            "[producers.PG]\nlatency_max_ms = [-1]\nnot_available_ms = [0]",
            SettingValueError,
            "[producers.PG] a ladder's floors and isolations are milliseconds of 0 or more",
        ),
        (
            "[inputs.sends.fields]\nseq = {unit = 's'}",
            SettingValueError,
            "fields.seq] has neither column nor value; add",
        ),
        (
            "[inputs.sends.fields]\nended_at_ms = {column = 't', unit = 'min'}",
            SettingValueError,
            "'inputs.sends.fields.ended_at_ms.unit' is 'min'; it must be one of ns, us, ms, s, iso8601",
        ),
        (
            '[client_logs."p1"]\ntime_zone = "China/Shanghai"',
            SettingValueError,
            "time_zone 'China/Shanghai' is unknown; give a name such as Asia/Shanghai or UTC",
        ),
        *(
            (
                f'[{table}."x"]\nclient_version = "latest"',
                SettingValueError,
                "client_version 'latest' is not a version; give",
            )
            for table in ("producers", "groups", "client_logs")
        ),
        ('[client_logs."p1"]\ntime_zone = "America"', SettingValueError, "time_zone 'America' is unknown"),  # a folder
        *(
            (f'[client_logs."p1"]\ntime_zone = "{zone}"', SettingValueError, f"time_zone '{zone}' is unknown")
            for zone in ("", "Factory", "localtime")
        ),
        ('[client_logs."p1"]\ntime_zone = 8', SettingsError, "time_zone' is 8 (int); it must be a text"),
        ('[client_logs."p1"]\nzone = "UTC"', SettingsError, "unknown setting 'client_logs.p1.zone'"),
        ("cluster = ", SettingsError, "is not valid TOML"),
    ],
)
def test_a_mistake_in_a_file_is_named(tmp_path: Path, text: str, error: type[SettingsError], sentence: str) -> None:
    with pytest.raises(error) as caught:
        _of(tmp_path, text)
    assert type(caught.value) is error
    assert caught.value.exit_code == 2
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("assignment", "sentence"),
    [
        ("cluster", "--set 'cluster' has no key=value form; write for example --set cluster=main"),
        ("=main", "--set '=main' has no key=value form"),
        ("a b=main", "--set 'a b=main' has no valid key"),
        ("clutser=main", "did you mean 'cluster'?"),
        (f"slow_ms={'9' * 5_000}", "it must be a whole number"),
        (
            "lake=$HOME/lake",
            "lake is $HOME/lake; $HOME is not expanded here: write its value, or ~",
        ),
        ("lake=s3a://bucket/${STAGE}/lake", "${STAGE} is not expanded here"),
        ("inputs.sends=['logs', '$LOGS/*.gz']", "inputs.sends.path is $LOGS/*.gz; $LOGS is not expanded here"),
        ("lake=file:lake", "lake is file:lake; write a folder of this machine from its root, such as file:///lake"),
        ("lake=file://host/lake", "lake is file://host/lake; write a folder of this machine"),
    ],
)
def test_a_mistake_in_set_is_named(assignment: str, sentence: str) -> None:
    with pytest.raises(SettingsError) as caught:
        _set(assignment)
    assert sentence in str(caught.value)


def test_a_settings_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"none\.toml does not exist; give an existing one with --settings"):
        load_settings([tmp_path / "none.toml"], [], {})


@pytest.mark.parametrize("content", [b"cluster = '\xff'", None], ids=["no UTF-8", "a folder"])
def test_a_settings_file_that_cannot_be_read_is_named(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "bad.toml"
    file.mkdir() if content is None else file.write_bytes(content)
    with pytest.raises(SettingsError, match=r"bad\.toml cannot be read"):
        load_settings([file], [], {})


def test_relative_paths_are_of_the_files_folder(tmp_path: Path) -> None:
    file = _file(
        tmp_path / "conf",
        """
        lake = "../lake"
        inputs.sends.path = ["logs/*.gz", "/absolute", "s3a://bucket/logs", "file:///x"]
        inputs.routes.path = "routes"
        """,
    )
    settings = load_settings([file], [], {})
    assert settings.lake == f"{tmp_path}/lake"
    assert settings.inputs.sends.path == (f"{tmp_path}/conf/logs/*.gz", "/absolute", "s3a://bucket/logs", "file:/x")
    assert settings.inputs.routes.path == (f"{tmp_path}/conf/routes",)


def test_relative_paths_of_set_and_options_are_of_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = load_settings([], ["lake=lake"], {"inputs.sends.path": ["a", "b"]})
    assert settings.lake == f"{tmp_path}/lake"
    assert settings.inputs.sends.path == (f"{tmp_path}/a", f"{tmp_path}/b")


@pytest.mark.parametrize(
    ("given", "full"),
    [
        ("~/lake", "/home/ops/lake"),
        ("~", "/home/ops"),
        ("a~/lake", "{base}/a~/lake"),
        ("costs-$5", "{base}/costs-$5"),  # no variable
        ("/data//lake/", "/data/lake"),
        ("//data/lake", "/data/lake"),
        ("/data/../lake", "/lake"),
        ("file:///data/lake/", "file:/data/lake"),
        ("file:///data/my%20lake", "file:/data/my lake"),
        ("file:/data/my%20lake", "file:/data/my%20lake"),
        ("file://localhost/lake", "file:/lake"),
        ("s3a://bucket/~/lake", "s3a://bucket/~/lake"),
    ],
)
def test_paths_are_written_in_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str, full: str) -> None:
    monkeypatch.setenv("HOME", "/home/ops")
    monkeypatch.chdir(tmp_path)
    file = _file(tmp_path, f"lake = '{given}'\n[inputs]\nsends = '{given}'\n[client_logs.'~/logs']")
    expected = full.format(base=tmp_path)
    for settings in (
        load_settings([file], [], {}),
        load_settings([], [f"lake={given}"], {"inputs.sends.path": [given]}),
    ):
        assert (settings.lake, settings.inputs.sends.path) == (expected, (expected,))
    assert list(load_settings([file], [], {}).client_logs) == ["/home/ops/logs"]


@pytest.mark.parametrize("value", ['"logs"', '["logs"]'])
def test_a_bare_path_stands_for_the_whole_input(tmp_path: Path, value: str) -> None:
    first = _file(tmp_path, '[inputs.sends]\nformat = "csv"\npath = "other"', "first.toml")
    second = _file(tmp_path, f"inputs.sends = {value}", "second.toml")
    settings = load_settings([first, second], [], {})
    assert settings.inputs.sends.path == (f"{tmp_path}/logs",)
    assert settings.inputs.sends.format == "csv"  # key by key: only the path was given again
    assert settings.origins["inputs.sends.path"] == str(second)


def test_a_bare_name_stands_for_a_field_in_its_own_unit(tmp_path: Path) -> None:
    settings = _of(
        tmp_path,
        """
        [inputs.sends.fields]
        client_id = "ctx.client"
        latency_ms = { column = "cost", unit = "us" }
        ended_at_ms = { column = "time", unit = "iso8601" }
        """,
    )
    assert settings.inputs.sends.fields == {
        "client_id": FieldSource("ctx.client", None),
        "latency_ms": FieldSource("cost", "us"),
        "ended_at_ms": FieldSource("time", "iso8601"),
    }


@pytest.mark.parametrize(
    ("fields", "error", "sentence"),
    [
        ({"latencyms": FieldSource("x")}, SettingsError, "unknown setting 'inputs.sends.fields.latencyms'"),
        ({"seq": FieldSource("x", "s")}, SettingValueError, "inputs.sends.fields.seq has a unit, but only started_at"),
        ({"latency_ms": FieldSource("x", "iso8601")}, SettingValueError, "latency_ms is a duration; its unit is ns"),
    ],
)
def test_a_mapping_that_makes_no_sense_is_named(
    fields: dict[str, FieldSource], error: type[SettingsError], sentence: str
) -> None:
    with pytest.raises(error) as caught:
        SendsInput(fields=fields)
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"client_id": FieldSource("seq.client")}, "'seq' is both a value and a parent of 'client'"),
        (
            {"started_at_ms": FieldSource("t", "s"), "ended_at_ms": FieldSource("t", "ms")},
            "column 't' is mapped with two different units",
        ),
    ],
)
def test_columns_that_contradict_each_other_are_named(fields: dict[str, FieldSource], sentence: str) -> None:
    with pytest.raises(SettingValueError) as caught:
        json_types(SendsInput(fields=fields))
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "spark.sql.shuffle.partitions = 8",
        "[spark]\nsql.shuffle.partitions = '8'",
        "[spark]\nspark.sql.shuffle.partitions = '8'",
        "[spark]\n'spark.sql.shuffle.partitions' = '8'",
    ],
)
def test_spark_settings_keep_sparks_own_names_however_they_nest(tmp_path: Path, text: str) -> None:
    settings = _of(tmp_path, text)
    assert settings.spark == {"spark.sql.shuffle.partitions": "8"}
    assert list(settings.origins) == ["spark.sql.shuffle.partitions"]


def test_a_later_spark_setting_wins_in_another_spelling(tmp_path: Path) -> None:
    file = _file(tmp_path, "[spark]\n'spark.eventLog.enabled' = 'false'\n'spark.x' = 'kept'")
    settings = load_settings([file], ["spark.eventLog.enabled=true"], {})
    assert settings.spark == {"spark.eventLog.enabled": "true", "spark.x": "kept"}
    assert settings.origins == {"spark.eventLog.enabled": "--set", "spark.x": str(file)}


def test_the_hash_covers_values_and_not_where_they_were_set(tmp_path: Path) -> None:
    from_file = _of(tmp_path, "slow_ms = 7")
    assert from_file.content_hash() == _set("slow_ms=7").content_hash()
    assert from_file.content_hash() != _set("slow_ms=8").content_hash()


def test_the_hash_leaves_out_what_no_row_depends_on(tmp_path: Path) -> None:
    elsewhere = _of(tmp_path, "date = 2026-03-02\nlake = '/other'\n[inputs]\nsends = '/logs/2026-03-02'")
    assert elsewhere.content_hash() == _set("lake=/lake").content_hash()
    renamed = _of(tmp_path, "[inputs.sends]\npath = '/logs'\nfields.client_id = 'client'")
    assert renamed.content_hash() != _set("lake=/lake").content_hash()


def test_a_lake_whose_name_is_not_utf_8_is_refused() -> None:
    with pytest.raises(SettingValueError, match=r"lake is /data/a\\udcff; Java and delta-rs open UTF-8 paths only"):
        load_settings([], [], {"lake": os.fsdecode(b"/data/a\xff")})
