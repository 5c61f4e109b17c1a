"""The thin Arrow wrapper around `jobs.allocation.logs`: walks each process's day once; its rows have a kind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from jobs.allocation.frames import PROCESS_LOGS
from jobs.allocation.logs.events import REFUSALS, Event
from jobs.allocation.logs.process_day import process_day
from jobs.allocation.logs.resets import with_drops
from jobs.tables.day import Day

_OWNED = ("consumer_group", "topic", "broker_name", "queue_id", "popped")
_OF_EVENTS = ("file", "split", "row", "said_client_id", "event", *_OWNED, "client_id", "instance", "allocated")
_ORDER = ("at_ms", "file", "split", "row")
_AT_MIDNIGHT = "AT_MIDNIGHT"


def walked_logs(log_lines: DataFrame, opening: DataFrame, day: Day) -> DataFrame:
    """PROCESS_LOGS: what each process's day of log lines shows.

    Args:
        log_lines: published lines of the input `client_logs`; those of one log with several pids are of as many
            processes.
        opening: rows of `queue_ownership` valid at 00:00.
        day: the day.
    """
    # Most lines are not about ownership: only their time is passed on.
    process = F.concat_ws(" pid ", "process", "pid").alias("process")
    lines = log_lines.select(
        process, "at_ms", *(F.when(F.col("event").isNotNull(), F.col(name)).alias(name) for name in _OF_EVENTS)
    )
    at_midnight = opening.where("source = 'CLIENT_LOG'").select(
        "process", *_OWNED, "client_id", F.lit(_AT_MIDNIGHT).alias("event"), F.lit(day.start_ms).alias("at_ms")
    )
    start_ms, end_ms, schema = day.start_ms, day.end_ms, to_arrow_schema(StructType(list(PROCESS_LOGS.columns)))

    def walk(key: tuple[pa.Scalar, ...], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = _rows(batches, start_ms, end_ms)
        process = {"process": key[0].as_py()}
        yield pa.RecordBatch.from_pylist([row | process for row in rows], schema=schema)

    every_line = lines.unionByName(_carried(at_midnight, lines), allowMissingColumns=True)
    return every_line.groupBy("process").applyInArrow(walk, StructType(list(PROCESS_LOGS.columns)))


def _carried(at_midnight: DataFrame, lines: DataFrame) -> DataFrame:
    """What clients owned at 00:00, each with the log that goes on: the only one that names the client, else its own."""
    names = lines.where("client_id IS NOT NULL").groupBy("client_id").agg(F.collect_set("process").alias("logs"))
    named = at_midnight.join(names.where("size(logs) = 1"), "client_id", "left")
    return named.withColumn("process", F.coalesce(F.get("logs", F.lit(0)), "process")).drop("logs")


def facts_of_logs(rows: DataFrame) -> dict[str, DataFrame]:
    """The rows of PROCESS_LOGS as facts of groups, by attribute of `group.known.GroupFacts`.

    A client's silences are those of its log within one of its lives, each once: between two lives there was no process
    that could stand still.
    """

    def of_kind(kind: str, *columns: Column | str) -> DataFrame:
        return rows.where(F.col("kind") == kind).select(*columns)

    start, end = F.col("start_ms"), F.col("end_ms")
    lives = of_kind(
        "LIFETIME",
        *("process", "consumer_group", "client_id"),
        *(start.alias("lived_from_ms"), end.alias("lived_until_ms"), "ended"),
    )
    lived_from = F.coalesce("lived_from_ms", F.lit(0))
    is_alive = (F.col("silent_until_ms") > lived_from) & (F.col("silent_from_ms") < F.col("lived_until_ms"))
    silences = of_kind("SILENCE", "process", start.alias("silent_from_ms"), end.alias("silent_until_ms"))
    return {
        "lifetimes": lives.drop("process"),
        "logged_holdings": of_kind("HOLDING", "process", *_OWNED, "client_id", "start_ms", "end_ms"),
        "refusals": of_kind("REFUSAL", *_OWNED[:4], start.alias("at_ms"), "event"),
        "silences": silences.join(lives, "process")
        .where(is_alive)
        .select("consumer_group", "client_id", "silent_from_ms", "silent_until_ms")
        .distinct(),
    }


def _rows(batches: Iterable[pa.RecordBatch], start_ms: int, end_ms: int) -> Iterator[dict[str, Any]]:
    """Of one process, without its name."""
    all_times, written, opening = [], [], []
    named_ms: dict[str, int] = {}
    for batch in batches:
        is_name = pc.fill_null(pc.equal(batch["event"], "NAMED"), False)
        for name, at_ms in _last_ms(batch.filter(is_name)):
            named_ms[name] = max(at_ms, named_ms.get(name, at_ms))
        of_events = batch.filter(pc.and_(pc.is_valid(batch["event"]), pc.invert(is_name))).to_pylist()
        opening += [line for line in of_events if line["event"] == _AT_MIDNIGHT]
        written += [line for line in of_events if line["event"] != _AT_MIDNIGHT]
        is_line = pc.fill_null(pc.not_equal(batch["event"], _AT_MIDNIGHT), True)
        all_times.append(pc.unique(batch["at_ms"].filter(is_line)))
    times_ms = sorted({at_ms for of_batch in all_times for at_ms in of_batch.to_pylist()})
    written.sort(key=lambda line: tuple(line[name] for name in _ORDER))
    owned_before = [_event(line | {"event": "ADDED"}) for line in opening]
    events = with_drops([_event(line) for line in written], owned_before)
    yield from process_day(events, times_ms, owned_before, named_ms, start_ms, end_ms)
    for event in events:
        if event.event in {*REFUSALS, "DROPPED"}:
            (broker_name, queue_id), *_ = event.queues
            yield {
                "kind": "REFUSAL",
                "consumer_group": event.consumer_group,
                "topic": event.topic,
                "broker_name": broker_name,
                "queue_id": queue_id,
                "start_ms": event.at_ms,
                "event": event.event,
            }


def _last_ms(names: pa.RecordBatch) -> Iterator[tuple[str, int]]:
    """When each client is named last; a client names itself each minute, so these lines are many."""
    last = pa.Table.from_batches([names]).group_by("client_id").aggregate([("at_ms", "max")])
    return zip(last["client_id"].to_pylist(), last["at_ms_max"].to_pylist(), strict=True)


def _event(line: dict[str, Any]) -> Event:
    queues = line["allocated"] or ([] if line["broker_name"] is None else [line])
    return Event(
        line["event"],
        line["at_ms"],
        line["consumer_group"],
        line["topic"],
        tuple((queue["broker_name"], queue["queue_id"]) for queue in queues),
        bool(line["popped"]),
        line["client_id"],
        line["instance"],
        line["said_client_id"],
    )
