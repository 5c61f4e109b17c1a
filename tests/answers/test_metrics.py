"""`faultline export metrics`: what is known of the last night as gauges, and what is not known left out."""

from __future__ import annotations

import datetime as dt
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from prometheus_client.parser import text_string_to_metric_families

from jobs.answers.metrics import GAUGES, export_metrics
from jobs.cli.call import Call
from jobs.cli.export import export
from jobs.errors import InputMissingError, LakeError, UsageError
from tests.given.lakes import EPOCH, LiteralLake, publish
from tests.given.site import D1, D2, D3, START

NORTH = {"cluster": "north"}
FIRST, SECOND = "FAULT_LATENCY", "ALLOCATION"
D2_S, D3_S = START[D2] / 1_000, START[D3] / 1_000


def _logged(flow: str, status: str, seq: int, at_s: float, **other: object) -> dict[str, object]:
    """A row of the run log; `at_s` is epoch seconds."""
    at = EPOCH + dt.timedelta(seconds=at_s)
    return NORTH | {"flow": flow, "status": status, "event_seq": seq, "logged_at": at, "run_id": "r1", **other}


def _read(file: Path) -> dict[str, float]:
    """Sample, as `name label=value …` without `faultline_`, to its value; each has help and is a gauge."""
    families = list(text_string_to_metric_families(file.read_text(encoding="utf-8")))
    assert {family.type for family in families} <= {"gauge"}
    assert all(family.documentation for family in families)
    return {
        " ".join([sample.name.removeprefix("faultline_"), *(f"{key}={value}" for key, value in sample.labels.items())]):
        sample.value
        for family in families
        for sample in family.samples
    }  # fmt: skip


def _written(lake: Path) -> dict[str, float]:
    file = lake / "night.prom"
    export_metrics(str(lake), file)
    return _read(file)


def _of(samples: dict[str, float], name: str) -> dict[str, float]:
    return {each: value for each, value in samples.items() if each.split()[0] == name}


@pytest.fixture
def lake(tmp_path: Path) -> LiteralLake:
    return LiteralLake(tmp_path)


def _first_flow(lake: LiteralLake) -> None:
    """North's second day: 3 lost sends, isolations of 5 s and 1.5 s by two producers and by one."""
    read = {"rows_published": 90, "rows_quarantined": 4, "rows_duplicate": 3, "rows_other_day": 2}
    lake.add("run_log", D2, _logged(FIRST, "STARTED", 1, D3_S + 100),
             _logged(FIRST, "SUCCEEDED", 2, D3_S + 160.25, rows_other_cluster=1, **read))  # fmt: skip
    producer = NORTH | {"producer_group": "g1", "enforced": True, "switch_assumed": False}
    lake.add("producer_days", D2, *(producer | {"client_id": name} for name in ("p1", "p2")))
    minute = NORTH | {"window_start_ms": START[D2], "sends": 5}
    lake.add("broker_windows", D2,
             minute | {"broker_name": "b1", "isolated_ms": 3_000}, minute | {"broker_name": "b0"},
             minute | {"broker_name": "b1", "isolated_ms": 2_000, "window_start_ms": START[D2] + 60_000},
             minute | {"broker_name": 'b"\\\n', "isolated_ms": 1_500})  # fmt: skip
    held = NORTH | {"enforced": True, "producer_group": "g1"}
    lake.add("isolation_intervals", D2, *(
        held | {"client_id": who, "broker_name": broker, "start_ms": START[D2], "end_ms": START[D2] + long_ms}
        for who, broker, long_ms in (("p1", "b1", 2_500), ("p2", "b1", 2_500), ("p1", 'b"\\\n', 1_500))))  # fmt: skip
    call = NORTH | {"attempts": 1, "producer_group": "g1"}
    lake.add("send_calls", D2, *[call | {"failed": True}] * 3, call | {"slow": True})
    trouble = NORTH | {"broker_name": "b1", "brokers": ["b1"], "bad_from_ms": START[D2]}
    lake.add("events", D2, *(
        trouble | {"event_id": f"e{number}", "severity": severity}
        for number, severity in enumerate(("CRITICAL", "WARNING", "WARNING"))))  # fmt: skip
    found = NORTH | {"kind": "ALL_ISOLATED", "cause": "ALL_ISOLATED", "start_ms": START[D2], "end_ms": START[D2] + 1}
    lake.add("findings", D2, *(
        found | {"severity": severity, "event_id": event}
        for severity, event in (("CRITICAL", "e0"), ("CRITICAL", None), ("INFO", "e1"))))  # fmt: skip


