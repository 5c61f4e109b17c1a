"""A kept night: the folder that `make lab` writes, and what its applications saw themselves.

deeds.jsonl                                what was done and when
producers/<app>/sends, fault_item_updates  what the recorder wrote
watched/<app>/<life>/truth_calls.jsonl     what each call gave its caller, and truth_answers.jsonl its callback
watched/<app>/<life>/truth_updates.jsonl   what another hand saw clients decide; without it the recorder's lines
listeners/<consumer>.jsonl                 what the consumer's MessageQueueListener was called with
client_logs/<consumer>/                    the consumers' own logs
snapshots/                                 what `faultline collect` wrote
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import deltalake

from tests.given.driven_client import text_of, whole_lines
from tests.given.spans import Spans, length_ms, union
from tests.lab import judge
from tests.lab.deeds import AT_CONSUMERS, Deed, DeedKind, read_deeds
from tests.lab.judge import Fault, Producer, Queue

Rows = list[dict[str, Any]]
AGREEMENT = 0.9999
_SLOW_MS = 600


def settings_toml(client_version: str, time_zone: str) -> str:
    """What a site would write of the lab: the release of its consumers, and the zone of their logs."""
    return (
        'cluster = "lab"\n\n[client_logs."client_logs/*"]\n'
        f'client_version = "{client_version}"\ntime_zone = "{time_zone}"\n'
    )


class Night:
    """What is in the folder, and the tables made of it."""

    def __init__(self, folder: Path, lake: Path) -> None:
        self._folder, self._lake = folder, lake

    def commands(self, settings: Path, first_day: str, last_day: str) -> list[list[str]]:
        """What publishes the night and compares its replay with what clients decided; words of the command line."""
        usual = ["--settings", str(settings), "--lake", str(self._lake), "--from", first_day, "--to", last_day]
        inputs = {
            "--sends": "producers/*/sends/*", "--fault-item-updates": "producers/*/fault_item_updates/*",
            "--consumers": "snapshots/consumers", "--routes": "snapshots/routes",
            "--running-info": "snapshots/running_info", "--client-logs": "client_logs",
        }  # fmt: skip
        paths = [word for option, path in inputs.items() for word in (option, str(self._folder / path))]
        return [["nightly", *usual, *paths], ["verify", *usual]]

    @cached_property
    def deeds(self) -> list[Deed]:
        """In order of time."""
        return read_deeds(self._folder / "deeds.jsonl")

    @cached_property
    def sends(self) -> dict[str, Rows]:
        """The recorded attempts by application."""
        return {app.name: _lines_below(app / "sends") for app in sorted((self._folder / "producers").iterdir())}

    @cached_property
    def producers(self) -> list[Producer]:
        """Each client id, from its first attempt to its last."""
        found = []
        for app, rows in self.sends.items():
            for client in sorted({row["client_id"] for row in rows}):
                own = [row for row in rows if row["client_id"] == client]
                isolating = [row for row in own if row["fault_latency_enabled"] and _can_isolate(row)]
                ends = [row["ended_at_ms"] for row in own]
                version = own[0]["client_version"]
                troubles: dict[str, list[int]] = defaultdict(list)
                for row in isolating:
                    if row["outcome"] != "SEND_OK" or row["latency_ms"] >= _SLOW_MS:
                        troubles[row["broker_name"]].append(row["ended_at_ms"])
                found.append(Producer(client, app, version, bool(isolating), min(ends), max(ends), troubles))
        return found

    @property
    def attempts(self) -> dict[str, list[int]]:
        """By broker, when attempts of producers that may isolate it started, in order."""
        starts: dict[str, list[int]] = defaultdict(list)
        for rows in self.sends.values():
            for row in rows:
                if _can_isolate(row):
                    starts[row["broker_name"]].append(row["started_at_ms"])
        return {broker: sorted(of_broker) for broker, of_broker in starts.items()}

    def table(self, name: str) -> Rows:
        """The published rows."""
        rows: Rows = deltalake.DeltaTable(str(self._lake / name)).to_pyarrow_table().to_pylist()
        return rows

    @cached_property
    def isolated(self) -> dict[tuple[str, str], Spans]:
        """What clients held isolated, by client id and broker: after each decision until the end that the item had."""
        spans: dict[tuple[str, str], Spans] = {}
        for app in self.sends:
            decisions: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
            for client, broker, at_ms, end_ms in self._watched(app) or self._recorded(app):
                decisions[client, broker].append((at_ms, end_ms))
            for item, of_item in decisions.items():
                nexts = [*(at_ms for at_ms, _ in of_item[1:]), of_item[-1][1]]
                pairs = zip(of_item, nexts, strict=True)
                spans[item] = union((at_ms, min(end_ms, next_ms)) for (at_ms, end_ms), next_ms in pairs)
        return spans

    @cached_property
    def seen_bad(self) -> dict[str, list[int]]:
        """By broker, when another hand than the recorder's saw an attempt there that failed or was slow.

        A client with the switch on decided then that the broker is not available. An application with the switch off
        logged a lost send; the broker is the one that the recorder names at that time.
        """
        times: dict[str, list[int]] = defaultdict(list)
        for app, rows in self.sends.items():
            for _, broker, at_ms, end_ms in self._watched(app):
                if end_ms > at_ms:
                    times[broker].append(at_ms)
            for row in rows:
                is_bad = not row["fault_latency_enabled"] and row["outcome"] not in {"SEND_OK", "SENT"}
                if is_bad and any(abs(at_ms - row["ended_at_ms"]) < judge.NEAR_MS for at_ms in self.failures[app]):
                    times[row["broker_name"]].append(row["ended_at_ms"])
        return times

    def _watched(self, app: str) -> list[tuple[str, str, int, int]]:
        """Client id, broker, time and end of each decision that another hand than the recorder's saw."""
        return [
            (row["client_id"], row["broker_name"], row["updated_at_ms"], row["available_at_ms"] or 0)
            for file in self._watched_files(app, "truth_updates")
            for row in _lines(file)
        ]

    def _recorded(self, app: str) -> list[tuple[str, str, int, int]]:
        """The same by the recorder."""
        return [
            (row["client_id"], row["broker_name"], row["at_ms"], row.get("available_at_ms") or 0)
            for row in sorted(_lines_below(self._folder / "producers" / app / "fault_item_updates"), key=_seq)
            if row["op"] != "PICKED"
        ]

    def _watched_files(self, app: str, name: str) -> list[Path]:
        return sorted((self._folder / "watched" / app).glob(f"*/{name}.jsonl"))

    @cached_property
    def failures(self) -> dict[str, list[int]]:
        """Ends of the failed sends that each application logged, ms."""
        return {app: [row["at_ms"] for row in rows if row["error"]] for app, rows in self._app_logs.items()}

    @property
    def out_of_time(self) -> dict[str, int]:
        """How many of them were out of time, perhaps before their first attempt."""
        return {
            app: sum(row["error"] == "RemotingTooMuchRequestException" for row in rows)
            for app, rows in self._app_logs.items()
        }

    @cached_property
    def lost(self) -> dict[str, list[int]]:
        """Ends of the failed sends that are published of each application, ms, from the begin of its log on."""
        apps = {producer.client_id: producer.app for producer in self.producers}
        since_ms = {app: min(row["at_ms"] for row in rows) - judge.SHORT_MS for app, rows in self._app_logs.items()}
        lost: dict[str, list[int]] = {app: [] for app in self._app_logs}
        for row in self.table("send_calls"):
            app = apps[row["client_id"]]
            if row["failed"] and row["end_ms"] >= since_ms[app]:
                lost[app].append(row["end_ms"])
        return lost

    @cached_property
    def _app_logs(self) -> dict[str, Rows]:
        return {
            app: [
                row
                for name in ("truth_calls", "truth_answers")
                for file in self._watched_files(app, name)
                for row in _lines(file)
            ]
            for app in self.sends
        }

    @property
    def groups(self) -> dict[str, str]:
        """Client id of each consumer to its group."""
        files = (self._folder / "listeners").glob("*.jsonl")
        return {row["client_id"]: row["consumer_group"] for file in files for row in _lines(file)}

    @property
    def owners(self) -> dict[tuple[str, Queue], Spans]:
        """Who held which queue, by client id, until its listener said otherwise or the consumer was gone."""
        ends = {
            name: deed.end_ms
            for deed in self.deeds
            if deed.kind in AT_CONSUMERS and deed.kind != DeedKind.CONSUMER_JOINS
            for name in deed.names
        }
        spans: dict[tuple[str, Queue], Spans] = defaultdict(list)
        for file in sorted((self._folder / "listeners").glob("*.jsonl")):
            by_topic: dict[tuple[str, str], Rows] = defaultdict(list)
            for row in _lines(file):
                by_topic[row["client_id"], row["topic"]].append(row)
            for (client, topic), rows in by_topic.items():
                nexts = [*(row["at_ms"] for row in rows[1:]), ends.get(file.stem, self.deeds[-1].end_ms)]
                for row, next_ms in zip(rows, nexts, strict=True):
                    for broker, queue_id in row["queues"]:
                        spans[client, (topic, broker, queue_id)].append((row["at_ms"], next_ms))
        return {key: union(of_queue) for key, of_queue in spans.items()}

    def faults(self) -> Iterator[Fault]:
        """What the tables miss, invent, or have wrong."""
        tables = {name: self.table(name) for name in ("isolation_intervals", "events", "findings")}
        yield from judge.missed_isolations(self.deeds, self.producers, tables["isolation_intervals"])
        yield from judge.missed_events(self.deeds, self.attempts, tables["events"])
        yield from judge.wrong_isolations(self.isolated, tables["isolation_intervals"], self.producers, AGREEMENT)
        yield from judge.wrong_losses(self.failures, self.out_of_time, self.lost, self.deeds)
        yield from judge.losses_without_event(self.table("send_calls"))
        yield from judge.invented_events(self.deeds, self.seen_bad, tables["events"])
        yield from judge.invented_findings(self.deeds, self.producers, tables["findings"])
        yield from judge.missed_restarts(self.deeds, tables["findings"])
        yield from judge.disagreeing_replays(self.table("replay_checks"), self.producers)
        groups, owners = self.table("allocation_findings"), self.owners
        yield from judge.missed_rebalances(self.deeds, self.table("rebalances"), self.within)
        yield from judge.invented_rebalances(self.deeds, self.table("rebalances"))
        yield from judge.wrong_owners(owners, self.table("queue_ownership"), self.deeds, self.within, 0.99)
        yield from judge.invented_owner_findings(owners, self.groups, self.deeds, groups)
        yield from judge.invented_group_findings(self.deeds, groups)
        events = self.table("group_events")
        yield from judge.missed_group_events(self.deeds, events, self.within)
        yield from judge.invented_group_events(self.deeds, events)
        troubles = [{**event, "basis": "OBSERVED"} | queue for event in events for queue in event["queues"]]
        yield from judge.invented_owner_findings(owners, self.groups, self.deeds, troubles)

    @cached_property
    def within(self) -> tuple[int, int]:
        """From the first answer about members to the last, ms."""
        times = [row["captured_at_ms"] for row in _lines_below(self._folder / "snapshots" / "consumers")]
        return min(times), max(times)

    def summary(self) -> Iterator[str]:
        """What was compared, in numbers."""
        attempts = sum(map(len, self.sends.values()))
        yield f"{len(self.deeds)} deeds, {attempts} attempts of {len(self.producers)} producers"
        isolated_ms = sum(map(length_ms, self.isolated.values()))
        yield f"clients isolated brokers for {isolated_ms / 1_000:.1f} s and owned {len(self.owners)} queues in turn"
        for app, failures in self.failures.items():
            yield f"{app} logged {len(failures)} failed sends, {len(self.lost[app])} are published"
        for name in ("events", "findings", "rebalances", "group_events", "allocation_findings"):
            yield f"{name}: {len(self.table(name))} rows"
        for row in judge.events_without_deed(self.deeds, self.table("events")):
            yield f"without a deed: an event of {row['brokers']}, {row['kind']} from {row['bad_from_ms']}"
        for row in self.table("replay_checks"):
            if row["differing_ms"]:
                yield (
                    f"verify: {row['writer']} {row['broker_name']} {row['differing_ms']} of {row['isolated_ms']} ms"
                    f" differ, {row['cause']}"
                )


def _can_isolate(row: dict[str, Any]) -> bool:
    return row["queue_chosen_by"] == "CLIENT" and row["mode"] in {"SYNC", "ASYNC"}


def _seq(row: dict[str, Any]) -> tuple[str, str, int]:
    return row["client_id"], row["process_id"], row["seq"]


def _lines_below(folder: Path) -> Rows:
    """Lines of all files, those of a process in the order of their writing."""
    return [row for file in sorted(folder.glob("*.jsonl*")) for row in _lines(file)]


def _lines(file: Path) -> Rows:
    return whole_lines(text_of(file))
