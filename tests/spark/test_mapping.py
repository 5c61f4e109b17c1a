"""A site's own names, units and formats: the same attempt, however it was written down."""

from __future__ import annotations

import datetime as dt
import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from time import perf_counter
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import Observation, SparkSession

from jobs.settings.load import load_settings
from jobs.settings.model import Settings
from jobs.settings.send_fields import FIELD_KINDS
from jobs.sources.files import list_files
from jobs.sources.send_kinds import format_of
from jobs.sources.send_log import read_sends
from tests.given.send_logs import (
    DATE,
    DAY,
    GOOD,
    MODES,
    NOON_MS,
    OUTCOMES,
    bad_lines,
    fates,
    line,
    stage,
    write,
    write_parquet,
)


def _settings(folder: Path, fields: Mapping[str, object], **sends: object) -> Settings:
    return load_settings([], [], {"inputs.sends": {"path": str(folder), "fields": fields, **sends}})


def _published(spark: SparkSession, folder: Path, settings: Settings, *names: str) -> list[tuple[Any, ...]]:
    staged = stage(spark, folder, settings=settings)
    rows = staged.sends(DAY).orderBy("seq").collect()
    assert fates(staged) == {"PUBLISHED": len(rows)}
    return [tuple(row[name] for name in names) for row in rows]


def test_own_names_nested_names_and_units(spark: SparkSession, tmp_path: Path) -> None:
    own = {
        "ctx": {"client": {"id": "c@1"}, "broker": "broker-a"},
        "took": 1_999,
        "begun": 1_795_262_400_000_999_999,
        "done": "2026-11-21T20:00:00.123+08:00",
        "submitted": 1795262400.0019,
        "status": "SEND_OK",
        "latency_ms": "a canonical name that is mapped elsewhere is not looked at",
    }
    folder = write(tmp_path / "logs", {"a.log": json.dumps(own).encode()})
    settings = _settings(
        folder,
        {
            "client_id": "ctx.client.id",
            "broker_name": {"column": "ctx.broker"},
            "latency_ms": {"column": "took", "unit": "us"},
            "started_at_ms": {"column": "begun", "unit": "ns"},
            "ended_at_ms": {"column": "done", "unit": "iso8601"},
            "submitted_at_ms": {"column": "submitted", "unit": "s"},
            "outcome": "status",
        },
    )
    names = ("client_id", "broker_name", "latency_ms", "started_at_ms", "ended_at_ms", "submitted_at_ms", "outcome")
    # Whole milliseconds, cut, as the client's own clock cuts them.
    assert _published(spark, folder, settings, *names) == [
        ("c@1", "broker-a", 1, NOON_MS, NOON_MS + 123, NOON_MS + 1, "SEND_OK")
    ]


@pytest.mark.parametrize(
    ("text", "ended_at_ms"),
    [
        ("2026-11-21T12:00:00Z", NOON_MS),
        ("2026-11-21T12:00:00", NOON_MS),  # without a zone it is UTC
        ("2026-11-21 12:00:00.5", NOON_MS + 500),
        ("2026-11-21T12:00:00.123456789Z", NOON_MS + 123),
        ("2026-11-21T06:30:00-0530", NOON_MS),
        ("12:00:00", None),  # must not become today's noon
        ("2026-11-21", None),
        ("21/11/2026 12:00", None),
        ("soon", None),
    ],
)
def test_a_time_as_text_is_read_or_quarantined(
    spark: SparkSession, tmp_path: Path, text: str, ended_at_ms: int | None
) -> None:
    # A start and a latency are there too: a garbled end must not quietly be replaced by their sum.
    folder = write(tmp_path / "logs", {"a.log": line(ended_at_ms=text, started_at_ms=NOON_MS)})
    staged = stage(
        spark, folder, settings=_settings(folder, {"ended_at_ms": {"column": "ended_at_ms", "unit": "iso8601"}})
    )
    if ended_at_ms is None:
        assert bad_lines(staged, folder)["a.log", 1][0] == "wrong_type"
    else:
        assert [row["ended_at_ms"] for row in staged.sends(DAY).collect()] == [ended_at_ms]