def test_what_the_digest_and_the_run_log_say_of_a_night_is_in_base_units(lake: LiteralLake) -> None:
    _first_flow(lake)
    odd = 'broker=b"\\\n'
    assert _written(lake.folder) == {
        "day_timestamp_seconds cluster=north": D2_S,
        f"last_success_timestamp_seconds cluster=north flow={FIRST}": D3_S + 160.25,
        f"flow_duration_seconds cluster=north flow={FIRST}": 60.25,
        **{
            f"rows cluster=north disposition={where} flow={FIRST}": rows
            for where, rows in (
                ("published", 90), ("quarantined", 4), ("duplicate", 3), ("other_day", 2), ("other_cluster", 1))
        },
        "sends_lost cluster=north": 3,
        "events cluster=north severity=CRITICAL": 1,
        "events cluster=north severity=WARNING": 2,
        "events cluster=north severity=INFO": 0,
        "findings cluster=north severity=CRITICAL": 2,
        "findings cluster=north severity=WARNING": 0,
        "findings cluster=north severity=INFO": 1,
        "brokers cluster=north": 3,
        "isolation_seconds cluster=north": 6.5,
        "broker_isolation_seconds broker=b1 cluster=north": 5,
        f"broker_isolation_seconds {odd} cluster=north": 1.5,
        "broker_isolation_seconds broker=b0 cluster=north": 0,
        "broker_isolating_producers broker=b1 cluster=north": 2,
        f"broker_isolating_producers {odd} cluster=north": 1,
        "broker_isolating_producers broker=b0 cluster=north": 0,
    }  # fmt: skip


def test_a_flow_that_did_not_run_has_no_figures(lake: LiteralLake) -> None:
    """Of each flow alone; a success of another day is the last one, but no figure of this one."""
    lake.add("run_log", D1, _logged(FIRST, "SUCCEEDED", 1, D2_S, rows_published=9))
    lake.add("run_log", D2, _logged(SECOND, "SUCCEEDED", 3, D3_S, rows_published=7))
    lake.add("allocation_findings", D2, NORTH)
    said = _written(lake.folder)
    assert {name.split()[0] for name in said} == {
        "day_timestamp_seconds", "last_success_timestamp_seconds", "rows", "group_events", "group_findings",
    }  # fmt: skip
    assert _of(said, "last_success_timestamp_seconds") == {
        f"last_success_timestamp_seconds cluster=north flow={FIRST}": D2_S,
        f"last_success_timestamp_seconds cluster=north flow={SECOND}": D3_S,
    }
    assert _of(said, "rows") == {f"rows cluster=north disposition=published flow={SECOND}": 7}
    assert (said["group_events cluster=north"], said["group_findings cluster=north"]) == (0, 1)


@pytest.mark.parametrize(
    ("producers", "is_known"),
    [
        ([], False),
        ([{"switch_assumed": True}, {"not_replayed": "CLIENT_VERSION_UNKNOWN"}], False),
        ([{"switch_assumed": True}, {"enforced": False}], True),
    ],
    ids=["no producer", "none that is known", "one that is known to be off"],
)
def test_isolation_is_not_0_where_no_producer_says_its_switch(
    lake: LiteralLake, producers: list[dict[str, object]], *, is_known: bool
) -> None:
    publish(lake.folder, D2)
    lake.add("broker_windows", D2, {"broker_name": "b1", "sends": 1, "window_start_ms": START[D2]})
    lake.add("producer_days", D2, *({"switch_assumed": False, **each} for each in producers))
    said = _written(lake.folder)
    isolation = {name for name in said if "isolat" in name}
    assert isolation == ({
        "isolation_seconds cluster=main", "broker_isolation_seconds broker=b1 cluster=main",
        "broker_isolating_producers broker=b1 cluster=main",
    } if is_known else set())  # fmt: skip
    assert said["sends_lost cluster=main"] == 0


def test_rows_of_a_recomputed_day_are_those_of_the_run_that_read_them(lake: LiteralLake) -> None:
    _first_flow(lake)
    again = {"run_id": "r2", "command": "recompute"}
    lake.add("run_log", D2, _logged(FIRST, "STARTED", 3, D3_S + 500, **again),
             _logged(FIRST, "SUCCEEDED", 4, D3_S + 530, **again))  # fmt: skip
    said = _written(lake.folder)
    assert said[f"rows cluster=north disposition=quarantined flow={FIRST}"] == 4
    assert said[f"flow_duration_seconds cluster=north flow={FIRST}"] == 30


def test_a_clock_that_was_set_back_gives_no_duration(lake: LiteralLake) -> None:
    lake.add("run_log", D2, _logged(FIRST, "STARTED", 1, D3_S + 9), _logged(FIRST, "SUCCEEDED", 2, D3_S))
    assert _of(_written(lake.folder), "flow_duration_seconds") == {}


