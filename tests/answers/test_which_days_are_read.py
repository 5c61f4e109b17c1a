"""What is opened of a lake: cluster and days, what is said when there is none, and rows that come in pieces."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from deltalake.exceptions import DeltaError

from jobs.answers import delta_table
from jobs.answers.delta_table import place_of
from jobs.answers.published import open_published
from jobs.answers.runs import unsure_days
from jobs.errors import InputMissingError, LakeError
from jobs.tables import RUN_LOG, SENDS
from tests.given.lakes import publish, write_rows

DAYS = [dt.date(2026, 3, 1) + dt.timedelta(days=number) for number in range(12)]
D1, D2, D3, D4 = DAYS[:4]
OPENED = dt.datetime(2026, 3, 9, 12, tzinfo=dt.UTC)


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Four days of one cluster, written out of order."""
    folder = tmp_path_factory.mktemp("lake")
    publish(folder, D3, D1, D4, D2)
    return str(folder)


@pytest.mark.parametrize(
    ("first", "last", "days"),
    [
        (None, None, (D4,)),
        (D2, None, (D2,)),
        (None, D2, (D2,)),
        (D2, D3, (D2, D3)),
        (D1, D4, (D1, D2, D3, D4)),
        (dt.date(2026, 2, 1), dt.date(2027, 1, 1), (D1, D2, D3, D4)),
    ],
)
def test_the_days_that_are_asked_for(
    lake: str, first: dt.date | None, last: dt.date | None, days: tuple[dt.date, ...]
) -> None:
    found = open_published(lake, None, first, last)
    assert (found.cluster, found.days, found.all_days) == ("main", days, (D1, D2, D3, D4))


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (3, "there is 2026-03-01, 2026-03-02, 2026-03-03"),
        (10, f"there is {', '.join(f'2026-03-{day:02}' for day in range(1, 11))}"),
        (11, f"there is {', '.join(f'2026-03-{day:02}' for day in range(2, 12))} and 1 earlier days"),
        (12, f"there is {', '.join(f'2026-03-{day:02}' for day in range(3, 13))} and 2 earlier days"),
    ],
)
def test_the_last_ten_days_are_named_when_none_is_asked_for(tmp_path: Path, count: int, said: str) -> None:
    publish(tmp_path, *DAYS[:count])
    with pytest.raises(InputMissingError) as missing:
        open_published(str(tmp_path), None, dt.date(2025, 1, 1), None)
    assert str(missing.value).endswith(f"; {said}")
    assert str(missing.value).startswith("nothing of 2025-01-01 is published for cluster 'main' in ")


def run(status: str, cluster: str = "main", *, day: dt.date = D1, flow: str = "FAULT_LATENCY") -> dict[str, Any]:
    return {"event_date": day, "cluster": cluster, "flow": flow, "status": status, "logged_at": OPENED}


def test_a_day_that_no_run_finished_is_not_published(tmp_path: Path) -> None:
    write_rows(tmp_path, RUN_LOG, [run("STARTED"), run("FAILED", "other")])
    with pytest.raises(InputMissingError, match=r"^no day is published in .*; run faultline nightly first$"):
        open_published(str(tmp_path), None, None, None)
    write_rows(tmp_path, RUN_LOG, [run("SUCCEEDED"), run("STARTED", day=D2)])
    assert open_published(str(tmp_path), None, None, None).all_days == (D1,)


def test_each_flow_of_a_day_has_its_own_last_run(tmp_path: Path) -> None:
    """The second flow succeeds; that says nothing of the first."""
    rows = [run("SUCCEEDED"), run("STARTED"), run("SUCCEEDED", flow="ALLOCATION")]
    write_rows(tmp_path, RUN_LOG, [row | {"event_seq": number} for number, row in enumerate(rows, 1)])
    assert unsure_days(open_published(str(tmp_path), None, None, None)) == (D1,)


@pytest.mark.parametrize("statuses", [("STARTED", "SUCCEEDED"), ("SUCCEEDED", "STARTED")])
def test_of_events_at_one_time_the_success_came_last(tmp_path: Path, statuses: tuple[str, ...]) -> None:
    """A file holds them in any order."""
    write_rows(tmp_path, RUN_LOG, [run(status) for status in statuses])
    assert unsure_days(open_published(str(tmp_path), None, None, None)) == ()