def test_seconds_are_read_exactly_and_other_numbers_stay_strict(spark: SparkSession, tmp_path: Path) -> None:
    lines = [line(seq=1, ended_at_ms=1795262400, latency_ms=0.0019), line(seq=1.5)]
    folder = write(tmp_path / "logs", {"a.log": b"\n".join(lines)})
    fields = {name: {"column": name, "unit": "s"} for name in ("ended_at_ms", "latency_ms")}
    staged = stage(spark, folder, settings=_settings(folder, fields))
    assert [(row["ended_at_ms"], row["latency_ms"]) for row in staged.sends(DAY).collect()] == [(NOON_MS, 1)]
    assert bad_lines(staged, folder) == {("a.log", 2): ("wrong_type", "seq=1.5; ended_at_ms=1795262400000000")}


@pytest.mark.parametrize(
    ("unit", "below_none", "cut"), [("us", -500, 1_999), ("ns", -1, 1_999_999), ("s", -0.0005, 0.0019)]
)
def test_a_negative_latency_of_less_than_a_ms_is_invalid(
    spark: SparkSession, tmp_path: Path, unit: str, below_none: float, cut: float
) -> None:
    """Cut towards 0 it would pass for a latency of 0."""
    lines = [line(seq=1, latency_ms=cut), line(seq=2, latency_ms=below_none)]
    folder = write(tmp_path / "logs", {"a.log": b"\n".join(lines)})
    staged = stage(spark, folder, settings=_settings(folder, {"latency_ms": {"column": "latency_ms", "unit": unit}}))
    assert [row["latency_ms"] for row in staged.sends(DAY).collect()] == [1]
    assert {place: why for place, (why, _) in bad_lines(staged, folder).items()} == {
        ("a.log", 2): "latency_out_of_range"
    }


def test_a_nested_value_of_the_wrong_type_is_reported(spark: SparkSession, tmp_path: Path) -> None:
    folder = write(tmp_path / "logs", {"a.log": line(rt={"value": "soon"}), "b.log": line(rt={"value": 7})})
    staged = stage(spark, folder, settings=_settings(folder, {"latency_ms": "rt.value"}))
    assert bad_lines(staged, folder) == {("a.log", 1): ("wrong_type", "latency_ms=soon")}
    assert [row["latency_ms"] for row in staged.sends(DAY).collect()] == [7]


