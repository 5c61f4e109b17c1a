"""CSV: every line of a file is its header, a record, part of one, or quarantined."""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from jobs.errors import InputUnreadableError
from jobs.settings.load import load_settings
from tests.given.send_logs import DAY, NOON_MS, bad_lines, fates, stage, write

NAMES = ("client_id", "producer_group", "broker_name", "ended_at_ms", "latency_ms", "outcome", "seq", "error")
HEAD = ",".join(NAMES)
ANSWER = "CODE: 16  DESC: sending message is forbidden\nFor more information, please visit the url, http://x/faq/"
"""An error text as RocketMQ makes it: `FAQUrl.attachDefaultURL` adds a line."""


def record(seq: int, *, error: str = "", group: str = "PG") -> str:
    """One line, quoted where it needs be."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(["c1", group, "broker-a", NOON_MS, 10, "SEND_OK", seq, error])
    return text.getvalue().removesuffix("\n")


def _seqs(spark: SparkSession, folder: Path) -> list[tuple[int, str | None]]:
    return [(row["seq"], row["error"]) for row in stage(spark, folder).sends(DAY).orderBy("seq").collect()]


@pytest.mark.fault(7)
def test_a_stray_quote_costs_its_own_line_only(spark: SparkSession, tmp_path: Path) -> None:
    lines = [HEAD, *(record(seq) for seq in range(500)), 'c1,"PG unclosed', *(record(seq) for seq in range(500, 2000))]
    folder = write(tmp_path / "logs", {"a.csv": "\n".join(lines).encode()})
    staged = stage(spark, folder)
    assert fates(staged) == {"PUBLISHED": 2000, "QUARANTINED": 1}
    assert bad_lines(staged, folder) == {("a.csv", 502): ("csv_open_quote", 'not closed on its line: "PG unclosed')}
    assert [row["raw"] for row in staged.quarantine(DAY, "run").collect()] == ['c1,"PG unclosed']


@pytest.mark.fault(10)
def test_what_is_no_character_costs_its_own_line_only(spark: SparkSession, tmp_path: Path) -> None:
    """Spark's CSV parser takes U+FFFF for the end of its input, and is at a loss with the line after it."""
    lines = [HEAD, record(1), record(2, error="a\uffffb"), record(3), record(4, error="\uffff"), record(5)]
    folder = write(tmp_path / "logs", {"a.csv": "\n".join(lines).encode()})
    assert bad_lines(stage(spark, folder), folder) == {
        ("a.csv", 3): ("invalid_utf8", None),
        ("a.csv", 5): ("invalid_utf8", None),
    }


