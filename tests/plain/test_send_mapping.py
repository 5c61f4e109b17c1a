"""What a mapping of a site's own log may say: every mistake is named when the settings are read."""

from __future__ import annotations

import pytest

from jobs.cli import main as cli
from jobs.errors import SettingsError, SettingValueError
from jobs.settings.inputs import FieldSource, SendsInput
from jobs.settings.load import load_settings

REFUSED: list[tuple[str, type[SettingsError], str]] = [
    ("fields.latency = 'cost'", SettingsError, "'inputs.sends.fields.latency'; did you mean 'latency_ms'?"),
    ("fields.zzz = 'cost'", SettingsError, "'inputs.sends.fields.zzz'; known here: client_id, producer_group, "),
    ("values.outcom.OK = 'SEND_OK'", SettingsError, "values.outcom'; did you mean 'outcome'?"),
    ("values.outcome = 'SEND_OK'", SettingsError, "'inputs.sends.values.outcome' is 'SEND_OK' (str); it must be"),
    ("values.outcome.OK = ['SEND_OK']", SettingsError, "it must be a text in quotes or a whole number or"),
    ("values.outcome.OK = 'send_ok'", SettingValueError, "OK is 'send_ok', which is not an outcome; nearest: SEND_OK"),
    ("values.outcome.T = 'Timeout'", SettingValueError, "FLUSH_SLAVE_TIMEOUT, RemotingTimeoutException"),
    ("values.outcome.T = '?'", SettingValueError, "is not an outcome; known: SEND_OK, FLUSH_DISK_TIMEOUT, "),
    ("values.mode.0 = 'sync'", SettingValueError, "mode.0 is 'sync', which is not one of SYNC, ASYNC, ONEWAY"),
    ("values.queue_chosen_by.0 = 'ME'", SettingValueError, "which is not one of CLIENT, CALLER"),
    ("values.client_version.new = 'latest'", SettingValueError, "which is not a version such as 5.1.4"),
    ("values.detector_enabled.on = 'on'", SettingValueError, "which is neither true nor false (or yes, no, 1, 0)"),
    ("values.queue_id.a = 'b'", SettingValueError, "which is not a whole number"),
    ("values.queue_id.a = 1.5", SettingValueError, "which is not a whole number"),
    ("values.queue_id.a = 2147483648", SettingValueError, "which is too large a number"),
    ("values.topic.a = 'a\\u0007b'", SettingValueError, "which holds a control character"),
    ("fields.client_version = {value = 'new'}", SettingValueError, "fields.client_version is 'new', which is not a v"),
    ("fields.mode = {value = 'SYNC', column = 'm'}", SettingValueError, "leave out column and unit, or the value"),
    ("fields.latency_ms = {value = 3, unit = 's'}", SettingValueError, "leave out column and unit, or the value"),
    ("fields.mode = {}", SettingValueError, "has neither column nor value; add one of them"),
    ("fields.outcome = {value = ''}", SettingValueError, "fields.outcome is empty for every line; each line needs it,"),
    ("fields.client_id = {value = ' '}", SettingValueError, "fields.client_id is empty for every line"),
    ("fields.latency_ms = {value = -5}", SettingValueError, "latency_ms is '-5', which is not a latency between 0 and"),
    ("fields.latency_ms = {value = 86400001}", SettingValueError, "which is not a latency between 0 and a day"),
    ("fields.ended_at_ms = {value = 5}", SettingValueError, "ended_at_ms is '5', which is not a time between 2015 and"),
    ("fields.started_at_ms = {value = 1420070399999}", SettingValueError, "which is not a time between 2015 and 2100"),
    ("fields.submitted_at_ms = {value = 4102444800000}", SettingValueError, "which is not a time between 2015"),
]  # fmt: skip


def _of(text: str) -> SendsInput:
    key, _, value = text.partition(" = ")
    return load_settings([], [f"inputs.sends.{key}={value}"], {}).inputs.sends


@pytest.mark.parametrize(("text", "error", "sentence"), REFUSED, ids=[text for text, *_ in REFUSED])
def test_a_value_that_cannot_be_ours_is_named(text: str, error: type[SettingsError], sentence: str) -> None:
    if "\\u" in text:
        text = text.replace("'", '"')
    with pytest.raises(error) as caught:
        _of(text)
    assert sentence in str(caught.value)


def test_of_two_fields_of_which_a_line_needs_one_not_both_are_empty() -> None:
    empty = FieldSource(value="")
    with pytest.raises(SettingValueError, match=r"^fields\.broker_name and broker_addr are empty for every line;"):
        SendsInput(fields={"broker_name": empty, "broker_addr": empty})


def test_a_unit_is_added_to_a_column_that_an_earlier_source_names() -> None:
    """A bare text is short for a table with a column, and later sources win key by key."""
    settings = load_settings([], ["inputs.sends.fields.latency_ms=cost"], {"inputs.sends.fields.latency_ms.unit": "us"})
    assert settings.inputs.sends.fields == {"latency_ms": FieldSource("cost", "us")}
    at = "inputs.sends.fields.latency_ms"
    assert settings.origins == {f"{at}.column": "--set", f"{at}.unit": "command line"}
    constant = load_settings([], ["inputs.sends.fields.mode=how"], {"inputs.sends.fields.mode.value": "SYNC"})
    assert constant.inputs.sends.fields == {"mode": FieldSource(value="SYNC")}  # which has no column to be added to


