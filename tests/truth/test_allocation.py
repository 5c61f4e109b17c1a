"""Published allocations, owners and findings against what real consumers held, polled inside their processes."""

from __future__ import annotations

import datetime as dt
import io
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest
from allocation_agreement import RECORDINGS, agreement
from ownership_agreement import TOLERANCE_MS, ownership_agreement
from pyspark.sql import SparkSession
from result_lines import results_agreement

from jobs.allocation.run import run_allocation
from jobs.runs.run import Run
from jobs.settings.load import load_settings
from jobs.text.progress import Progress

pytestmark = pytest.mark.usefixtures("generated_code")
Row = dict[str, Any]
DAY = dt.date(2026, 11, 21)
EXACTNESS = Path(__file__).parents[2] / "docs/exactness.md"
PLANTED = {"QUEUE_DOES_NOT_EXIST": "g_config", "DUPLICATE_CLIENT_ID": "g_dup", "NOT_SUBSCRIBED": "g_orphan"}
"""Causes that were planted in one group only."""
NOT_STARTED = {"4.7.1-mini": {"g_config", "g_orphan"}}
"""Groups of which a recording started no consumer, so that nothing was planted in them."""
EXPLAINED = {
    ("4.7.1-mini", 55): {},
    ("4.7.1-mini", 25): {"STALE_ROUTE": 8, "LOCK_NOT_GRANTED": 6, "DUPLICATE_CLIENT_ID": 3},
    ("4.9.8", 55): {"QUEUE_DOES_NOT_EXIST": 92},
    ("4.9.8", 25): {
        "QUEUE_DOES_NOT_EXIST": 116, "LOCK_NOT_GRANTED": 8, "OFFSET_RESET": 3, "STALE_ROUTE": 9,
        "DUPLICATE_CLIENT_ID": 6, "CLIENT_SILENT": 50,
    },
    ("5.3.3", 55): {"QUEUE_DOES_NOT_EXIST": 92},
    ("5.3.3", 25): {"QUEUE_DOES_NOT_EXIST": 116, "LOCK_NOT_GRANTED": 6},
}  # fmt: skip
"""Recording and for how many seconds nothing had changed: samples that differ, by the published cause."""
DIFFERING = {
    ("4.7.1-mini", 55): {},
    ("4.7.1-mini", 25): {"g_avg_471m": 3, "g_circle_471m": 3, "g_dup_471m": 3, "g_order_471m": 6, "g_uni_471m": 2},
    ("4.9.8", 55): {"g_config_498": 92},
    ("4.9.8", 25): {
        "g_avg_498": 5, "g_bcast_498": 8, "g_chash_498": 5, "g_circle_498": 5, "g_config_498": 116, "g_dup_498": 3,
        "g_dupch_498": 3, "g_mix_498": 3, "g_near_498": 5, "g_order_498": 13, "g_orphan_498": 6, "g_room_498": 5,
        "g_rw_498": 5, "g_two_498": 10,
    },
    ("5.3.3", 55): {"g_config_533": 92},
    ("5.3.3", 25): {"g_config_533": 116, "g_order_533": 6},
}  # fmt: skip
"""The same samples, by group."""
NOT_DETERMINABLE = {
    ("5.3.3", 55): {"g_pop_533": 102, "g_brk_533": 261},
    ("5.3.3", 25): {"g_pop_533": 220, "g_brk_533": 482, "g_orphan_533": 1},
}
"""Samples for which no owner is published, by group; no other recording has any. The brokers of g_pop and g_brk assign,
and settings do not say in which mode. g_orphan's one is from before a broker, whose subscription table flips between
the members, named the topic."""
_MEMBERS, _QUEUES = "members that no capture shows", "queues that no capture shows"
RESULT_LINES = {
    "4.7.1-mini": (159, {_MEMBERS: 38, _QUEUES: 5}),
    "4.9.8": (617, {_MEMBERS: 84, _QUEUES: 9}),
    "5.3.3": (755, {_MEMBERS: 39, "OFFSET_UNKNOWN": 2, "REBALANCE_NOT_RUN": 1}),
}
"""Lines of each recording that match, and why the others do not."""