def test_an_order_key_is_text_in_every_format(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    lines = [line(seq=1, ctx={"order": "o-1"}), line(seq=2, ctx={"order": 42}), line(seq=3)]
    head = "client_id,broker_name,ended_at_ms,latency_ms,outcome,seq,ctx.order"
    records = [f"c@1,broker-a,{NOON_MS},1,SEND_OK,{seq},{key}" for seq, key in ((4, "o-1"), (5, 42), (6, ""))]
    write(folder, {"a.jsonl": b"\n".join(lines), "b.csv": "\n".join([head, *records]).encode()})
    columns = {name: pa.array([value] * 2) for name, value in GOOD.items()}
    write_parquet(folder, "c.parquet", {**columns, "seq": pa.array([7, 8]), "ctx": pa.array([{"order": 42}, None])})
    settings = _settings(folder, {"order_key": "ctx.order"})
    assert _published(spark, folder, settings, "seq", "order_key") == [
        (1, "o-1"),
        (2, "42"),
        (3, None),
        (4, "o-1"),
        (5, "42"),
        (6, None),
        (7, "42"),
        (8, None),
    ]


VALUES = {
    "outcome": {"OK": "SEND_OK", "TIMEOUT": "RemotingTimeoutException", "-": "", "": "SENT"},
    "mode": {"0": "SYNC", "1": "ASYNC"},
    "queue_id": {"none": ""},
    "detector_enabled": {"A": True, "B": False},
}


def _with_values(folder: Path, **sends: object) -> Settings:
    fields = {"client_language": {"value": "JAVA"}, "fault_latency_enabled": {"value": True}, "outcome": "status"}
    return _settings(folder, fields, values=VALUES, **sends)


TRANSLATED = ("seq", "outcome", "mode", "queue_id", "detector_enabled", "client_language", "fault_latency_enabled")


def test_values_are_translated_for_any_type_in_the_line(spark: SparkSession, tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {"seq": 1, "status": "OK", "mode": 0, "queue_id": 3, "detector_enabled": "A"},
        {"seq": 2, "status": "TIMEOUT", "mode": "1", "queue_id": "none", "detector_enabled": "B"},
        {"seq": 3, "status": "MQBrokerException", "mode": "ONEWAY", "queue_id": "4", "detector_enabled": True},
        {"seq": 4, "status": "", "mode": None, "client_language": "CPP", "fault_latency_enabled": False},
        {"seq": 5, "mode": ""},
        # Near misses: other letters, spaces and numbers are other texts.
        {"seq": 6, "status": "ok"},
        {"seq": 7, "status": "OK "},
        {"seq": 8, "status": "OK", "mode": 2},
        {"seq": 9, "status": "OK", "mode": 0.0},
        {"seq": 10, "status": "-"},
        {"seq": 11, "status": "OK", "queue_id": "nothing"},
        {"seq": 12, "status": "OK", "queue_id": "none", "detector_enabled": "C"},
        {"seq": 13, "status": {"a": "OK"}},
    ]
    own = [json.dumps({**GOOD, "outcome": "not looked at", **row}).encode() for row in rows]
    folder = write(tmp_path / "logs", {"a.log": b"\n".join(own)})
    staged = stage(spark, folder, settings=_with_values(folder))
    published = staged.sends(DAY).orderBy("seq").collect()
    assert [tuple(row[name] for name in TRANSLATED) for row in published] == [
        (1, "SEND_OK", "SYNC", 3, True, "JAVA", True),
        (2, "RemotingTimeoutException", "ASYNC", None, False, "JAVA", True),
        (3, "MQBrokerException", "ONEWAY", 4, True, "JAVA", True),
        (4, "SENT", "SYNC", None, None, "JAVA", True),
        (5, "SENT", "SYNC", None, None, "JAVA", True),
    ]
    assert bad_lines(staged, folder) == {
        ("a.log", 6): ("outcome_unknown", f"outcome=ok{OUTCOMES}"),
        ("a.log", 7): ("outcome_unknown", f"outcome=OK {OUTCOMES}"),
        ("a.log", 8): ("mode_unknown", f"mode=2{MODES}"),
        ("a.log", 9): ("mode_unknown", f"mode=0.0{MODES}"),
        ("a.log", 10): ("outcome_missing", None),
        ("a.log", 11): ("wrong_type", "queue_id=nothing"),
        ("a.log", 12): ("wrong_type", "detector_enabled=C"),
        ("a.log", 13): ("outcome_unknown", f'outcome={{"a":"OK"}}{OUTCOMES}'),
    }


def test_values_of_csv_and_parquet_are_translated_too(spark: SparkSession, tmp_path: Path) -> None:
    head = "client_id,broker_name,ended_at_ms,latency_ms,seq,status,mode,queue_id,detector_enabled"
    given = [("OK", "0", "none", "A"), (" TIMEOUT ", "1", "3", "B"), ("", "", "", "no"), ("ok", "0", "3", "A")]
    records = [f"c@1,broker-a,{NOON_MS},1,{seq},{','.join(own)}" for seq, own in enumerate(given, 1)]
    folder = write(tmp_path / "logs", {"a.csv": "\n".join([head, *records]).encode()})
    columns = {name: pa.array([value] * 3) for name, value in GOOD.items() if name not in {"outcome", "mode"}}
    write_parquet(
        folder,
        "b.parquet",
        {
            **columns,
            "seq": pa.array([5, 6, 7]),
            "status": pa.array(["OK", None, "OK"]),
            "mode": pa.array([1, None, 2], pa.int8()),
            "detector_enabled": pa.array([1, 0, None], pa.int32()),
        },
    )
    staged = stage(spark, folder, settings=_with_values(folder))
    published = staged.sends(DAY).orderBy("seq").collect()
    assert [tuple(row[name] for name in TRANSLATED[:5]) for row in published] == [
        (1, "SEND_OK", "SYNC", None, True),
        (2, "RemotingTimeoutException", "ASYNC", 3, False),
        (3, "SENT", "SYNC", None, False),
        (5, "SEND_OK", "ASYNC", None, True),
        (6, "SENT", "SYNC", None, False),
    ]
    assert {(row["client_language"], row["fault_latency_enabled"]) for row in published} == {("JAVA", True)}
    assert bad_lines(staged, folder) == {
        ("a.csv", 5): ("outcome_unknown", f"outcome=ok{OUTCOMES}"),
        ("b.parquet", 3): ("mode_unknown", f"mode=2{MODES}"),
    }


def test_one_column_may_be_two_fields(spark: SparkSession, tmp_path: Path) -> None:
    lines = [line(seq=1, code=0), line(seq=2, code=14), line(seq=3, code="x")]
    folder = write(tmp_path / "logs", {"a.log": b"\n".join(lines)})
    fields = {"outcome": "code", "response_code": "code"}
    settings = _settings(folder, fields, values={"outcome": {"0": "SEND_OK", "14": "MQBrokerException"}})
    staged = stage(spark, folder, settings=settings)
    rows = staged.sends(DAY).orderBy("seq").collect()
    assert [(row["outcome"], row["response_code"]) for row in rows] == [("SEND_OK", 0), ("MQBrokerException", 14)]
    assert bad_lines(staged, folder) == {("a.log", 3): ("wrong_type", f"response_code=x; outcome=x{OUTCOMES}")}


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_a_flag_is_true_false_yes_no_one_or_zero(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    true, false = (True, "true", "TRUE", 1, "1", "yes"), (False, "false", 0, "0", "No")
    given = [*true, *false, None, ""]
    if kind == "csv":
        head = ",".join([*GOOD, "seq", "detector_enabled"])
        texts = ["" if flag is None else str(flag) for flag in given]
        records = [",".join([*map(str, GOOD.values()), str(seq), flag]) for seq, flag in enumerate(texts)]
        content = "\n".join([head, *records]).encode()
    else:
        content = b"\n".join(line(seq=seq, detector_enabled=flag) for seq, flag in enumerate(given))
    folder = write(tmp_path / "logs", {f"a.{kind}": content})
    rows = _published(spark, folder, _settings(folder, {}), "detector_enabled")
    assert [flag for (flag,) in rows] == [True] * len(true) + [False] * len(false) + [None, None]


CSV_HEAD = "client_id,producer_group,broker_name,ended_at_ms,latency_ms,outcome,seq,fault_latency_enabled,error"


@pytest.mark.parametrize("zipped", [False, True])
def test_csv_carries_the_same_fields(spark: SparkSession, tmp_path: Path, zipped: bool) -> None:  # noqa: FBT001
    text = "\r\n".join(
        [
            f"\ufeff{CSV_HEAD}",
            f"c@1,PG,broker-a,{NOON_MS},10,SEND_OK,1,true,",
            f'c@1,PG,broker-a,{NOON_MS}, 11 ,RemotingTimeoutException,2,false,"two ""quoted"" words, one field"',
            f"c@1,PG,broker-a,{NOON_MS},1.5,SEND_OK,3,true,",
            f"c@1,PG,broker-a,{NOON_MS},10,SEND_OK,4,maybe,",
            f",PG,broker-a,{NOON_MS},10,SEND_OK,5,true,",
            f"c@1,PG,broker-a,{NOON_MS},10,SEND_OK",
            f"c@1,PG,broker-a,{NOON_MS},10,SEND_OK,7,true,,one too many",
            f"c@1,PG,broker-a,{NOON_MS},10,SEND_OK,1,true,",
        ]
    ).encode()
    name = "a.csv.gz" if zipped else "a.csv"
    folder = write(tmp_path / "logs", {name: gzip.compress(text) if zipped else text})
    staged = stage(spark, folder)
    assert bad_lines(staged, folder) == {
        (name, 4): ("wrong_type", "latency_ms=1.5"),
        (name, 5): ("wrong_type", "fault_latency_enabled=maybe"),
        (name, 6): ("client_id_missing", None),
        (name, 7): ("wrong_column_count", "6 columns, the header has 9"),
        (name, 8): ("wrong_column_count", "10 columns, the header has 9"),
    }
    assert fates(staged) == {"PUBLISHED": 2, "QUARANTINED": 5, "DUPLICATE": 1}
    rows = staged.sends(DAY).orderBy("seq").collect()
    assert [(row["seq"], row["latency_ms"], row["fault_latency_enabled"], row["error"]) for row in rows] == [
        (1, 10, True, None),
        (2, 11, False, 'two "quoted" words, one field'),
    ]


def test_csv_under_its_own_names(spark: SparkSession, tmp_path: Path) -> None:
    text = f"ctx.client,broker,time,Cost us,result,seq\nc@1,broker-a,{NOON_MS // 1000}.25,1500,SEND_OK,1\n"
    folder = write(tmp_path / "logs", {"export.txt": text.encode()})
    fields = {
        "client_id": "ctx.client",  # a column of that very name: CSV does not nest
        "broker_name": "broker",
        "ended_at_ms": {"column": "time", "unit": "s"},
        "latency_ms": {"column": "Cost us", "unit": "us"},
        "outcome": "result",
    }
    settings = _settings(folder, fields, format="csv")
    assert _published(spark, folder, settings, "client_id", "ended_at_ms", "latency_ms") == [("c@1", NOON_MS + 250, 1)]


def test_parquet_carries_the_same_fields(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    columns = {name: pa.array([value] * 3) for name, value in GOOD.items()}
    write_parquet(
        folder,
        "part-0.parquet",
        {**columns, "seq": pa.array([1, 2, 2]), "detector_enabled": pa.array([True, None, None])},
    )
    write_parquet(
        folder, "part-1.parquet", {**columns, "seq": pa.array([3, 4, 5]), "latency_ms": pa.array([1, None, -1])}
    )
    write(folder, {"_SUCCESS": b"", "._SUCCESS.crc": b"x"})
    staged = stage(spark, folder)
    assert fates(staged) == {"PUBLISHED": 3, "DUPLICATE": 1, "QUARANTINED": 2}
    assert bad_lines(staged, folder) == {
        ("part-1.parquet", 2): ("latency_missing", None),
        ("part-1.parquet", 3): ("latency_out_of_range", "latency_ms=-1"),
    }
    rows = staged.sends(DAY).orderBy("seq").collect()
    assert [(row["seq"], row["latency_ms"], row["detector_enabled"]) for row in rows] == [
        (1, 10, True),
        (2, 10, None),
        (3, 1, None),
    ]


def test_parquet_under_its_own_nested_names_and_types(spark: SparkSession, tmp_path: Path) -> None:
    noon = dt.datetime(2026, 11, 21, 12, 0, 0, 123_000, tzinfo=dt.UTC)
    folder = tmp_path / "logs"
    write_parquet(
        folder,
        "a.parquet",
        {
            "ctx": pa.array([{"client": "c@1", "broker": "broker-a"}]),
            "time": pa.array([noon], pa.timestamp("us", tz="UTC")),
            "cost": pa.array([0.25], pa.float64()),
            "result": pa.array(["SEND_OK"]),
            "queue_id": pa.array([3], pa.int8()),
        },
    )
    fields = {
        "client_id": "ctx.client",
        "broker_name": "ctx.broker",
        "ended_at_ms": {"column": "time", "unit": "iso8601"},
        "latency_ms": {"column": "cost", "unit": "s"},
        "outcome": "result",
    }
    names = ("client_id", "broker_name", "ended_at_ms", "latency_ms", "queue_id")
    assert _published(spark, folder, _settings(folder, fields), *names) == [("c@1", "broker-a", NOON_MS + 123, 250, 3)]


def test_columns_may_be_called_as_a_lines_place_is(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    taken = ("file", "split", "row", "raw", "damage", "fields", "record")
    columns = {name: pa.array([value, None]) for name, value in GOOD.items()} | {
        name: pa.array([7, 8]) for name in taken
    }
    write_parquet(folder, "a.parquet", columns)
    head, values = ",".join(columns), ["6" if name == "row" else str(column[0]) for name, column in columns.items()]
    write(folder, {"b.csv": "\n".join([head, ",".join(values), ",".join("9" for _ in values)]).encode()})
    staged = stage(spark, folder, settings=_settings(folder, {"seq": "row", "thread": "file"}))
    assert {(row["seq"], row["thread"]) for row in staged.sends(DAY).collect()} == {(7, "7"), (6, "7")}
    assert set(bad_lines(staged, folder)) == {("a.parquet", 2), ("b.csv", 3)}


def test_formats_may_be_mixed_by_name(spark: SparkSession, tmp_path: Path) -> None:
    folder = write(
        tmp_path / "logs",
        {
            "a.jsonl": line(seq=1),
            "b.csv": f"client_id,broker_name,ended_at_ms,latency_ms,outcome,seq\nc,b,{NOON_MS},1,SEND_OK,2\n".encode(),
            "c.log": line(seq=3),
        },
    )
    write_parquet(
        folder, "d.parquet", {**{name: pa.array([value]) for name, value in GOOD.items()}, "seq": pa.array([4])}
    )
    assert _published(spark, folder, _settings(folder, {}), "seq") == [(1,), (2,), (3,), (4,)]


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet", "text"])
def test_a_mapping_of_every_field_is_planned_in_seconds(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    """Were the expressions of one stage put in place of their uses in the next, planning would never end."""
    times = {"started_at_ms": "iso8601", "ended_at_ms": "iso8601", "submitted_at_ms": "iso8601", "latency_ms": "us"}
    fields = {
        name: {"column": f"own_{name}", **({"unit": times[name]} if name in times else {})} for name in FIELD_KINDS
    }
    time, numbers = "2026-11-21T20:00:00.123+08:00", [name for name in FIELD_KINDS if FIELD_KINDS[name] != "text"]
    own = {
        **{name: "-" if name in numbers else name for name in FIELD_KINDS},
        **dict.fromkeys(times, time),
        "latency_ms": "10000",
        "outcome": "OK",
        "mode": "0",
        "client_version": "-",
        "queue_chosen_by": "-",
        "one_line_per": "-",
        "cluster": "main",
    }
    values = {name: {"-": ""} for name in FIELD_KINDS} | {"outcome": {"OK": "SEND_OK"}, "mode": {"0": "SYNC"}}
    named = {f"own_{name}": own[name] for name in FIELD_KINDS}
    folder = tmp_path / "logs"
    if kind == "parquet":
        write_parquet(folder, "a.parquet", {name: [text] for name, text in named.items()})
    else:
        csv = f"{','.join(named)}\n{','.join(named.values())}"
        texts = {"jsonl": json.dumps(named), "csv": csv, "text": " ".join(named.values())}
        write(folder, {f"a.{'log' if kind == 'text' else kind}": texts[kind].encode()})
    pattern = {"pattern": " ".join(rf"(?<{name}>\S+)" for name in named)} if kind == "text" else {}
    settings = _settings(folder, fields, values=values, **pattern)
    form = settings.inputs.sends.format
    manifest = list_files(spark, [str(folder)], kind_of=lambda file: format_of(file, form))
    sends = read_sends(spark, manifest, settings, (DATE, DATE), Observation())
    started = perf_counter()
    plan = str(sends._jdf.queryExecution().optimizedPlan().toString())
    assert perf_counter() - started < 60
    assert plan
    assert _published(spark, folder, settings, "latency_ms", "ended_at_ms", "outcome", "seq", "thread") == [
        (10, NOON_MS + 123, "SEND_OK", None, "thread")
    ]
