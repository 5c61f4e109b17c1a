"""Case 50: a signal ends a run within seconds while the driver plans, which nothing can cancel."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLANS = """
import datetime as dt, signal, sys
from pathlib import Path
from jobs.cli import main as cli
from jobs.lake.lock import hold
from jobs.settings.load import load_settings
from jobs.spark.session import running
from jobs.text.progress import Progress

signal.signal(signal.SIGTERM, signal.SIG_DFL)  # whoever runs the tests may ignore it
lake = Path(sys.argv[1])

def plan(*_):
    with running(load_settings([], [], {}), Progress(), verbose=False) as spark:
        with hold(lake, "r", lambda: dt.datetime.now(dt.UTC)):
            print("ready", flush=True)
            # The optimizer folds the constant: for longer than anybody waits.
            spark.sql("SELECT repeat('a', 200) RLIKE '(a+)+b'").collect()

cli._run = plan
sys.argv = ["faultline", "plan", "nightly"]
raise SystemExit(cli.main())
"""


@pytest.mark.fault(25)
def test_a_signal_ends_a_run_while_the_driver_plans(tmp_path: Path) -> None:
    program = subprocess.Popen(
        [sys.executable, "-c", PLANS, str(tmp_path)],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert program.stdout
    assert program.stdout.readline() == "ready\n"
    time.sleep(2)
    program.send_signal(signal.SIGTERM)
    _, err = program.communicate(timeout=60)  # the plan takes longer than any machine is up
    assert (program.returncode, err.splitlines()[-1]) == (
        143,
        "faultline: interrupted by SIGTERM; run it again, other days stay whole",
    )
    assert (tmp_path / "_lock").read_text() == ""
