"""The samples' sends as sites of other habits would have logged them: the shapes of conf/examples."""

from __future__ import annotations

import csv
import datetime as dt
import gzip
import io
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from tests.given.send_logs import write, write_parquet

Attempt = Mapping[str, Any]

_SAMPLES = Path(__file__).parents[2] / "data_samples" / "sends"
_SHORT = {"SEND_OK": "OK", "RemotingTimeoutException": "TIMEOUT"}
_NUMBERS = {"SYNC": 0, "ASYNC": 1, "ONEWAY": 2}
_ALWAYS = ("client_id", "producer_group", "client_version", "client_language", "topic", "broker_name", "mode")
_ALWAYS_TOO = ("ended_at_ms", "latency_ms", "outcome", "seq", "fault_latency_enabled")

Shape = tuple[tuple[str, ...], Callable[[Path, Sequence[Attempt]], Path]]


def sample_attempts(size: int) -> list[Attempt]:
    """So many attempts of the samples' producers on 5.3.3 with the switch on, up to half of them failures, in order."""
    text = gzip.decompress((_SAMPLES / "producers-5.3.3.jsonl.gz").read_bytes()).decode()
    attempts = [json.loads(line) for line in text.splitlines()]
    switched_on = [each for each in attempts if each["fault_latency_enabled"] and each["broker_name"]]
    failures = [each for each in switched_on if each["outcome"] not in {"SEND_OK", "SENT"}][: size // 2]
    others = [each for each in switched_on if each["outcome"] in {"SEND_OK", "SENT"}]
    chosen = [*failures, *others[: size - len(failures)]]
    return sorted(chosen, key=lambda each: (each["ended_at_ms"], each["client_id"], each["seq"]))


def canonical(folder: Path, attempts: Sequence[Attempt], carried: Sequence[str]) -> Path:
    """JSON lines of our own names, with the fields that a shape carries."""
    lines = [json.dumps({name: each[name] for name in carried}) for each in attempts]
    return write(folder, {"sends.jsonl": "\n".join(lines).encode()})


def _json(folder: Path, attempts: Sequence[Attempt]) -> Path:
    lines = [
        {
            "at": _iso(each["ended_at_ms"]),
            "cost_us": each["latency_ms"] * 1000 + 7,
            "who": {"client": each["client_id"], "group": each["producer_group"]},
            "to": {"topic": each["topic"], "broker": each["broker_name"], "queue": each["queue_id"]},
            "result": _SHORT.get(each["outcome"], each["outcome"]),
            "how": _NUMBERS[each["mode"]],
            "switch": "on" if each["fault_latency_enabled"] else "off",
            "no": each["seq"],
            "latency_ms": "another thing",
        }
        for each in attempts
    ]
    return write(folder, {"a.log": "\n".join(map(json.dumps, lines)).encode()})


def _csv(folder: Path, attempts: Sequence[Attempt]) -> Path:
    text = io.StringIO()
    table = csv.writer(text)
    table.writerow(["end", "Cost ms", "client", "group", "topic", "broker", "mode", "result", "cause", "seq", "switch"])
    for each in attempts:
        result = "" if each["outcome"] == "SEND_OK" else _SHORT.get(each["outcome"], each["outcome"])
        seconds = f"{each['ended_at_ms'] // 1000}.{each['ended_at_ms'] % 1000:03}"
        who = (each["client_id"], each["producer_group"], each["topic"], each["broker_name"], each["mode"][0])
        switch = int(each["fault_latency_enabled"])
        table.writerow([seconds, each["latency_ms"], *who, result, each["cause"], each["seq"], switch])
    return write(folder, {"sends.txt": text.getvalue().encode()})


def _parquet(folder: Path, attempts: Sequence[Attempt]) -> Path:
    codes = {"SEND_OK": "0", "RemotingTimeoutException": "1", "SENT": "2"}
    ended = [dt.datetime.fromtimestamp(each["ended_at_ms"] / 1000, dt.UTC) for each in attempts]
    columns = {
        "finished": pa.array(ended, pa.timestamp("ms", tz="UTC")),
        "took": pa.array([each["latency_ms"] / 1000 for each in attempts], pa.float64()),
        "status": pa.array([codes.get(each["outcome"], each["outcome"]) for each in attempts]),
        "mode": pa.array([_NUMBERS[each["mode"]] for each in attempts], pa.int8()),
        "client": pa.array([{"id": each["client_id"], "group": each["producer_group"]} for each in attempts]),
    }
    same = ("topic", "broker_name", "seq", "fault_latency_enabled", "queue_id", "thread")
    columns |= {name: pa.array([each[name] for each in attempts]) for name in same}
    write_parquet(folder, "part-0.parquet", columns)
    return folder


def _text(folder: Path, attempts: Sequence[Attempt]) -> Path:
    lines = [
        f"{_iso(each['ended_at_ms'])} INFO [{each['client_id']} {each['producer_group']}] {each['topic']} ->"
        f" {each['broker_name']}/{'' if each['queue_id'] is None else each['queue_id']} {each['mode'].lower()}"
        f" no={each['seq']} {each['latency_ms']} ms: {_SHORT.get(each['outcome'], each['outcome'])}"
        + (f" ({each['cause']})" if each["cause"] else "")
        for each in attempts
    ]
    return write(folder, {"sends.log.1.gz": gzip.compress("\n".join(lines).encode())})


def _iso(epoch_ms: int) -> str:
    day = dt.datetime.fromtimestamp(epoch_ms / 1000, dt.UTC)
    return day.isoformat(timespec="milliseconds").replace("+00:00", "Z")


SHAPES: Mapping[str, Shape] = {
    "json": ((*_ALWAYS, *_ALWAYS_TOO, "queue_id"), _json),
    "csv": ((*_ALWAYS, *_ALWAYS_TOO, "cause"), _csv),
    "parquet": ((*_ALWAYS, *_ALWAYS_TOO, "queue_id", "thread"), _parquet),
    "text": ((*_ALWAYS, *_ALWAYS_TOO, "queue_id", "cause"), _text),
}
"""Name of an example to the canonical fields that its log carries, and what writes it below a folder."""
