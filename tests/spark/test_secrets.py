"""A whole failing run with secrets in every place: none in what it says, logs, commits or shows to other users."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.given.site import published_rows

ROOT = Path(__file__).parents[2]
CANARY = "cAnAry9x"

pytestmark = pytest.mark.fault(42)


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, list[str]]:
    """Folder, all that was said, and the command lines seen of the run and what it started."""
    folder = tmp_path_factory.mktemp("secrets")
    (folder / "events").mkdir()
    (folder / "site.toml").write_text(
        f"""
        inputs.sends = "hdfs://AKIA:{CANARY}-in-path@127.0.0.1:1/sends.jsonl"
        [spark]
        "hadoop.ipc.client.connect.max.retries" = 0
        "hadoop.fs.s3a.secret.key" = "{CANARY}-hadoop"
        "hadoop.fs.azure.account.key.site" = "{CANARY}-azure"
        "site.credential" = "{CANARY}-credential"
        "eventLog.enabled" = true
        "eventLog.dir" = "{(folder / "events").as_uri()}"
        """
    )
    command = [sys.executable, "-m", "jobs.cli", "nightly", "-v", "--date", "2026-03-01", "--lake", "lake"]
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "SITE_TOKEN": f"{CANARY}-variable"}
    with (folder / "said").open("w") as said:
        run = subprocess.Popen([*command, "--settings", "site.toml"], cwd=folder, env=environ, stdout=said, stderr=said)
        lines = []
        while run.poll() is None:
            lines += command_lines(run.pid)
            time.sleep(0.5)
    return folder, (folder / "said").read_text(), lines


def command_lines(process: int) -> list[str]:
    try:
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
        own = Path(f"/proc/{process}/cmdline").read_text().replace("\0", " ")
    except OSError:  # it has just ended
        return []
    return [own, *(line for child in children for line in command_lines(int(child)))]


def test_it_failed_at_its_input_and_says_so_without_them(failed: tuple[Path, str, list[str]]) -> None:
    folder, said, _ = failed
    assert "faultline: " in said
    assert "Traceback" in said
    assert "hdfs://AKIA:…@127.0.0.1:1" in said
    assert CANARY not in said
    statuses = [row["status"] for row in published_rows(folder / "lake" / "run_log", ["status"], {})]
    assert statuses == ["FAILED"]  # nothing was published, so nothing was begun
    assert {path.name for path in folder.iterdir()} == {"events", "lake", "said", "site.toml"}


def test_neither_run_log_nor_commits_nor_event_log_hold_one(failed: tuple[Path, str, list[str]]) -> None:
    folder, _, _ = failed
    (row,) = published_rows(folder / "lake" / "run_log", ["message"], {"status": "FAILED"})
    assert "hdfs://AKIA:…@127.0.0.1:1" in row["message"]
    files = [file for kind in ("lake", "events") for file in (folder / kind).rglob("*") if file.is_file()]
    assert {file.parent.name for file in files} >= {"_delta_log", "event_date=2026-03-01"}
    assert any("events" in file.parts for file in files)
    assert [str(file) for file in files if CANARY.encode() in file.read_bytes()] == []


def test_other_users_of_the_machine_see_none_in_the_list_of_processes(failed: tuple[Path, str, list[str]]) -> None:
    _, _, lines = failed
    assert any("org.apache.spark.deploy.SparkSubmit" in line for line in lines)
    assert [line for line in lines if CANARY in line] == []
