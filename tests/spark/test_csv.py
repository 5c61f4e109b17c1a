"""CSV: every line of a file is its header, a record, or quarantined."""

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


@pytest.mark.fault(7)
def test_a_stray_quote_costs_its_own_line_only(spark: SparkSession, tmp_path: Path) -> None:
    lines = [HEAD, *(record(seq) for seq in range(500)), 'c1,"PG unclosed', *(record(seq) for seq in range(500, 2000))]
    folder = write(tmp_path / "logs", {"a.csv": "\n".join(lines).encode()})
    staged = stage(spark, folder)
    assert fates(staged) == {"PUBLISHED": 2000, "QUARANTINED": 1}
    assert bad_lines(staged, folder) == {("a.csv", 502): ("csv_open_quote", 'not closed on its line: "PG unclosed')}
    assert [row["raw"] for row in staged.quarantine(DAY, "run").collect()] == ['c1,"PG unclosed']


@pytest.mark.fault(10)
def test_an_invalid_character_costs_its_own_line_only(spark: SparkSession, tmp_path: Path) -> None:
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
    """In pieces that end anywhere, also within a record; each is a task, so no line is of many pieces."""
    wide = 300 if kind == "small pieces" else 30_000
    if kind == "small pieces":
        spark.conf.set("spark.sql.files.maxPartitionBytes", "64")
        spark.conf.set("spark.sql.files.openCostInBytes", "64")
    lines = [
        "\ufeff" + HEAD,
        record(1),  # 2
        record(2, error=ANSWER),  # 3, 4: one line is one record
        record(3, error='two quotes: "",'),  # 5
        "",  # 6
        record(0)[:-10],  # 7: too few
        record(0) + ",",  # 8: too many
        "c1",  # 9
        ",,,,,,,",  # 10
        "," * wide,  # 11: more columns than Spark reads
        HEAD,  # 12: the header again, as in joined files
        "c1,PG,broker-\udcff,1,1,SEND_OK,0,",  # 13: no UTF-8
        'c1,P"G,b"roker-a,' + record(0)[13:],  # 14: quotes inside fields
        record(4) + "\r",
        'c1,PG,"broker-a',  # 16: the file ends
    ]
    content = "\n".join(lines).encode(errors="surrogateescape")
    name = "a.csv.gz" if kind == "gzip" else "a.csv"
    folder = write(tmp_path / "logs", {name: gzip.compress(content) if kind == "gzip" else content})
    try:
        staged = stage(spark, folder)
    finally:
        spark.conf.unset("spark.sql.files.maxPartitionBytes")
        spark.conf.unset("spark.sql.files.openCostInBytes")
    sends = {row["seq"]: row["error"] for row in staged.sends(DAY).collect()}
    assert sends == {1: None, 3: 'two quotes: "",', 4: None}
    bad = {number: reason for (_, number), (reason, _) in bad_lines(staged, folder).items()}
    assert bad == {
        3: "csv_open_quote",
        4: "csv_open_quote",
        **dict.fromkeys((7, 8, 9, 11), "wrong_column_count"),
        10: "client_id_missing",
        13: "invalid_utf8",
        14: "wrong_column_count",
        16: "csv_open_quote",
    }
    details = {number: detail for (_, number), (_, detail) in bad_lines(staged, folder).items()}
    assert (details[8], details[11]) == ("9 columns, the header has 8", f"{wide + 1} columns, the header has 8")
    assert details[16] == 'not closed on its line: "broker-a'
    assert fates(staged) == {"PUBLISHED": 3, "QUARANTINED": len(bad)}


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
            "lead.csv.gz": gzip.compress(f"{HEAD}\n{record(5)}".encode()),
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
        (
            HEAD.replace(",", ";"),
            "is not a header of columns such as client_id,producer_group, with commas between them",
        ),
        (f"{HEAD},seq", "has the column 'seq' twice; rename one of them"),
        (record(1), "is not a header of columns such as client_id,producer_group, with commas"),
        (HEAD[:-1] + '"', "is not a header"),
        ("x" * 70_000, "is not a header"),
    ],
)
def test_a_first_line_that_is_not_a_header_is_reported(
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
