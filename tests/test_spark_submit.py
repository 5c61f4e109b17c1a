"""The built artifact under spark-submit, from another folder, as a site would run it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import deltalake
import pyspark
import pytest

from jobs.spark.delta_jars import delta_jars

ROOT = Path(__file__).parents[1]
SEND = {
    "client_id": "10.0.0.1@1", "producer_group": "PG", "client_version": "4.9.8", "topic": "T", "mode": "SYNC",
    "broker_name": "broker-a", "invoke_id": 1, "attempt": 1, "started_at_ms": 1795219202000,
    "ended_at_ms": 1795219205000, "latency_ms": 3000, "outcome": "RemotingTimeoutException", "seq": 1,
}  # fmt: skip


@pytest.mark.slow  # a cluster of three JVMs
def test_the_archive_runs_on_a_cluster_of_its_own_processes(tmp_path: Path) -> None:
    dist = tmp_path / "dist"
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(dist)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    archive = shutil.copy(next(dist.glob("*.whl")), tmp_path / "faultline.zip")
    launcher = shutil.copy(ROOT / "bin/submit.py", tmp_path / "submit.py")
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "sends.jsonl").write_text(json.dumps(SEND) + "\n", encoding="utf-8")
    (tmp_path / "site.toml").write_text(
        'lake = "lake"\ncluster = "site"\n[inputs.sends]\npath = "logs"\n'
        '[producers."PG"]\nfault_latency_enabled = true\n[spark]\n"spark.sql.shuffle.partitions" = "2"\n',
        encoding="utf-8",
    )
    home = Path(pyspark.__file__).parent
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "FAULTLINE_HOME")}
    environment |= {
        "SPARK_HOME": str(home),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    submit = [
        str(home / "bin/spark-submit"), "--master", "local-cluster[2,1,1024]", "--deploy-mode", "client",
        "--conf", "spark.ui.enabled=false", "--py-files", str(archive),
        "--jars", ",".join(str(jar) for jar in delta_jars()), str(launcher),
        "fault-latency", "--settings", "site.toml", "--date", "2026-11-21", "--json-to", "night.json",
    ]  # fmt: skip
    done = subprocess.run(submit, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads((tmp_path / "night.json").read_text(encoding="utf-8"))
    assert told["flows"]["fault-latency"]["days"][0]["rows_published"] == 1
    assert told["nights"][0]["counts"]["sends"] == 1
    intervals = deltalake.DeltaTable(str(tmp_path / "lake/isolation_intervals")).to_pyarrow_table().to_pylist()
    assert [
        (row["cluster"], row["broker_name"], row["end_ms"] - row["start_ms"], row["enforced"]) for row in intervals
    ] == [("site", "broker-a", 600_000, True)]