def test_each_cluster_has_its_own_last_day(lake: LiteralLake) -> None:
    publish(lake.folder, D1, D2, cluster="north")
    publish(lake.folder, D1, cluster="east")
    name = "day_timestamp_seconds"
    assert _of(_written(lake.folder), name) == {f"{name} cluster=north": D2_S, f"{name} cluster=east": D2_S - 86_400}


def test_a_site_of_thousands_of_brokers_has_as_many_series_as_the_page_says(lake: LiteralLake) -> None:
    _first_flow(lake)
    lake.add("run_log", D2, _logged(SECOND, "STARTED", 3, D3_S), _logged(
        SECOND, "SUCCEEDED", 4, D3_S, rows_published=1, rows_quarantined=0, rows_duplicate=0, rows_other_day=0,
        rows_other_cluster=0))  # fmt: skip
    lake.add("broker_windows", D2, *(
        NORTH | {"broker_name": f"broker-{number}", "isolated_ms": 10_000 + number, "window_start_ms": START[D2]}
        for number in range(3_000)))  # fmt: skip
    said = _written(lake.folder)
    longest = _of(said, "broker_isolation_seconds")
    assert longest.keys() == {f"broker_isolation_seconds broker=broker-{number} cluster=north"
                              for number in range(2_950, 3_000)}  # fmt: skip
    assert (len(said), said["brokers cluster=north"]) == (126, 3_003)
    assert {name.split()[0] for name in said} == set(GAUGES)
    page = Path(__file__).parents[2] / "docs/alerts.md"
    assert "at most 126 series for a cluster" in page.read_text(encoding="utf-8")


@pytest.fixture
def umask() -> Iterator[None]:
    before = os.umask(0o077)
    yield
    os.umask(before)


@pytest.mark.usefixtures("umask")
def test_node_exporter_may_read_the_file_and_never_sees_half_of_it(lake: LiteralLake, tmp_path: Path) -> None:
    _first_flow(lake)
    folder = tmp_path / "textfile"
    folder.mkdir()
    file = folder / "faultline.prom"
    file.write_text("of yesterday", encoding="utf-8")
    with file.open(encoding="utf-8") as reader:
        export_metrics(str(lake.folder), file)
        assert reader.read() == "of yesterday"
    assert (stat.S_IMODE(file.stat().st_mode), [each.name for each in folder.iterdir()]) == (0o644, [file.name])


def _asked(*arguments: str) -> Result:
    return CliRunner().invoke(export, ["metrics", *arguments], obj=Call(lambda: EPOCH), catch_exceptions=True)


@pytest.mark.usefixtures("own_folder")
def test_the_command_says_what_it_wrote_and_what_is_doubtful(lake: LiteralLake, tmp_path: Path) -> None:
    publish(lake.folder, D1, D2)
    lake.add("run_log", D2, {"flow": FIRST, "status": "FAILED", "run_id": "r2", "event_seq": 9})
    done = _asked("--lake", str(lake.folder), "--out", "night.prom")
    assert done.stdout.startswith(f"wrote night.prom: {D2}, cluster main: ")
    assert f" the last run of {D2} has not succeeded: " in done.stdout
    assert _read(tmp_path / "night.prom")["day_timestamp_seconds cluster=main"] == D2_S


@pytest.mark.usefixtures("own_folder")
def test_a_mistake_is_one_sentence_and_the_old_file_stays(lake: LiteralLake, tmp_path: Path) -> None:
    there = ("--lake", str(lake.folder))
    (tmp_path / "old.prom").write_text("old", encoding="utf-8")
    for arguments, error, sentence in (
        ((*there, "--out", "old.prom"), InputMissingError, "no day is published in"),
        (("--lake", "nowhere", "--out", "old.prom"), LakeError, "is not a lake"),
    ):
        failed = _asked(*arguments).exception
        assert isinstance(failed, error)
        assert sentence in str(failed)
    publish(lake.folder, D1)
    for name in ("site.toml", "night"):  # it would take the place of settings, or never be read
        failed = _asked(*there, "--out", name).exception
        assert str(failed) == f"{name} would not be read by node exporter; end its name in .prom"
    failed = _asked(*there, "--out", "old.prom", "--since", f"{D1}").exception
    assert str(failed) == f"--since {D1} is for export duckdb; export metrics is of the last night; leave it out"
    failed = _asked(*there, "--out", "no/folder.prom").exception
    assert isinstance(failed, UsageError)
    assert str(failed) == (
        "no/folder.prom cannot be written: No such file or directory; name a file in a folder that takes it"
    )
    assert (tmp_path / "old.prom").read_text(encoding="utf-8") == "old"
