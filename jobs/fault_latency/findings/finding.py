"""Rows of the table `findings`, and the words of their sentences."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.kinds import FindingKind, Severity

_MANY_LOST = 10
_EVIDENCE = {
    "client_id": "string",
    "producer_group": "string",
    "process": "string",
    "topic": "string",
    "broker_name": "string",
    "sends": "bigint",
    "failures": "bigint",
    "isolations": "bigint",
    "isolated_ms": "bigint",
    "producers": "bigint",
    "share": "double",
    "brokers": "array<string>",
}


def finding(rows: DataFrame, kind: FindingKind, severity: Column, cause: Column, *words: str | Column) -> DataFrame:
    """One row of the table `findings` per row of `rows`, without day; evidence that these lack is null.

    Args:
        rows: `cluster`, `start_ms`, `end_ms`, and the evidence under the table's names.
        kind: its kind.
        severity: a `Severity`.
        cause: a `FindingCause`.
        words: the sentence, texts and columns in turn.
    """
    there = set(rows.columns)
    evidence = [(F.col(name) if name in there else F.lit(None)).cast(of).alias(name) for name, of in _EVIDENCE.items()]
    until = F.greatest(F.col("end_ms"), F.col("start_ms") + 1)
    sentence = F.concat(*(F.lit(word) if isinstance(word, str) else word.cast("string") for word in words))
    return rows.select(
        "cluster",
        F.lit(kind).alias("kind"),
        severity.alias("severity"),
        cause.alias("cause"),
        "start_ms",
        until.alias("end_ms"),
        *evidence,
        sentence.alias("sentence"),
    )


def severity_of_lost(lost: Column, otherwise: Column | Severity) -> Column:
    """CRITICAL from ten lost sends on: fewer are not worth waking anybody up.

    Examples:
        >>> frame = spark.createDataFrame([(0,), (9,), (10,)], "lost bigint")
        >>> frame.select(severity_of_lost(F.col("lost"), Severity.WARNING).alias("severity")).show()
        +--------+
        |severity|
        +--------+
        | WARNING|
        | WARNING|
        |CRITICAL|
        +--------+
        <BLANKLINE>
    """
    return F.when(lost >= _MANY_LOST, Severity.CRITICAL).otherwise(otherwise)


def count_text(count: Column, noun: str) -> Column:
    """A number and what it counts: `1 attempt`, `2 attempts`."""
    return F.concat(count.cast("string"), F.when(count == 1, f" {noun}").otherwise(f" {noun}s"))


def duration_text(ms: Column) -> Column:
    """A time in words.

    Examples:
        >>> frame = spark.createDataFrame([(None,), (240,), (59_949,), (59_950,), (7_384_000,)], "ms bigint")
        >>> frame.select(duration_text(F.col("ms")).alias("words")).show()
        +----------+
        |     words|
        +----------+
        |      NULL|
        |     0.2 s|
        |    59.9 s|
        |1 min 00 s|
        |2 h 03 min|
        +----------+
        <BLANKLINE>
    """
    seconds = F.round(ms / 1000).cast("bigint")
    two = "%02d"
    minutes = F.format_string(f"%d min {two} s", F.floor(seconds / 60), seconds % 60)
    hours = F.format_string(f"%d h {two} min", F.floor(seconds / 3600), F.floor(seconds / 60) % 60)
    short = F.format_string("%.1f s", ms / 1000)
    return F.when(ms < 59_950, short).when(seconds < 3600, minutes).when(ms.isNotNull(), hours)


def clock_text(instant_ms: Column) -> Column:
    """The UTC time of day, `HH:mm:ss`."""
    return F.date_format(F.timestamp_millis(instant_ms), "HH:mm:ss")


def percent_text(share: Column) -> Column:
    """A share in whole percent."""
    return F.concat(F.round(share * 100).cast("int").cast("string"), F.lit(" %"))
