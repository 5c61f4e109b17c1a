"""Topic routes, consumers' members, running info and client logs as a site's collector may have left them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any

from tests.fuzz import hostile, recordings
from tests.fuzz.mutations import as_json, spoilt_bytes, spoilt_fields, spoilt_json
from tests.fuzz.written import Entry, WrittenFile, is_log_entry, write_lines

JSON_KINDS = ("routes", "consumers", "running_info")
_NUMBER_IN_BODY = re.compile(r"(?<=[:,{\[])-?\d+(?=[,}\]:])")
_TEXT_IN_BODY = re.compile(r'(?<=")[^"{}:,]+(?=")')
_LOG_DATE = re.compile(rb"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")
_ODD_LOG_DATES = (
    *(b"2026-02-30 12:00:00", b"0000-00-00 00:00:00", b"9999-12-31 23:59:59", b"2026-11-21 24:00:00"),
    *(b"2026-11-21 23:59:60", b"2026-11-22 00:00:00", b"1969-12-31 23:59:59", b"2026-11-20 23:59:59"),
)


def json_file(random: Random, kind: str, folder: Path, mark: str, most: int, *, spoilt: float) -> WrittenFile:
    """A file of one of `JSON_KINDS`."""
    entries: list[Entry] = []
    for line in recordings.some(random, kind, most):
        if random.random() < 0.05:
            line["captured_at_ms"] += random.choice((-1, 1, 30)) * recordings.DAY_MS
        if random.random() < spoilt:
            entries.append(Entry(random.choice(_SPOILT)(random, line), is_clean=False))
        else:
            entries.append(Entry(as_json(line), is_clean=True))
    return write_lines(random, kind, folder / f"{kind}-{mark}{random.choice(('.jsonl', '.jsonl.gz', ''))}", entries)


def client_log(random: Random, folder: Path, mark: str, most: int, *, spoilt: float) -> WrittenFile:
    """A client log: entries, and the lines that go on with them."""
    recorded = recordings.lines("client_logs")
    told = [at for at, line in enumerate(recorded) if b"doRebalance" in line or b"the consumer [" in line]
    begin = max(0, random.choice(told) - random.randrange(most))
    entries = [Entry(recorded[begin], is_clean=True)]
    for line in recorded[begin : begin + most]:
        if random.random() < spoilt and (b" - " in line or random.random() < 0.2):
            entries.append(Entry(random.choice(_SPOILT_LOG)(random, line), is_clean=False))
        else:
            entries.append(Entry(line, is_clean=True))
        if random.random() < 0.05:
            entries.append(Entry(b"\tat org.apache.rocketmq.client.impl.Any.any(Any.java:1)", is_clean=True))
    name = random.choice(("rocketmq_client.log", "rocketmq_client.log.gz", "rocketmq_client-2026-11-21-1.log.gz"))
    return write_lines(
        random, "client_logs", folder / f"{random.choice(('J', 'a b', '集群'))}{mark}" / name, entries, is_log_entry
    )


def _number_in_body(random: Random, line: Mapping[str, Any]) -> bytes:
    return _in_body(line, lambda body: _NUMBER_IN_BODY.sub(
        lambda found: json.dumps(hostile.number(random)) if random.random() < 0.2 else found[0], body))  # fmt: skip


def _text_in_body(random: Random, line: Mapping[str, Any]) -> bytes:
    return _in_body(line, lambda body: _TEXT_IN_BODY.sub(
        lambda found: json.dumps(hostile.name(random))[1:-1] if random.random() < 0.1 else found[0], body))  # fmt: skip


def _bytes_in_body(random: Random, line: Mapping[str, Any]) -> bytes:
    return _in_body(line, lambda body: spoilt_bytes(random, body.encode("utf-8", "replace")).decode("utf-8", "replace"))


def _tree_in_body(random: Random, line: Mapping[str, Any]) -> bytes:
    """One value somewhere in a body of strict JSON becomes any other."""

    def spoil(value: Any) -> Any:
        if random.random() < 0.05:
            return hostile.value(random)
        if isinstance(value, dict) and value:
            return (
                spoilt_fields(random, value) if random.random() < 0.1 else {key: spoil(of) for key, of in value.items()}
            )
        if isinstance(value, list) and value:
            spoilt = [spoil(each) for each in value]
            return spoilt * random.choice((1, 1, 1, 2, 40)) if random.random() < 0.2 else spoilt
        return value

    def in_tree(body: str) -> str:
        try:
            return json.dumps(spoil(json.loads(re.sub(r"([{,])(\d+):", r'\1"\2":', body))))
        except ValueError:  # running info has objects for keys
            return body.replace("false", random.choice(("true", "null", '"false"', "0", "[]")), random.randint(1, 5))

    return _in_body(line, in_tree)


def _in_body(line: Mapping[str, Any], change: Callable[[str], str]) -> bytes:
    if isinstance(line.get("body"), str):
        return as_json({**line, "body": change(line["body"])})
    return as_json({**line, "client_ids": [change(each) for each in line.get("client_ids") or ["a@1", "a@1"]]})


def _other_body(random: Random, line: Mapping[str, Any]) -> bytes:
    body = random.choice((*_BODIES, hostile.nested(600), hostile.nested(5_000)))
    return as_json({**line, "code": random.choice((0, 0, 0, 1, 17, 206, None, -1)), "body": body})


_BODIES = (
    *("", "null", "{}", "[]", "7", '""', "{", "{{{}}}", '{"a":}', "\u0000", "{}{}", '{"queueDatas":[]}'),
    '{"queueDatas":[null]}',
    '{"queueDatas":[{}],"brokerDatas":[{}]}',
    '{"queueDatas":[{"brokerName":null,"readQueueNums":1,"writeQueueNums":1,"perm":6}],"brokerDatas":null}',
    '{"queueDatas":[{"brokerName":"b","perm":6}],"brokerDatas":[null,{"brokerName":"b","brokerAddrs":null}]}',
    '{"connectionSet":[null,{},{"clientId":null},{"clientId":""}],"subscriptionTable":{"":null}}',
    '{"connectionSet":{},"subscriptionTable":[]}',
    '{"properties":{},"mqTable":{}}',
    '{"properties":null,"mqTable":{{}:{}}}',
    '{"properties":{"a":{}},"mqTable":{"a":null},"subscriptionSet":[null,{}]}',
    '{"properties":{},"mqTable":{{"brokerName":"a","queueId":"x","topic":"T"}:{"droped":1}},"mqPopTable":[]}',
)
_SPOILT: tuple[Callable[[Random, Mapping[str, Any]], bytes], ...] = (
    spoilt_json, spoilt_json, _number_in_body, _text_in_body, _bytes_in_body, _tree_in_body, _tree_in_body, _other_body,
)  # fmt: skip


def _odd_date(random: Random, line: bytes) -> bytes:
    return _LOG_DATE.sub(random.choice(_ODD_LOG_DATES), line)


def _odd_name(random: Random, line: bytes) -> bytes:
    found = re.search(rb"(?<==)[^,\]\s]+", line)
    name = hostile.name(random).encode("utf-8", "replace")
    return line if found is None else line[: found.start()] + name + line[found.end() :]


def _odd_number(random: Random, line: bytes) -> bytes:
    return re.sub(rb"(?<=[=:])\d+", lambda _: str(hostile.number(random)).encode(), line)


_SPOILT_LOG: tuple[Callable[[Random, bytes], bytes], ...] = (
    spoilt_bytes, _odd_date, _odd_name, _odd_name, _odd_number,
    lambda random, line: line + random.choice((b"\r", b" - ", b"x" * 1_100_000, b"\x00", line)),
    lambda random, line: line * random.choice((2, 30)),
)  # fmt: skip