def test_the_first_rows_are_first_over_all_files(tmp_path: Path) -> None:
    """Each file holds one of the first three; those of other days, clusters and brokers do not count."""
    publish(tmp_path, D1, D2)
    for latencies in ((50, 10), (20, 60, 70), (40, 30)):
        write_rows(tmp_path, SENDS, [{"event_date": D1, "broker_name": "a", "latency_ms": each} for each in latencies])
    others = ({"event_date": D2}, {"event_date": D1, "cluster": "other"}, {"event_date": D1, "broker_name": "b"})
    write_rows(tmp_path, SENDS, [{"broker_name": "a", "latency_ms": 1, **each} for each in others])
    opened = open_published(str(tmp_path), None, D1, None)
    of_broker = pc.field("broker_name") == pc.scalar("a")
    for limit, first in ((3, [10, 20, 30]), (6, [10, 20, 30, 40, 50, 60]), (9, [10, 20, 30, 40, 50, 60, 70])):
        rows, found = opened.first_rows(SENDS, ["latency_ms"], limit, of_broker, lambda rows: rows)
        assert (rows["latency_ms"].to_pylist(), found) == (first, 7)
        assert rows.column_names == SENDS.schema.fieldNames()
    assert opened.first_rows(SENDS, ["latency_ms"], 1, None, lambda rows: rows)[1] == 8
    assert opened.rows(SENDS, ["latency_ms"], of_broker, [D2])["latency_ms"].to_pylist() == [1]


@pytest.mark.parametrize("version", ["0", "99", None])
def test_a_table_of_any_other_version_is_not_read(tmp_path: Path, version: str | None) -> None:
    publish(tmp_path, D1)
    write_rows(tmp_path, SENDS, [{"event_date": D1}])
    log = tmp_path / "sends/_delta_log" / f"{0:020}.json"
    property_of = f'"faultline.tableVersion":"{SENDS.version}"'
    text = log.read_text()
    assert property_of in text
    log.write_text(text.replace(property_of, f'"faultline.tableVersion":"{version}"' if version else '"other":"1"'))
    with pytest.raises(
        LakeError, match=rf"^table sends in .* has version {version}, this program reads {SENDS.version};"
    ):
        open_published(str(tmp_path), None, None, None).rows(SENDS, ["topic"])


@pytest.mark.parametrize("where", ["file://{}", "{}/", "file://{}/"])
def test_a_lake_is_found_by_uri_and_with_a_slash(lake: str, where: str) -> None:
    assert open_published(where.format(lake), None, None, None).days == (D4,)


@pytest.mark.parametrize(
    ("root", "place"),
    [
        ("/lake/", "/lake/sends"), ("file:///lake", "/lake/sends"), ("file:///la%20ke/", "/la ke/sends"),
        ("s3://bucket/lake/", "s3://bucket/lake/sends"), ("s3://bucket/lake", "s3://bucket/lake/sends"),
    ],
)  # fmt: skip
def test_a_local_table_is_a_folder_however_the_lake_is_named(root: str, place: str) -> None:
    """A URI would be read by delta-rs from Arrow's threads."""
    assert place_of(root, SENDS) == place


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (DeltaError("\x1b[31mGeneric S3 error\x1b[0m:\n  no   bucket"), "Generic S3 error: no bucket"),
        (pa.ArrowInvalid("not Parquet"), "not Parquet"),
        (PermissionError(13, "Permission denied"), "[Errno 13] Permission denied"),
        (OSError(""), "OSError"),
        (OSError("x" * 301), "x" * 300),
    ],
)
def test_what_a_store_says_is_a_line_of_the_error(
    lake: str, monkeypatch: pytest.MonkeyPatch, error: Exception, reason: str
) -> None:
    opened = open_published(lake, None, None, None)

    def fails(*_: object, **_options: object) -> None:
        raise error

    monkeypatch.setattr(delta_table, "DeltaTable", fails)
    with pytest.raises(LakeError) as caught:
        opened.rows(SENDS, ["topic"])
    assert str(caught.value) == f"cannot read table sends in {lake}: {reason}"
    monkeypatch.setattr(fails, "is_deltatable", fails, raising=False)
    with pytest.raises(LakeError) as caught:
        open_published(lake, None, None, None)
    assert str(caught.value) == f"cannot open lake {lake}: {reason}"