@pytest.mark.fault(7, 10)
@pytest.mark.parametrize("kind", ["plain", "gzip", "small pieces"])
def test_each_line_has_its_place(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    """Records over several lines among broken ones; in pieces that end anywhere, also within a record."""
    if kind == "small pieces":
        spark.conf.set("spark.sql.files.maxPartitionBytes", "64")
        spark.conf.set("spark.sql.files.openCostInBytes", "64")
    last_field_open = record(0) + '"'
    lines = [
        "\ufeff" + HEAD,
        record(1, error=ANSWER),  # lines 2 and 3
        record(2, error=ANSWER),  # 4, 5: nothing between the two
        last_field_open,  # 6: stray, then a record over several lines
        record(3, error=ANSWER),  # 7, 8
        last_field_open,  # 9: stray, but the next odd line would close it: line 10 is a record of its own
        record(4),  # 10
        'the end"',  # 11
        "",  # 12
        record(5, error='a "text", with\n\nan empty line\r\nand a return'),  # 13 to 16
        record(6, error='two quotes: "",'),  # 17
        record(0)[:-10],  # 18: too few
        record(0) + ",",  # 19: too many
        "c1",  # 20
        ",,,,,,,",  # 21
        "," * 30_000,  # 22: more columns than Spark reads
        HEAD,  # 23: the header again, as in joined files
        record(7, group="P\n\nG"),  # 24 to 26: a whole record, of a group that cannot be
        *['"', "x"] * 101,  # 27 to 228
        record(8, error="\n".join("frame" for _ in range(99))),  # 229 to 327
        "c1,PG,broker-\udcff,1,1,SEND_OK,0,",  # 328: no UTF-8
        'c1,P"G,b"roker-a,' + record(0)[13:],  # 329: quotes inside fields
        record(9) + "\r",
        'c1,PG,"broker-a',  # 331: the file ends
    ]
    content = "\n".join(lines).encode(errors="surrogateescape")
    name = "a.csv.gz" if kind == "gzip" else "a.csv"
    folder = write(tmp_path / "logs", {name: gzip.compress(content) if kind == "gzip" else content})
    try:
        staged = stage(spark, folder)
    finally:
        spark.conf.unset("spark.sql.files.maxPartitionBytes")
        spark.conf.unset("spark.sql.files.openCostInBytes")
    sends = {row["seq"]: row for row in staged.sends(DAY).collect()}
    assert sorted(sends) == [1, 2, 3, 4, 5, 6, 8, 9]
    assert sends[1]["error"] == ANSWER
    assert sends[5]["error"] == 'a "text", with\n\nan empty line\nand a return'
    assert sends[6]["error"] == 'two quotes: "",'
    assert sends[8]["error"].count("\n") == 98
    bad = {number: reason for (_, number), (reason, _) in bad_lines(staged, folder).items()}
    strays = {27 + 2 * place: "csv_open_quote" for place in range(101)}
    assert bad == {
        6: "csv_open_quote",
        9: "csv_open_quote",
        11: "csv_open_quote",
        **dict.fromkeys((18, 19, 20, 22), "wrong_column_count"),
        21: "client_id_missing",
        24: "control_character",
        **strays,
        **{number + 1: "wrong_column_count" for number in strays},
        328: "invalid_utf8",
        329: "wrong_column_count",
        331: "csv_open_quote",
    }
    details = {number: detail for (_, number), (_, detail) in bad_lines(staged, folder).items()}
    assert (details[19], details[22]) == ("9 columns, the header has 8", "30001 columns, the header has 8")
    assert details[331] == 'not closed on its line: "broker-a'
    assert fates(staged) == {"PUBLISHED": 8, "QUARANTINED": len(bad)}


def test_all_sends_may_fail_with_a_text_of_two_lines(spark: SparkSession, tmp_path: Path) -> None:
    """No whole record on one line, and a stray quote in the middle."""
    first, then = ([record(seq, error=ANSWER) for seq in of] for of in (range(300), range(300, 700)))
    folder = write(tmp_path / "logs", {"a.csv": "\r\n".join([HEAD, *first, 'c1,PG,"b', *then]).encode()})
    staged = stage(spark, folder)
    assert bad_lines(staged, folder) == {("a.csv", 602): ("csv_open_quote", 'not closed on its line: "b')}
    assert _seqs(spark, write(tmp_path / "again", {"a.csv": (folder / "a.csv").read_bytes()})) == [
        (seq, ANSWER) for seq in range(700)
    ]


def test_what_lies_between_two_records_may_look_like_one(spark: SparkSession, tmp_path: Path) -> None:
    """`end`, what the closing and the next opening quote enclose, `b` to `g`: as many fields as the header has."""
    error = ",b,c,d,e,f,g\nend,"
    folder = write(
        tmp_path / "logs", {"a.csv": "\n".join([HEAD, *(record(seq, error=error) for seq in range(3))]).encode()}
    )
    staged = stage(spark, folder)
    assert fates(staged) == {"PUBLISHED": 3}
    assert [row["error"] for row in staged.sends(DAY).collect()] == [error] * 3


def test_each_file_is_read_under_its_own_header(spark: SparkSession, tmp_path: Path) -> None:
    turned = "seq,outcome,latency_ms,ended_at_ms,broker_name,client_id"
    folder = write(
        tmp_path / "logs",
        {
            "a.csv": f"{HEAD}\n{record(1)}\n".encode(),
            "b.csv": f"{turned}\r\n2,SEND_OK,7,{NOON_MS},broker-b,c2\r\n3,SEND_OK,7,{NOON_MS},broker-b,c3\n".encode(),
            "c/d.csv": f'\n"client_id", own ,{HEAD[10:]},SEQ,\nc4,x,{record(4)[3:]},y,\n'.encode(),
            "empty.csv": b"\n\r\n",
            "header only.csv": f"{turned}\n".encode(),
            "_lead.csv.gz": gzip.compress(f"{HEAD}\n{record(5)}".encode()),
        },
    )
    staged = stage(spark, folder)
    assert fates(staged) == {"PUBLISHED": 5}
    rows = staged.sends(DAY).orderBy("seq").collect()
    assert [(row["client_id"], row["broker_name"], row["latency_ms"]) for row in rows] == [
        ("c1", "broker-a", 10),
        ("c2", "broker-b", 7),
        ("c3", "broker-b", 7),
        ("c4", "broker-a", 10),
        ("c1", "broker-a", 10),
    ]


@pytest.mark.parametrize(
    ("first", "sentence"),
    [
        (HEAD.replace(",", ";"), "has semicolons between its columns; write it with commas"),
        (HEAD.replace(",", "\t"), "has tabs between its columns; write it with commas"),
        (f"{HEAD},seq", "has the column 'seq' twice; rename one of them"),
        (record(1), "is no header with columns such as client_id, producer_group; put one there, or map"),
        (HEAD[:-1] + '"', "is no header"),
        ("x" * 70_000, "is no header"),
    ],
)
def test_a_first_line_that_is_no_header_is_named(
    spark: SparkSession, tmp_path: Path, first: str, sentence: str
) -> None:
    folder = write(tmp_path / "logs", {"a.csv": f"{HEAD}\n{record(1)}".encode(), "b.csv": f"{first}\n".encode()})
    with pytest.raises(InputUnreadableError) as caught:
        stage(spark, folder)
    assert f"{folder}/b.csv {sentence}" in str(caught.value)


@pytest.mark.fault(1)
def test_a_csv_that_is_cut_short_is_named(spark: SparkSession, tmp_path: Path) -> None:
    folder = write(tmp_path / "logs", {"a.csv.gz": gzip.compress(HEAD.encode())[:-12]})
    with pytest.raises(InputUnreadableError, match=rf"^{folder}/a\.csv\.gz cannot be read to its end"):
        stage(spark, folder)


@pytest.mark.fault(20)
def test_a_long_line_is_quarantined(spark: SparkSession, tmp_path: Path) -> None:
    lines = [HEAD, record(1, error="x" * 2_000), record(2), record(3, error='"' * 3_000)]
    folder = write(tmp_path / "logs", {"a.csv": "\n".join(lines).encode()})
    given = {"inputs.sends.path": str(folder), "max_line_bytes": 2_000}
    staged = stage(spark, folder, settings=load_settings([], [], given))
    assert {number: reason for (_, number), (reason, _) in bad_lines(staged, folder).items()} == {
        2: "line_too_long",
        4: "line_too_long",
    }
