"""A small site for tests of the second flow: lines of snapshots and a lake, driven through the program's own runs."""

from __future__ import annotations

import dataclasses
import datetime as dt
import gzip
import io
import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from jobs.allocation.run import run_allocation
from jobs.runs.run import Run, RunResult
from jobs.settings.inputs import FilesInput
from jobs.settings.load import load_settings
from jobs.settings.model import Settings
from jobs.text.progress import Progress
from tests.given.site import Line, published_rows, write_lines


def members(
    at_ms: int, client_ids: Sequence[str] | None, broker: str = "a", code: int | None = 0, **other: Any
) -> Line:
    """One broker's answer on who is in group G."""
    line = {"captured_at_ms": at_ms, "consumer_group": "G", "broker_name": broker, "broker_addr": f"{broker}:10911"}
    return line | {"code": code, "client_ids": None if client_ids is None else list(client_ids)} | other


def connection(at_ms: int, client_ids: Sequence[str], *topics: str, broker: str = "a", **other: Any) -> Line:
    """One broker's consumer connection of group G."""
    body = {
        "connectionSet": [{"clientId": each, "language": "JAVA", "version": 479} for each in client_ids],
        "messageModel": other.pop("message_model", "CLUSTERING"),
        "subscriptionTable": {topic: {"topic": topic} for topic in topics or ("T",)},
    }
    return members(at_ms, None, broker, **other) | {"body": json.dumps(body)}


def last_speaks_go(line: Line) -> Line:
    """The connection, its last client one of Go."""
    body = json.loads(line["body"])
    body["connectionSet"][-1]["language"] = "GO"
    return line | {"body": json.dumps(body)}


def route(at_ms: int, code: int | None = 0, topic: str = "T", **queues: int | tuple[int, int, int]) -> Line:
    """The name server's route: broker to number of queues, or to (read queues, write queues, permission)."""
    full = {name: of if isinstance(of, tuple) else (of, of, 6) for name, of in queues.items()}
    brokers = ",".join(f'{{"brokerAddrs":{{0:"{name}:10911"}},"brokerName":"{name}","cluster":"C"}}' for name in full)
    datas = [
        {"brokerName": name, "perm": perm, "readQueueNums": read, "writeQueueNums": write}
        for name, (read, write, perm) in full.items()
    ]
    body = f'{{"brokerDatas":[{brokers}],"queueDatas":{json.dumps(datas)}}}'
    return {"captured_at_ms": at_ms, "topic": topic, "code": code, "body": body if code == 0 else None}


def running_info(
    at_ms: int,
    client_id: str,
    strategy: str,
    held: Sequence[tuple[str, str, int]] = (("T", "a", 0),),
    topics: Iterable[str] = ("T",),
    dropped: Sequence[tuple[str, str, int]] = (),
    **other: Any,
) -> Line:
    """What a consumer of group G says of itself; a queue it holds (topic, broker, id) is an object used as a key."""
    properties = {"allocateMessageQueueStrategy": f"org.apache.rocketmq.client.consumer.rebalance.{strategy}@3db5fcc3"}
    table = ",".join(
        f'{{"brokerName":"{broker}","queueId":{queue_id},"topic":"{topic}"}}:{{"droped":{json.dumps(is_dropped)}}}'
        for queues, is_dropped in ((held, False), (dropped, True))
        for topic, broker, queue_id in queues
    )
    body = (
        f'{{"mqTable":{{{table}}},"subscriptionSet":{json.dumps([{"topic": each} for each in topics])},'
        f'"properties":{json.dumps(properties | other.pop("properties", {}))}}}'
    )
    line = {"captured_at_ms": at_ms, "consumer_group": "G", "client_id": client_id, "code": 0, "body": body}
    return line | other


class SnapshotSite:
    """A folder with `consumers/`, `routes/`, `running_info/` and `client_logs/` and a lake beside them."""

    def __init__(
        self, spark: SparkSession, folder: Path, settings: Settings | None = None, *, first_run: int = 1
    ) -> None:
        self._spark, self.folder, self.lake = spark, folder, folder / "lake"
        self._settings = settings or load_settings([], [], {})
        self._runs = itertools.count(first_run)

    def log(self, kind: str, lines: Iterable[Mapping[str, object]], file: str = "lines.jsonl") -> None:
        """Put the lines into a file of `consumers`, `routes` or `running_info`, in place of what it held."""
        write_lines(self.folder / kind / file, lines)

    def client_log(self, file: str, lines: Iterable[str]) -> None:
        """Put the lines into a file below `client_logs`, gzip by its name, in place of what it held."""
        path = self.folder / "client_logs" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        content = "".join(f"{line}\n" for line in lines).encode()
        path.write_bytes(gzip.compress(content) if file.endswith(".gz") else content)

    def run(self, *days: dt.date, **how: bool) -> RunResult:
        """Publish the days from all files."""
        inputs = dataclasses.replace(
            self._settings.inputs,
            consumers=FilesInput((str(self.folder / "consumers"),)),
            routes=FilesInput((str(self.folder / "routes"),)),
            running_info=self._if_any("running_info"),
            client_logs=self._if_any("client_logs"),
        )
        full = dataclasses.replace(self._settings, lake=str(self.lake), inputs=inputs)
        number = next(self._runs)
        call = Run(
            run_id=f"run-{number}", command="allocation", days=days, allow_empty=how.get("allow_empty", False),
            cascade=True, clock=lambda: dt.datetime(2026, 3, 5, 3, number, tzinfo=dt.UTC),
        )  # fmt: skip
        return run_allocation(self._spark, full, call, Progress(io.StringIO()))

    def _if_any(self, kind: str) -> FilesInput:
        folder = self.folder / kind
        return FilesInput((str(folder),)) if folder.is_dir() else getattr(self._settings.inputs, kind)

    def rows(self, table: str, *columns: str, **equal: object) -> list[dict[str, Any]]:
        """Rows of a published table as delta-rs reads them, the chosen columns, in the columns' order."""
        return published_rows(self.lake / table, columns, equal)
