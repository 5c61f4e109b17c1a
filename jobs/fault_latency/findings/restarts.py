"""RESTARTED: a producer fell silent, and soon after another client id of its host and group began."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.fault_latency.findings.finding import clock_text, finding
from jobs.fault_latency.keys import PRODUCER
from jobs.kinds import FindingCause, FindingKind, Severity

_HOST = ("cluster", "producer_group", "host")
_SOON_MS = 120_000
_SILENT_PAUSES, _FEWEST_SENDS = 10, 10


def restarts(sends_per_process: DataFrame) -> DataFrame:
    """One finding per producer that started on a host where another of its group had just gone silent.

    None where the new producer could replace more than one. The host is the client id up to the first `@`
    (`ClientConfig.buildMQClientId`). A producer is silent once it has sent nothing for ten times its mean pause; one
    with fewer than ten sends is never called silent. `client_id` is the new one.

    Args:
        sends_per_process: SENDS_PER_PROCESS.
    """
    lives = sends_per_process.groupBy(*PRODUCER, F.substring_index("client_id", "@", 1).alias("host")).agg(
        F.min("first_began_ms").alias("began_ms"),
        F.max("last_ended_ms").alias("ended_ms"),
        F.sum("sends").alias("sends"),
    )
    silent = F.col("ended_ms") + _SILENT_PAUSES * (F.col("ended_ms") - F.col("began_ms")) / F.col("sends")
    old = lives.where(F.col("sends") >= _FEWEST_SENDS).select(
        *_HOST, F.struct("client_id", F.col("ended_ms").alias("at_ms"), silent.alias("silent_ms")).alias("old")
    )
    new = lives.select(*_HOST, F.struct(F.col("began_ms").alias("at_ms"), "client_id", "ended_ms").alias("new"))
    pause_ms = F.col("new.at_ms") - F.col("old.at_ms")
    pairs = old.join(new, list(_HOST)).where(
        pause_ms.between(0, _SOON_MS) & (F.col("new.ended_ms") > F.col("old.silent_ms"))
    )
    next_of_old = pairs.groupBy(*_HOST, "old").agg(F.min("new").alias("new"))
    replaced = next_of_old.groupBy(*_HOST, "new").agg(F.count("*").alias("silent"), F.first("old").alias("old"))
    return finding(
        replaced.where("silent = 1").selectExpr(
            "cluster", "producer_group", "new.client_id", "old.client_id AS old_id", "old.at_ms AS start_ms",
            "new.at_ms AS end_ms",
        ),
        FindingKind.RESTARTED,
        F.lit(Severity.INFO),
        F.lit(FindingCause.NEW_CLIENT_ID),
        F.col("old_id"),
        " of group ",
        F.col("producer_group"),
        " fell silent at ",
        clock_text(F.col("start_ms")),
        ", and ",
        F.col("client_id"),
        " began on its host at ",
        clock_text(F.col("end_ms")),
        ": a restart, which forgets what was isolated",
    )  # fmt: skip