def test_a_constant_and_a_table_of_values_exclude_each_other() -> None:
    with pytest.raises(SettingValueError, match="has nothing to translate"):
        SendsInput(fields={"mode": FieldSource(value="SYNC")}, values={"mode": {"0": "SYNC"}})


@pytest.mark.parametrize(
    ("text", "field", "constant"),
    [
        ("fields.client_language = {value = 'JAVA'}", "client_language", "JAVA"),
        ("fields.detector_enabled = {value = true}", "detector_enabled", "true"),
        ("fields.detector_enabled = {value = 'yes'}", "detector_enabled", "yes"),
        ("fields.queue_id = {value = 2147483647}", "queue_id", "2147483647"),
        ("fields.thread = {value = ''}", "thread", ""),
        ("fields.client_language = 'lang'", "client_language", None),
        ("fields.broker_name = {value = ''}", "broker_name", ""),  # its address is enough
        ("fields.latency_ms = {value = 0}", "latency_ms", "0"),
        ("fields.latency_ms = {value = 86400000}", "latency_ms", "86400000"),
        ("fields.ended_at_ms = {value = 1420070400000}", "ended_at_ms", "1420070400000"),
        ("fields.ended_at_ms = {value = 4102444799999}", "ended_at_ms", "4102444799999"),
    ],
)
def test_one_value_may_stand_for_every_line(text: str, field: str, constant: str | None) -> None:
    assert _of(text).source_of(field).constant == constant


@pytest.mark.parametrize(
    ("text", "field", "translations"),
    [
        ("values.outcome = {OK = 'SEND_OK', '' = 'SENT', '-' = ''}", "outcome", {"OK": "SEND_OK", "": "SENT", "-": ""}),
        ("values.outcome.BAD = 'OwnException'", "outcome", {"BAD": "OwnException"}),
        ("values.detector_enabled.A = true", "detector_enabled", {"A": "true"}),
        ("values.queue_id.a = -1", "queue_id", {"a": "-1"}),
        ("values.topic.a = 'any text'", "topic", {"a": "any text"}),
        ("values.topic.a = 'any text'", "mode", {}),
    ],
)
def test_values_are_texts_on_both_sides(text: str, field: str, translations: dict[str, str]) -> None:
    assert _of(text).translations(field) == translations


def test_a_time_is_translated_in_its_own_unit() -> None:
    iso = FieldSource("t", "iso8601")
    sends = SendsInput(fields={"ended_at_ms": iso}, values={"ended_at_ms": {"never": "2026-11-21T12:00:00Z", "-": ""}})
    assert sends.translations("ended_at_ms") == {"never": "2026-11-21T12:00:00Z", "-": ""}
    with pytest.raises(SettingValueError, match="is not a time such as 2026-11-21T12:00:00Z"):
        SendsInput(fields={"ended_at_ms": iso}, values={"ended_at_ms": {"never": "1795262400000"}})


def test_a_wrong_mapping_ends_a_run_before_spark_starts(
    tmp_path: object, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", f"{tmp_path}/no java")  # would be the next thing to fail
    given = ["--lake", f"{tmp_path}/lake", "--sends", "/logs", "--set", "inputs.sends.values.mode.0=Sync"]
    assert cli.main(["nightly", *given]) == 2
    assert "inputs.sends.values.mode.0 is 'Sync', which is not one of SYNC, ASYNC, ONEWAY" in capsys.readouterr().err


GROUPS = r"(?<client_id>\S+) (?<broker_name>\S+) (?<ended_at_ms>\d+) (?<latency_ms>\d+) (?<outcome>\w+)"


@pytest.mark.parametrize(
    ("sends", "sentence"),
    [
        ({"format": "text"}, 'format is "text"; give a pattern too'),
        ({"format": "csv", "pattern": GROUPS}, 'a pattern is for text, but the format is "csv"; leave out one of them'),
        ({"pattern": "(x)"}, "pattern '(x)' is refused by RE2: Regular expression contains unnamed groups; write"),
        (
            {"pattern": GROUPS + " (?<cost>x)"},
            "pattern has a group 'cost' that is not a field; map it in fields, or write",
        ),
        ({"pattern": GROUPS + " (?<oder_key>x)"}, "did you mean 'order_key'?"),
        (
            {"pattern": GROUPS, "fields": {"topic": {"column": "costUs"}}},
            "pattern has no group 'costUs', which fields use; known here: client_id, broker_name, ended_at_ms",
        ),
        ({"pattern": GROUPS.replace("(?<outcome>", "(?:")}, "pattern has no group for outcome, which each line needs"),
        ({"pattern": GROUPS.replace("broker_name", "topic")}, "no group for broker_name or broker_addr, which"),
        ({"pattern": GROUPS.replace("ended_at_ms", "seq")}, "no group for ended_at_ms or started_at_ms, which"),
    ],
)
def test_a_pattern_that_gives_no_send_is_named(sends: dict[str, object], sentence: str) -> None:
    with pytest.raises(SettingValueError) as caught:
        load_settings([], [], {"inputs.sends": sends})
    assert sentence in str(caught.value)


def test_a_pattern_may_lack_what_one_value_gives() -> None:
    fields = {"outcome": {"value": "SEND_OK"}, "broker_addr": {"column": "addr"}, "latency_ms": {"column": "took"}}
    pattern = r"(?<client_id>\S+) (?<addr>\S+) (?<started_at_ms>\d+) (?<took>\d+)"
    sends = load_settings([], [], {"inputs.sends": {"pattern": pattern, "fields": fields}}).inputs.sends
    assert sends.line_pattern is not None
    assert sends.line_pattern.names == ("client_id", "addr", "started_at_ms", "took")
