"""Logs of sends as sites have them: `check` and a run judge each line alike, and take the same values from it."""

from __future__ import annotations

import csv
import datetime as dt
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from jobs.check.answer import check_inputs
from jobs.check.before import local_files, read_heads
from jobs.check.elsewhere import opener
from jobs.check.fields import Found, find_fields, in_ms
from jobs.check.heads import read_head
from jobs.check.proposal import propose
from jobs.cli import main as cli
from jobs.settings.inputs import SendsInput
from jobs.settings.load import load_settings
from jobs.settings.model import Settings
from jobs.sources.local_files import InputFile
from jobs.sources.staging import stage_sends
from tests.given.send_logs import DATE, DAY, GOOD, NOON_MS, stage, write
from udfs.plain_written_time import plain_written_ms

FIELD = Path(__file__).parent
HIGHEST = 2**63
DEEP = "[" * 2000 + "]" * 2000


def _line(**changes: object) -> str:
    return json.dumps({**GOOD, **changes})


def _with(text: str) -> str:
    """The good line with this text before its last brace."""
    return f"{_line()[:-1]}{text}}}"


def _took(text: str) -> str:
    """The good line with this text for its latency."""
    return _line(latency_ms=77).replace("77", text)


ODD = [
    *map(_took, ("7", '"7"', "7.0", "7.5", "-1", "86400001", "true", "null", "[7]", '{"a":1}', str(10**19))),
    *map(_took, ("1e1", "1.0e1", "007", "+7", "7.", "NaN", "0x1f", "1_0", "-0", "10 ", "\t10", '""')),
    *(_line(seq=seq) for seq in (2**31, HIGHEST - 1, HIGHEST, -HIGHEST, "1", 1.0, "")),
    *(_line(queue_id=queue) for queue in (2**31 - 1, 2**31, -1, "x")),
    *(_line(fault_latency_enabled=flag) for flag in (True, "TRUE", "yes", "on", "1", 1, 0, "t", "y", 2, "", " true ")),
    *(_line(client_id=name) for name in (5, True, "", None, " ", "a\0b", "a\nb", "é", "a\u2028b", [1], "a\x7fb", 1.5)),
    *(_line(outcome=how) for how in ("send_ok", "", "OK", "X y", "java.lang.Exception", None, " SEND_OK", "SENT")),
    *(_line(mode=mode) for mode in ("sync", "", None)),
    *(_line(client_version=version) for version in ("V5_1_4", "latest", "5.1", "5.1.4-SNAPSHOT", "", " 5.1.4")),
    *(_line(ended_at_ms=at) for at in (0, NOON_MS // 1000, 4_102_444_800_000, 4_102_444_799_999, -5, None)),
    *(_line(broker_name=name, broker_addr=None) for name in (None, "", " ", "b")),
    _line(broker_name="", broker_addr="10.0.0.1:10911"),
    _line(ended_at_ms=None, started_at_ms=NOON_MS),
    *(_line(started_at_ms=NOON_MS - away, submitted_at_ms=NOON_MS) for away in (0, 999_000, 10_000_000)),
    *(_line(submitted_at_ms=at) for at in (5, NOON_MS + 999_000, NOON_MS + 2_000_000)),
    *(_line(**{name: "try"}) for name in ("one_line_per", "queue_chosen_by", "cause", "thread")),
    *(_line(**{name: "a\tb"}) for name in ("error", "order_key", "thread", "msg_id")),
    *map(_with, (',"topic":"y"', ",", ',"x":NaN', " /*c*/", ',"x":01', ',"x":"\\x"', ',"x":"\\ud800"', ',"x":"a\tb"')),
    *map(_with, (',"x":{"a":[1]}', ',"":1', ',"x":1e400', f',"x":{DEEP}', ",x:1", ',"x":tru', ',"x":.5')),
    f"{_line()} x", _line() * 2, f"[{_line()}]", f" {_line()}", _line().replace('"', "'"), _line()[:-1], f"{_line()},",
    "{}", "null", "5", '"x"', f"{_line()}\r", f"{_line()}\0", _line().replace("SEND_OK", "SEND\\u005fOK"),
]  # fmt: skip


_ROWS = (FIELD / "37-forms-of-a-time" / "forms.tsv").read_text(encoding="utf-8").splitlines()
FORMS = {row["text"]: (row["right"], row["remark"]) for row in csv.DictReader(_ROWS, delimiter="\t")}
"""Case 37: a text to its instant or `refused`, and a remark."""
MORE_FORMS = (
    "2026-11-21 08:26:00 GMT+08:00", "2026-11-21 08:26:00 UTC+8", "2026-11-21t08:26:00 UT-0330", "2026-11-21T00:26:00z",
    "2026-02-30T00:00:00Z", "2026-11-21 08:26:00 Asia/Nowhere", "2026-11-21 08:26:00 +8", "2026-11-21 08:26:00+800",
    "2026-03-08 02:30:00 America/New_York", "2026-11-01 01:30:00 America/New_York", "2026-11-21 00:26:00 Etc/GMT+8",
    "2026-11-21 00:26:00 America/Argentina/Buenos_Aires", "2026-11-21 00:26:00 +15:00", "2026-11-21 00:26:00+05:60",
    "2026-11-21T00:26:00.0009999Z", "2026-11-21T00:26:00.", "2026-11-21T00:26:00.1234567890Z", "2026-11-21", "12:30",
    "2026-11/21 08:26:00", "2026-11-21  08:26:00", " 2026-11-21T00:26:00Z", "2026-11-21T00:26:00Z ", "now", "today",
    "2026-11-21T00:26:00[Asia/Shanghai]", "2026-11-21 00:26:00 asia/shanghai", "1795220760000", "2026-11-21T0:26:00Z",
    "٢٠٢٦-11-21T00:26:00Z", "2026-11-21T00:26:00Z\n", "+2026-11-21T00:26:00Z", "0000-11-21T00:26:00Z", "",
)  # fmt: skip
TIMES = [_line(time=text, ended_at_ms=None) for text in (*FORMS, *MORE_FORMS)]
SECONDS = [
    _line(ended_at_ms=None, time=77).replace("77", text)
    for text in (
        "1795262400",
        "1795262400.0019",
        "1795262400.9999999",
        "1.7952624e9",
        "1795262400000",
        "-1",
        '"1795262400"',
    )
]
WITHOUT_ZONE = (
    "ended_at_ms has no offset in 60 lines and is taken for UTC; say the zone of the log: [inputs.sends] time_zone ="
    ' "Asia/Shanghai", or "UTC" if it is'
)


def _refuses(found: Found) -> bool:
    """Whether `check` says of the only line that it cannot be used."""
    return bool(
        found.lacking
        or found.lines_lacking
        or found.by_address
        or found.contradicting
        or any(field.problems for field in found.fields)
    )


def _by_check(lines: Sequence[str], settings: Settings, folder: Path) -> list[tuple[bool, int | None] | None]:
    """Of each line whether `check` refuses it, and its end; None where it does not judge."""
    sends, judged = settings.inputs.sends, []
    for line in lines:
        (folder / "one.log").write_text(f"{line}\n", encoding="utf-8", newline="")
        head = read_head(InputFile(str(folder / "one.log"), 1, 1), "jsonl", sends, opener([], {}))
        found = find_fields([head], sends)
        ended = head.records[0].get(sends.source_of("ended_at_ms").column) if head.records else None
        verdict = (bool(head.bad) or _refuses(found), in_ms("ended_at_ms", ended, sends) if ended else None)
        judged.append(verdict if head.bad or head.records else None)
    return judged


def _by_run(
    spark: SparkSession, lines: Sequence[str], settings: Settings, folder: Path
) -> list[tuple[bool, int | None]]:
    """Of each line whether a run refuses it, and its end."""
    write(folder, {"all.log": "".join(f"{line}\n" for line in lines).encode()})
    staged = stage(spark, folder, settings=settings).inputs[0].lines
    rows = staged.select("row", "disposition", "ended_at_ms").orderBy("row").collect()
    assert len(rows) == len(lines)
    return [(row["disposition"] == "QUARANTINED", row["ended_at_ms"]) for row in rows]


def _settings(folder: Path, fields: Mapping[str, object], **sends: object) -> Settings:
    return load_settings([], [], {"inputs.sends": {"path": str(folder), "fields": fields, **sends}})


OF_TIME = {"ended_at_ms": {"column": "time", "unit": "iso8601"}}


@pytest.mark.parametrize(
    ("odd", "fields"),
    [
        (ODD, {}),
        (TIMES, OF_TIME),
        (SECONDS, {"ended_at_ms": {"column": "time", "unit": "s"}}),
    ],
    ids=["lines", "times", "seconds"],
)
def test_check_and_run_judge_each_line_alike(
    spark: SparkSession, tmp_path: Path, odd: Sequence[str], fields: Mapping[str, object]
) -> None:
    settings = _settings(tmp_path / "logs", fields)
    by_check, by_run = _by_check(odd, settings, tmp_path), _by_run(spark, odd, settings, tmp_path / "logs")
    for line, check, run in zip(odd, by_check, by_run, strict=True):
        assert check is None or check[0] == run[0], line
        if check and not run[0] and run[1] is not None:
            assert check[1] in (None, run[1]), line


def test_each_form_of_a_time_is_read_or_refused() -> None:
    """Case 37: the table's instant; forms that it lets be refused are refused."""
    read = {text: plain_written_ms(text) for text in FORMS}
    refused = {text for text, ms in read.items() if ms is None}
    assert {text for text, (right, remark) in FORMS.items() if right != "refused" and "or refused" not in remark} <= (
        read.keys() - refused
    )
    for text, (right, _) in FORMS.items():
        if text not in refused:
            assert read[text] == dt.datetime.fromisoformat(right).timestamp() * 1000, text


def test_check_and_run_judge_columns_of_csv_alike(spark: SparkSession, tmp_path: Path) -> None:
    head = "client_id,broker_name,ended_at_ms,latency_ms,outcome,a.b"
    texts = ("7", "7.0", "+7", "7.", ".7", "1e1", "007", " 7 ", "-0", "7f", "", "0x7", "7_0", "\u0667", "7L")
    csv_rows = [f"c{place},b,{NOON_MS},{text},SEND_OK,t" for place, text in enumerate(texts)]
    settings = _settings(tmp_path / "logs", {"topic": "`a.b`"})
    write(tmp_path / "logs", {"all.csv": "\n".join((head, *csv_rows)).encode()})
    staged = stage(spark, tmp_path / "logs", settings=settings)
    published = {row["client_id"]: row["latency_ms"] for row in staged.sends(DAY).where("topic = 't'").collect()}
    (head_of_file,) = read_heads(local_files(settings, "sends"), settings)
    of_check = {
        record["client_id"]: in_ms("latency_ms", record["latency_ms"] or "", settings.inputs.sends)
        for record in head_of_file.records
        if not _refuses(find_fields([replace(head_of_file, records=(record,))], settings.inputs.sends))
    }
    assert of_check == published


@pytest.mark.parametrize("zone", ["", 'time_zone = "Asia/Shanghai"'])
def test_times_without_an_offset_are_of_the_zone_that_is_said(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, zone: str
) -> None:
    """Case 19: wall time of Shanghai, a comma before the milliseconds; without a zone there is a warning."""
    shutil.copytree(FIELD / "19-sends-with-a-comma", tmp_path / "case")
    monkeypatch.chdir(tmp_path / "case")
    site = Path("site.toml")
    site.write_text(site.read_text(encoding="utf-8").replace('format = "text"', f'format = "text"\n{zone}'), "utf-8")
    settings = load_settings([site], [], {})
    lines, _ = check_inputs(settings, 200, dt.datetime(2026, 11, 22, tzinfo=dt.UTC))
    staged = stage_sends(spark, settings, (DATE, DATE), str(tmp_path / "staging"))
    warnings = staged.warnings(dt.datetime(2026, 11, 22, tzinfo=dt.UTC), settings)
    said = [] if zone else [WITHOUT_ZONE]
    assert [each.strip() for each in lines if "WARNING" in each] == [f"WARNING: {each}" for each in said]
    assert warnings == said
    hours = 0 if zone else 8
    first = staged.sends(DAY).agg(F.min("ended_at")).collect()[0][0]
    assert first.replace(tzinfo=dt.UTC) == dt.datetime(2026, 11, 21, hours, 26, tzinfo=dt.UTC)
    early = dt.datetime(2026, 11, 21, hours, 20, tzinfo=dt.UTC)
    (to_come,) = staged.warnings(early, settings)[len(said) :]
    assert to_come.startswith(f"ended_at_ms is in the future, up to 2026-11-21T{hours:02}:")
    assert f"  WARNING: {to_come}" in check_inputs(settings, 200, early)[0]


def test_names_with_dots_are_read_as_proposed(spark: SparkSession, tmp_path: Path) -> None:
    """Case 25: what `--propose` writes is an input of the run, and gives each field its value."""
    log = FIELD / "25-otlp-spans" / "flattened-by-a-pipeline.jsonl"
    (head,) = read_heads([InputFile(str(log), log.stat().st_size, 1)], load_settings([], [], {}))
    proposed = tmp_path / "proposed.toml"
    proposed.write_text(propose([head], SendsInput()), encoding="utf-8")
    values = ["inputs.sends.values.outcome.''=RemotingTimeoutException"]
    routes = str(FIELD / "20-vip-port-address-only" / "routes.jsonl")
    settings = load_settings([proposed], values, {"inputs.sends.path": str(log), "inputs.routes.path": routes})
    staged = stage_sends(spark, settings, (DATE, DATE), str(tmp_path / "staging"))
    rows = staged.inputs[0].lines.select("client_id", "topic", "broker_addr", "latency_ms", "outcome").collect()
    assert len(rows) == 10
    assert {tuple(row)[:3] for row in rows} == {("orders-0", "orders_topic", "10.1.0.11:10911")}
    by_hand = load_settings([FIELD / "25-otlp-spans" / "proposed.toml"], [], {"inputs.sends.path": str(log)})
    assert by_hand.inputs.sends.fields.items() >= settings.inputs.sends.fields.items()


def test_arrays_cannot_be_mapped(capsys: pytest.CaptureFixture[str]) -> None:
    """Case 25: OTLP itself has attributes as arrays."""
    spans = str(FIELD / "25-otlp-spans" / "spans.jsonl")
    assert cli.main(["check", "--sends", spans]) == 2
    assert "WARNING: resourceSpans is a list: no field can come from inside it" in capsys.readouterr().out
    assert cli.main(["check", "--sends", spans, "--propose"]) == 0
    assert "# resourceSpans is a list: no field can come from inside it" in capsys.readouterr().out


@pytest.mark.parametrize("column", ["a.b.c", "a.`b.c`", "`a`.`b.c`"])
def test_dots_in_parquet_are_of_names_or_lead_into_objects(spark: SparkSession, tmp_path: Path, column: str) -> None:
    rows = [{**GOOD, "a": {"b.c": "north", "b": None}, "seq": 1}]
    (tmp_path / "logs").mkdir()
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "logs" / "a.parquet")
    settings = _settings(tmp_path / "logs", {"topic": column})
    (head,) = read_heads(local_files(settings, "sends"), settings)
    (topic,) = (field for field in find_fields([head], settings.inputs.sends).fields if field.name == "topic")
    assert list(topic.examples) == ["north"]
    assert [row["topic"] for row in stage(spark, tmp_path / "logs", settings=settings).sends(DAY).collect()] == [
        "north"
    ]


def test_an_instant_of_parquet_has_its_zone(spark: SparkSession, tmp_path: Path) -> None:
    """What is a wall time is of the zone that is said; what is an instant is not."""
    noon = dt.datetime(2026, 11, 21, 12, tzinfo=dt.UTC)
    rows = {**{name: [value] for name, value in GOOD.items()}, "at": pa.array([noon], pa.timestamp("us", "UTC")),
            "wall": pa.array([noon.replace(tzinfo=None)], pa.timestamp("us"))}  # fmt: skip
    (tmp_path / "logs").mkdir()
    pq.write_table(pa.table(rows), tmp_path / "logs" / "a.parquet")
    fields = {
        "ended_at_ms": {"column": "at", "unit": "iso8601"},
        "started_at_ms": {"column": "wall", "unit": "iso8601"},
    }
    settings = _settings(tmp_path / "logs", fields, time_zone="Asia/Shanghai")
    (row,) = (
        stage(spark, tmp_path / "logs", settings=settings)
        .inputs[0]
        .lines.select("ended_at_ms", "started_at_ms", "reason")
        .collect()
    )
    assert (row["ended_at_ms"], row["reason"]) == (None, "times_contradict")
