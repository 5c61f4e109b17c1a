"""Settings and command lines that somebody may give: right, nearly right, and hostile."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from jobs.sources.send_fields import FIELDS
from tests.fuzz import hostile
from tests.fuzz.mutations import spoilt_bytes
from tests.fuzz.recordings import DATE

_VERSIONS = ("4.3.0", "4.7.1", "4.9.8", "5.1.3", "5.1.4", "5.3.3", "5.5.0")
_STRATEGIES = (
    *("AVG", "AVG_BY_CIRCLE", "CONFIG", "MACHINE_ROOM", "CONSISTENT_HASH"),
    *("MACHINE_ROOM_NEARBY-AVG", "MACHINE_ROOM_NEARBY-CONSISTENT_HASH"),
)
_NUMBERS = (0, 1, 7, 550, 30_000, hostile.INT_MAX, hostile.INT_MAX + 1, 3_000_000_000_000)  # nearly 100 years in ms
_GROUPS = ("g_avg_498", "g_order_498", "g_mix_498", "g_room_498", "%RETRY%g_avg_498")
_PRODUCERS = ("PG_4_7_1_oneway-on", "PG_4_7_1_short-on", "PG_5_3_3_selector-on", "127.0.0.1@v4.7.1-order-on")

Tree = Mapping[str, Any]


def right_settings(random: Random) -> dict[str, Any]:
    """Settings whose every value has the right type and makes sense, though it may be extreme."""
    top = {
        "cluster": _right_name(random),
        "max_bad_fraction": 1.0,
        "max_line_bytes": random.choice((1, 1_000, hostile.INT_MAX)),
        "event_slow_share": random.choice((0.0, 1e-9, 0.5, 1.0)),
        "event_gap_ms": random.choice((1, 10_000, 86_400_000)),
        "event_slow_producers": random.choice((1, 10_000)),
        "avoided_too_long_ms": random.choice((1, 10_000)),
        "slow_ms": random.choice(_NUMBERS[1:]),
        "max_staleness_ms": random.choice(_NUMBERS[1:]),
    }
    tree: dict[str, Any] = {key: top[key] for key in random.sample(sorted(top), 3)} | {"max_bad_fraction": 1.0}
    tree["producers"] = {random.choice((*_PRODUCERS, _right_name(random))): _producer(random) for _ in range(3)}
    tree["groups"] = {random.choice((*_GROUPS, _right_name(random))): _group(random) for _ in range(3)}
    return tree


def wrong_settings(random: Random) -> bytes:
    """TOML that need not be right: other values, other keys, or other bytes."""
    tree = right_settings(random)
    for _ in range(random.randint(1, 3)):
        holder: dict[str, Any] = random.choice([tree, *tree["producers"].values(), *tree["groups"].values()])
        key = (
            random.choice(
                (*holder, "inputs", "spark", "retention", "client_logs", "lake", "date", hostile.name(random))
            )
            if holder
            else "x"
        )
        holder[key] = random.choice(
            (hostile.value(random), {hostile.name(random): hostile.value(random)}, right_settings(random))
        )
        tree.setdefault("producers", {}), tree.setdefault("groups", {})
        for name in ("producers", "groups"):
            if not isinstance(tree[name], dict) or not all(isinstance(value, dict) for value in tree[name].values()):
                tree[name] = {}
    text = as_toml(tree).encode("utf-8", "surrogatepass")
    return spoilt_bytes(random, text) if random.random() < 0.3 else text


def as_toml(tree: Tree) -> str:
    """The tree with inline tables only, so that no order of tables matters."""
    return "\n".join(f"{_text(key)} = {_toml(value)}" for key, value in tree.items()) + "\n"


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_text(key)} = {_toml(of)}' for key, of in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return "'null'" if value is None else _text(value)


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def command_line(random: Random, lake: str) -> list[str]:
    """A command that starts no Spark, with options that may be wrong."""
    command = random.choice(_COMMANDS)
    arguments = [*command, "--lake", lake if random.random() < 0.5 else argument(random)]
    if random.random() < 0.7:
        arguments += ["--date", str(DATE)]
    for _ in range(random.randint(0, 4)):
        option = random.choice(_OPTIONS)
        arguments += [option] if option in _FLAGS else [option, random.choice((argument(random), assignment(random)))]
    if random.random() < 0.1:
        arguments.insert(random.randint(0, len(arguments)), argument(random))
    return [each for each in arguments if each not in {"-v", "--verbose"}]


def assignment(random: Random) -> str:
    """What may follow `--set`."""
    field = random.choice(sorted(FIELDS))
    keys = (
        *("cluster", "max_bad_fraction", "inputs.sends.path", "inputs.sends.format", "spark.master", "date", "lake"),
        *("slow_ms", f"inputs.sends.fields.{field}", "producers.a.latency_max_ms", 'groups."a.b".strategy'),
    )
    values = (argument(random), str(hostile.number(random)), "true", "[1, 2]", "{a=1}")
    return random.choice((*keys, argument(random))) + random.choice(("=", "=", "=", "", " = ")) + random.choice(values)


def argument(random: Random) -> str:
    """A text that an operating system can hand over: no NUL, and what is not UTF-8 as Python shows it."""
    return os.fsdecode(hostile.name(random).replace("\x00", "").encode("utf-8", "surrogatepass"))


_COMMANDS: Sequence[tuple[str, ...]] = (
    *(("plan", command) for command in ("nightly", "fault-latency", "allocation", "nothing")),
    *(("show", what) for what in ("findings", "events", "isolations", "sends", "owners", "rebalances", "nothing")),
    ("report", "--output", "report.html"),
    ("plan",),
    ("nothing",),
    (),
)
_FLAGS = ("--json", "--allow-empty", "--no-cascade", "--help", "--csv")
_OPTIONS = (
    *("--date", "--from", "--to", "--set", "--set", "--sends", "--routes", "--consumers", "--running-info"),
    *(
        "--client-logs",
        "--settings",
        "--fail-on",
        "--cluster",
        "--broker",
        "--producer",
        "--group",
        "--topic",
        "--kind",
    ),
    *("--severity", "--cause", "--outcome", "--source", "--queue", "--at", "--limit", *_FLAGS),
)


def _right_name(random: Random) -> str:
    while True:
        name = hostile.name(random)
        if name.isprintable() and name.strip() == name and name:
            return name


def _producer(random: Random) -> dict[str, Any]:
    ladder = sorted(random.choice(_NUMBERS) for _ in range(random.randint(0, 4)))
    full = {
        "client_version": random.choice(_VERSIONS),
        "fault_latency_enabled": random.choice((True, False)),
        "detector_enabled": random.choice((True, False)),
        "queue_chosen_by": random.choice(("CLIENT", "CALLER")),
        "one_line_per": random.choice(("attempt", "call")),
        "send_timeout_ms": random.choice(_NUMBERS[1:]),
    }
    some: dict[str, Any] = {key: full[key] for key in random.sample(sorted(full), 2)}
    if random.random() < 0.5:
        some |= {
            "latency_max_ms": ladder,
            "not_available_ms": [random.choice(_NUMBERS) for _ in range(random.randint(0, 4))],
        }
    return some


def _group(random: Random) -> dict[str, Any]:
    full = {
        "strategy": random.choice(_STRATEGIES),
        "machine_rooms": [_right_name(random) for _ in range(random.randint(0, 2))],
        "broker_room": random.choice(("^([^@]*)", "()", "(a*)*b", "(.)\\1")),
        "client_room": random.choice(("^([^-]*)", "(x)?")),
        "virtual_nodes": random.choice((-1, 0, 1, 10, 1_000)),
        "client_charset": random.choice(("UTF-8", "latin-1", "gbk", "utf-16")),
        "client_version": random.choice(_VERSIONS),
        "queues": [["broker-c", random.choice((0, 4, -1, hostile.INT_MAX))]],
        "topics": ["T_main_498", _right_name(random)],
        "message_model": random.choice(("CLUSTERING", "BROADCASTING")),
        "client_rebalance": random.choice((True, False)),
        "pop_share_queue_num": random.choice((-1, 0, 1, hostile.INT_MAX)),
        "clients": {_right_name(random): {"strategy": random.choice(_STRATEGIES)}},
    }
    return {key: full[key] for key in random.sample(sorted(full), random.randint(1, 5))}
