"""Two drivers at once on S3 whose commits take two seconds to arrive: nothing that was acknowledged is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.given.corrected_day import by_day
from tests.given.site import D1, D2
from tests.stores.night import ends, rows_in, run_log_of, write_settings
from tests.stores.programs import WarmProgram, program
from tests.stores.s3 import S3, spark_settings
from tests.stores.slow_commits import slow_commits

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3_600), pytest.mark.fault(27)]  # whole programs: `make test-stores`


def test_of_two_drivers_one_waits_or_exits_5_and_no_commit_is_lost(
    s3: S3, expected: dict[str, list[str]], warm: WarmProgram, tmp_path: Path
) -> None:
    lake, direct = f"{s3.uri}/delayed", spark_settings(s3.port)
    straight = write_settings(tmp_path / "straight.toml", lake, f"{s3.uri}/night", direct)
    with slow_commits(s3.port) as proxy:
        slowly = write_settings(tmp_path / "slowly.toml", lake, f"{s3.uri}/night", spark_settings(proxy.server_port))
        with program(tmp_path / "first", "fault-latency", "--date", D1, "--settings", slowly) as first:
            assert proxy.first.wait(300)
            second = ("fault-latency", "--date", D2, "--settings", straight)
            refused = ends(warm, 5, *second)
            assert f"lake {lake} is held by run " in refused["complaint"]
            ends(warm, 0, *second, "--wait", 10)
            assert first.ended().code == 0
        assert proxy.commits > 10
    log = run_log_of(lake, direct)
    assert [row[:3] for row in log] == [
        ("FAULT_LATENCY", f"{day}", status) for day in (D1, D2) for status in ("STARTED", "SUCCEEDED")
    ]
    assert len({run for *_, run in log}) == 2
    rows = by_day({table: rows for table, rows in rows_in(lake, direct).items() if table != "quarantine"})
    assert len(rows["sends", f"{D2}"]) == 2
    assert {key: rows[key] for key in rows if key[1] == f"{D1}"} == {
        key: of_day for key, of_day in by_day(expected).items() if key in rows
    }
    assert all(file.name.isdecimal() for file in (s3.bucket / "delayed/_lock").iterdir())