@pytest.fixture(scope="module", params=["4.7.1-mini", "4.9.8", "5.3.3"])
def published(request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake with the recording's day; its last part is the recording's name."""
    name: str = request.param
    recording, lake = RECORDINGS / name, tmp_path_factory.mktemp("lake") / name
    paths = {
        f"inputs.{kind}.path": [str(recording / f"{kind}.jsonl.gz")] for kind in ("consumers", "routes", "running_info")
    }
    logs = {"inputs.client_logs.path": [str(recording / "client_logs")], "lake": str(lake)}
    version = name.removesuffix("-mini")
    settings = load_settings(
        [recording / "groups.toml"], [f'client_logs."client_logs".client_version="{version}"'], {**paths, **logs}
    )
    run = Run("truth", "allocation", (DAY,), False, True, lambda: dt.datetime(2026, 11, 22, tzinfo=dt.UTC))
    run_allocation(spark, settings, run, Progress(io.StringIO()))
    return lake


@pytest.mark.parametrize("quiet_s", [55, 25])
def test_what_is_allocated_is_what_is_held(published: Path, quiet_s: int, capsys: pytest.CaptureFixture[str]) -> None:
    found = agreement(RECORDINGS / published.name, published, quiet_ms=quiet_s * 1_000)
    total = found.matched + found.explained
    samples = sum(total.values()) + len(found.unexplained)
    with capsys.disabled():
        print(
            f"\n{published.name}, unchanged for {quiet_s} s: matched {sum(found.matched.values())} / {samples},"
            f" explained {sum(found.explained.values())} {dict(found.causes)}, unexplained {len(found.unexplained)}"
            f" (not determinable: {dict(found.not_determinable)})"
        )
        for group, count in sorted(total.items()):
            print(f"  {group:<14}{found.matched[group]} / {count}")
    figures = f"{sum(found.matched.values())} / {samples} | {sum(found.explained.values())} | {len(found.unexplained)}"
    assert f"| {published.name} | {quiet_s} s | {figures} |" in EXACTNESS.read_text(encoding="utf-8")
    assert not found.unexplained, "\n".join(found.unexplained[:5])
    assert dict(found.causes) == EXPLAINED[published.name, quiet_s]
    assert dict(found.explained) == DIFFERING[published.name, quiet_s]
    assert dict(found.not_determinable) == NOT_DETERMINABLE.get((published.name, quiet_s), {})


def test_logs_tell_who_held_what(published: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = ownership_agreement(RECORDINGS / published.name, published)
    percent = 100 * found.matched / found.total
    with capsys.disabled():
        print(
            f"\n{published.name}, owners from client logs: matched {found.matched} / {found.total} ms x queues"
            f" ({percent:.3f} %), between last line and kill {found.killed}, unexplained {len(found.unexplained)}"
        )
    page = EXACTNESS.read_text(encoding="utf-8")
    assert f"| {published.name} | {percent:.3f} % |" in page
    assert f"Disagreement of at most {TOLERANCE_MS / 1000:g} s counts as agreement" in page
    assert not found.unexplained, "\n".join(found.unexplained[:5])


def test_clients_computed_the_same(published: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = results_agreement(RECORDINGS / published.name, published)
    with capsys.disabled():
        print(
            f"\n{published.name}, `rebalanced result changed` lines: matched {found.matched} / {found.total},"
            f" explained {dict(found.explained)}, unexplained {len(found.unexplained)}"
        )
    assert not found.unexplained, "\n".join(found.unexplained[:5])
    assert (found.matched, dict(found.explained)) == RESULT_LINES[published.name]


def test_the_page_states_how_many_lines_there_are() -> None:
    explained = sum((Counter(counts) for _, counts in RESULT_LINES.values()), Counter[str]())
    unseen = explained[_MEMBERS] + explained[_QUEUES]
    total = explained.total() + sum(matched for matched, _ in RESULT_LINES.values())
    page = " ".join(EXACTNESS.read_text(encoding="utf-8").split())
    assert f"`rebalanced result changed`, {total:,} lines) is what Faultline computes" in page
    assert f"rests on members or queues that no capture shows ({unseen})" in page
    assert f"or its cause is a published finding ({explained.total() - unseen})" in page


def test_planted_causes_are_named_where_they_were_planted(published: Path) -> None:
    rows = deltalake.DeltaTable(str(published / "allocation_findings")).to_pyarrow_table().to_pylist()
    events = deltalake.DeltaTable(str(published / "group_events")).to_pyarrow_table().to_pylist()
    rows += [{**queue, "consumer_group": event["consumer_group"]} for event in events for queue in event["queues"]]
    for cause, group in PLANTED.items():
        named = {row["consumer_group"].rsplit("_", 1)[0] for row in rows if row["cause"] == cause}
        assert all(each.startswith(group) for each in named), (cause, named)
        is_planted = group not in NOT_STARTED.get(published.name, set())
        assert bool(named) == is_planted, (cause, named)


def _tampered(published: Path, folder: Path, table: str, wrong: Callable[[Row], Row]) -> Path:
    """The same lake, but with `wrong` done to each row of one table."""
    lake = folder / published.name
    for name in (
        "queue_allocation",
        "queue_ownership",
        "allocation_findings",
        "group_events",
        "group_members",
        "topic_queues",
    ):
        told = deltalake.DeltaTable(str(published / name)).to_pyarrow_table()
        if name == table:
            told = pa.Table.from_pylist([wrong(row) for row in told.to_pylist()], schema=told.schema)
        deltalake.write_deltalake(str(lake / name), told)
    return lake


def test_an_owner_too_many_is_unexplained(published: Path, tmp_path: Path) -> None:
    """Every queue 1 is said to go to the one who gets queue 0: no cause is published for that."""
    owners = {
        (row["consumer_group"], row["topic"], row["broker_name"], row["view_broker_name"], row["start_ms"]): row
        for row in deltalake.DeltaTable(str(published / "queue_allocation")).to_pyarrow_table().to_pylist()
        if row["queue_id"] == 0
    }

    def to_the_first(row: Row) -> Row:
        names = ("consumer_group", "topic", "broker_name", "view_broker_name", "start_ms")
        first = owners.get(tuple(row[name] for name in names))
        return row | {"client_id": first["client_id"]} if first and row["queue_id"] == 1 else row

    lake = _tampered(published, tmp_path, "queue_allocation", to_the_first)
    assert agreement(RECORDINGS / published.name, lake, quiet_ms=55_000).unexplained
    assert results_agreement(RECORDINGS / published.name, lake).unexplained


def test_an_owner_too_late_is_unexplained(published: Path, tmp_path: Path) -> None:
    def late(row: Row) -> Row:
        return row | {"start_ms": min(row["start_ms"] + 2 * TOLERANCE_MS, row["end_ms"])}

    lake = _tampered(published, tmp_path, "queue_ownership", late)
    assert ownership_agreement(RECORDINGS / published.name, lake).unexplained
