"""`faultline verify` on a lake: a producer, or a log, for each way in which a client and the replay agree or do not."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from jobs.cli import main as cli
from tests.given.recorded_lines import attempt, change, of, update
from tests.given.site import D1, D2, Site, at, published_rows, write_lines

FAILED, REFUSED = "RemotingTimeoutException", "MQBrokerException"
NOON = at(D1, "12:00:00")
SENDS = [
    *of("alike", attempt(NOON, 1, REFUSED)),
    *of("too-old", attempt(NOON, 1, FAILED), version="3.6.2"),
    *of("off", attempt(NOON, 1, FAILED, fault_latency_enabled=False)),
    *of("off", attempt(NOON, 1, producer_group="a group of its own, switched on")),
    *of("other-version", attempt(NOON, 1, FAILED), version="4.9.8"),
    *of("own-ladder", attempt(NOON, 1, latency_ms=700)),
    *of("torn", attempt(NOON, 1), attempt(NOON + 2_000, 4)),
    *of("hidden", attempt(NOON, 1, REFUSED)),
    *of("removed", attempt(NOON, 1, REFUSED), version="4.9.8"),
    *of("unexplained", attempt(NOON, 1)),
    *of("not-written", attempt(NOON, 1, REFUSED), attempt(NOON + 100, 3)),
    *of("without-record", attempt(NOON, 1, REFUSED)),
    *of("logs", attempt(NOON, 1, REFUSED)),
    *of("logs-by-settings", attempt(NOON, 1, REFUSED)),
    *of("logs-other-version", attempt(NOON, 1)),
    *of("logs-own-ladder", attempt(NOON, 1, latency_ms=700)),
    *of("logs-lost", attempt(NOON, 1, REFUSED)),
    *of("logs-too-early", attempt(NOON, 1, REFUSED), version="4.9.8"),
    # An isolation lasts at midnight.
    *of("late", attempt(at(D1, "23:59:59"), 1, FAILED), attempt(at(D2, "00:00:03"), 3), version="4.9.8"),
    *of("next-day", attempt(at(D2, "12:00:00"), 1)),
    *of("elsewhere", attempt(at(D2, "12:00:00"), 1, cluster="north")),
]
FLAG: dict[str, Any] = {"reachable": True}
UPDATES = [
    *of("alike", update(NOON + 1, 2, 10_000, **FLAG)),
    *of("no-sends", update(NOON + 1, 2, 10_000, **FLAG)),
    *of("too-old", update(NOON + 1, 2, 10_000, **FLAG)),
    *of("off", update(NOON + 1, 2, 10_000, **FLAG)),
    *of("other-version", update(NOON + 1, 2, 10_000, **FLAG)),
    *of("own-ladder", update(NOON, 2, 7_000, latency_ms=700, **FLAG)),
    *of("torn", update(NOON, 2, **FLAG), update(NOON + 2_000, 5, 10_000, **FLAG)),
    # An update that no send shows, half a second after one that does.
    *of("hidden", update(NOON + 1, 2, 10_000, **FLAG), update(NOON + 501, 3, 10_000, **FLAG)),
    *of("removed", update(NOON + 1, 2, 600_000), change("REMOVE", NOON + 2_001, 3)),
    *of("unexplained", update(NOON + 1, 2, 10_000, **FLAG)),
    *of("not-written", update(NOON, 2, **FLAG), update(NOON + 100, 4, **FLAG)),
    *of("late", update(at(D1, "23:59:59.001"), 2, 600_000), update(at(D2, "00:00:03.001"), 4)),
]


def log_line(clock: str, message: str) -> str:
    """A line of a client from 5.1 on, which writes GMT+8; noon here is 20:00."""
    return f"2026-03-01 {clock} INFO  [1] [main] [o.a.r.c.l.MQFaultStrategy#?:?] - {message}\n"


def instance(client_id: str, version: str = "V5_3_3", clock: str = "20:00:00.000") -> str:
    return log_line(
        clock,
        f"Created a new client Instance, InstanceIndex:0, ClientID:{client_id}, ClientConfig:ClientConfig [a=b],"
        f" ClientVersion:{version}, SerializerType:JSON",
    )


def isolated(ms: int = 10_000, clock: str = "20:00:00.000", broker: str = "broker-a") -> str:
    return log_line(clock, f"{broker} will be isolated for {ms} ms.")


UNREACHABLE = "broker-a is unreachable, it will not be used until it's reachable"
LOGS = {
    # It named itself the day before, in a file that was rolled since.
    "alike/rocketmq_client-2026-02-28.log": instance("logs").replace("2026-03-01", "2026-02-28"),
    "alike/rocketmq_client.log": log_line("20:00:00.000", UNREACHABLE) + isolated(clock="20:00:00.100"),
    "app-1/rocketmq_client.log": log_line("20:00:00.000", UNREACHABLE) + isolated(),
    "other-version/rocketmq_client.log": instance("logs-other-version", "V5_1_4") + isolated(),
    "own-ladder/rocketmq_client.log": instance("logs-own-ladder") + isolated(7_000),
    "lost/rocketmq_client.log": instance("logs-lost") + log_line("20:00:00.000", UNREACHABLE),
    "too-early/rocketmq_client.log": instance("logs-too-early", "unknown") + isolated(),
    "no-sends/rocketmq_client.log": instance("logs-no-sends") + isolated(),
    "nobody/rocketmq_client.log": isolated()
    + isolated(1, "23:59:59.999", "broker-b")
    + log_line("20:00:00.000", "broker-c will be isolated for ever ms.")
    + log_line("20:00:00.000", "the consumer [CG] start beginning.")
    + "java.lang.Exception: of no entry of its own\n",
}


@pytest.fixture(scope="module")
def site(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Site:
    made = Site(spark, tmp_path_factory.mktemp("verify"))
    made.log(SENDS)
    write_lines(made.folder / "fault_item_updates" / "updates.jsonl", UPDATES)
    made.run(D1, D2)
    for name, text in LOGS.items():
        file = made.folder / "logs" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    (made.folder / "site.toml").write_text(
        f'max_bad_fraction = 0.2\n[client_logs."{made.folder}/logs/app-1"]\nclient_id = "logs-by-settings"\n'
    )
    return made


def called(site: Site, *arguments: str, code: int = 0, capsys: pytest.CaptureFixture[str]) -> str:
    """The answer that the command prints, if any, and the last line of its stderr, if any."""
    settings = ("--settings", f"{site.folder}/site.toml")
    assert cli.main(["verify", "--lake", str(site.lake), *settings, *arguments]) == code
    said = capsys.readouterr()
    return "\n".join([said.out, *said.err.strip().splitlines()[-1:]])


def checks(site: Site, source: str) -> dict[str, tuple[Any, ...]]:
    """Of the first day: written, replayed, matched, of another length, missed, extra, differing ms and cause."""
    names = ("written", "replayed", "matched", "other_length", "missed", "extra", "differing_ms", "cause")
    rows = published_rows(site.lake / "replay_checks", [], {"source": source, "event_date": D1})
    return {
        f"{row['writer'].removeprefix(f'{site.folder}/logs/')} {row['broker_name'][-1]}": tuple(row[n] for n in names)
        for row in rows
    }


@dataclass(frozen=True)
class Verified:
    """What a run with logs answered and published, as it was before any other test ran."""

    answer: dict[str, Any]
    recorded: dict[str, tuple[Any, ...]]
    logged: dict[str, tuple[Any, ...]]
    clients: list[dict[str, Any]]
    run_log: list[dict[str, Any]]
    quarantine: list[dict[str, Any]]


@pytest.fixture(scope="module")
def verified(site: Site, spark: SparkSession) -> Verified:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("jobs.spark.session.open_session", lambda *_, **__: spark)
        patch.setattr(spark, "stop", lambda: None)
        printed: list[str] = []
        patch.setattr("jobs.cli.verify.print", lambda text, **_: printed.append(text), raising=False)
        logs = ("--client-logs", f"{site.folder}/logs", "--settings", f"{site.folder}/site.toml")
        assert cli.main(["verify", "--lake", str(site.lake), "--date", str(D1), *logs, "--json"]) == 0
    counts = ["rows_read", "rows_published", "rows_quarantined", "rows_other_day"]
    return Verified(
        json.loads(printed[-1]),
        checks(site, "RECORDED"),
        checks(site, "CLIENT_LOG"),
        published_rows(site.lake / "replay_checks", ["writer", "client_ids"], {"source": "CLIENT_LOG"}),
        published_rows(site.lake / "run_log", counts, {"flow": "VERIFY", "status": "SUCCEEDED"}),
        published_rows(site.lake / "quarantine", ["reason", "line", "raw"], {"source": "fault_item_logs"}),
    )


def test_each_recorded_producer_agrees_or_differs_for_its_reason(verified: Verified) -> None:
    assert verified.recorded == {
        "alike a": (1, 1, 1, 0, 0, 0, 0, None),
        "no-sends a": (1, 0, 0, 0, 1, 0, 0, "NO_SENDS"),
        "too-old a": (1, 0, 0, 0, 1, 0, 0, "NOT_REPLAYED"),
        "off a": (1, 0, 0, 0, 1, 0, 10_000, "OTHER_SWITCH"),
        "other-version a": (1, 1, 0, 1, 0, 0, 590_000, "OTHER_VERSION"),
        "own-ladder a": (1, 1, 0, 1, 0, 0, 5_000, "OTHER_LADDER"),
        "torn a": (1, 0, 0, 0, 1, 0, 10_000, "LOST_LINES"),
        "hidden a": (2, 1, 1, 0, 1, 0, 500, "WITHOUT_EFFECT"),
        "removed a": (1, 1, 1, 0, 0, 0, 597_999, "REMOVED_ITEM"),
        "unexplained a": (1, 0, 0, 0, 1, 0, 10_000, "UNEXPLAINED"),
        "not-written a": (0, 1, 0, 0, 0, 1, 10_000, "UNEXPLAINED"),
        "late a": (1, 1, 1, 0, 0, 0, 0, None),
    }


def test_each_log_agrees_or_differs_for_its_reason(site: Site, verified: Verified) -> None:
    assert verified.logged == {
        "alike/rocketmq_client.log a": (2, 2, 2, 0, 0, 0, 200, None),
        "app-1/rocketmq_client.log a": (2, 2, 2, 0, 0, 0, 0, None),
        "other-version/rocketmq_client.log a": (1, 0, 0, 0, 1, 0, 10_000, "OTHER_VERSION"),
        "own-ladder/rocketmq_client.log a": (1, 1, 0, 1, 0, 0, 5_000, "OTHER_LADDER"),
        "lost/rocketmq_client.log a": (1, 2, 1, 0, 0, 1, 10_000, "LOST_LINES"),
        "too-early/rocketmq_client.log a": (1, 0, 0, 0, 1, 0, 10_000, "OTHER_VERSION"),
        "no-sends/rocketmq_client.log a": (1, 0, 0, 0, 1, 0, 10_000, "NO_SENDS"),
        "nobody/rocketmq_client.log a": (1, 0, 0, 0, 1, 0, 10_000, "UNKNOWN_CLIENT"),
        "nobody/rocketmq_client.log b": (1, 0, 0, 0, 1, 0, 1, "UNKNOWN_CLIENT"),
    }
    clients = {row["writer"].removeprefix(f"{site.folder}/logs/"): row["client_ids"] for row in verified.clients}
    assert clients["app-1/rocketmq_client.log"] == ["logs-by-settings"]
    assert clients["alike/rocketmq_client.log"] == ["logs"]
    assert clients["nobody/rocketmq_client.log"] == []


def test_the_answer_adds_up(verified: Verified) -> None:
    answer, rows = verified.answer, [*verified.recorded.values(), *verified.logged.values()]
    names = ("written", "matched", "other_length", "missed", "extra", "differing_ms")
    assert [answer[name] for name in names] == [sum(row[place] for row in rows) for place in (0, 2, 3, 4, 5, 6)]
    assert (answer["log_lines"], answer["bad_lines"]) == (19, 1)
    assert (answer["switched_on"], answer["recorded"]) == (18, 9)
    assert sum(answer["causes"].values()) == sum(row[-1] is not None for row in rows)
    assert answer["causes"]["UNEXPLAINED"] == 2
    writes = [sum(each[name] for name in ("missed", "extra", "other_length")) for each in answer["worst"]]
    assert (writes, answer["worst"][0]["writer"]) == ([1] * 10, "other-version")


def test_logs_without_use_are_named(site: Site, verified: Verified) -> None:
    assert [note.replace(f"{site.folder}/logs/", "") for note in verified.answer["notes"]] == [
        "client logs: no line of alike/rocketmq_client-2026-02-28.log is of these days in cluster 'main'",
        (
            "client logs: nothing to compare no-sends/rocketmq_client.log, nobody/rocketmq_client.log with"
            " (UNKNOWN_CLIENT, NO_SENDS, NOT_REPLAYED)"
        ),
    ]


def test_lines_of_logs_are_counted_and_bad_ones_are_in_quarantine(verified: Verified) -> None:
    assert verified.run_log == [{"rows_read": 19, "rows_published": 17, "rows_quarantined": 1, "rows_other_day": 1}]
    assert [(row["reason"], row["line"]) for row in verified.quarantine] == [("log_line_breaks_off", 3)]
    assert "broker-c will be isolated for ever ms." in verified.quarantine[0]["raw"]


@pytest.mark.usefixtures("same_session")
def test_a_run_again_without_logs_keeps_what_was_recorded(
    site: Site, verified: Verified, capsys: pytest.CaptureFixture[str]
) -> None:
    """A condition that holds ends it with its code, after the tables are published."""
    conditions = ("--fail-on", "unexplained", "--fail-on", "differing>8")
    text = called(site, "--date", str(D1), *conditions, code=7, capsys=capsys)
    assert text.endswith("\nfaultline: --fail-on held: unexplained 2, differing 9; the tables are published")
    assert checks(site, "RECORDED") == verified.recorded
    assert checks(site, "CLIENT_LOG") == {}
    assert published_rows(site.lake / "quarantine", ["reason"], {"source": "fault_item_logs"}) == []
    assert "of 12 writes replayed alike" in text
    for line in ("off (PG)", "OTHER_SWITCH (1): it isolates", "9 of 18 producers with the switch on recorded nothing"):
        assert line in text


@pytest.mark.usefixtures("same_session", "verified")
def test_what_cannot_be_compared_is_refused(site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    north = ("--date", str(D2), "--cluster", "north")
    assert "nothing to compare with: lake" in called(site, *north, code=3, capsys=capsys)
    assert "has no sends of it" in called(site, "--date", "2026-03-09", code=3, capsys=capsys)
    assert "no file in" in called(site, "--date", str(D2), "--client-logs", str(tmp_path), code=3, capsys=capsys)
    sentence = called(site, *north, "--fail-on", "incident", code=2, capsys=capsys)
    assert "faultline: --fail-on 'incident' is not a condition; give differing, unexplained, or one" in sentence
    assert cli.main(["verify", "--lake", str(tmp_path / "none"), "--date", str(D1)]) == 3
    assert "holds no published day; run faultline nightly first" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()


@pytest.mark.usefixtures("same_session", "verified")
def test_a_cluster_is_compared_with_its_own_evening_and_its_own_lines(
    site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A log is of cluster main, whose clients alone may have written it."""
    log = tmp_path / "rocketmq_client.log"
    log.write_text(isolated().replace("2026-03-01", "2026-03-02"), encoding="utf-8")
    (tmp_path / "site.toml").write_text(f'lake = "{site.lake}"\n')
    logs = ("verify", "--settings", str(tmp_path / "site.toml"), "--date", str(D2), "--client-logs", str(log))

    def compared(*columns: str) -> list[dict[str, Any]]:
        return published_rows(site.lake / "replay_checks", ["cluster", "writer", *columns], {"event_date": D2})

    assert cli.main([*logs, "--cluster", "north"]) == 0
    assert compared() == [{"cluster": "north", "writer": str(log)}]
    assert cli.main([*logs, "--cluster", "south"]) == 3
    assert "name another with --cluster: 'main', 'north'" in capsys.readouterr().err
    assert cli.main([*logs]) == 0  # the lake that settings name stays beside logs that an option names
    assert compared("differing_ms", "cause") == [
        {"cluster": "main", "writer": str(log), "differing_ms": 10_000, "cause": "UNKNOWN_CLIENT"},
        {"cluster": "main", "writer": "late", "differing_ms": 1, "cause": None},
    ]
