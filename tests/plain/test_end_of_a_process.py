"""How a process of the program ends: with its code and all that it printed, whatever its threads still do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_CODE = """
import sys, threading, time
from jobs.cli.main import process

threading.Thread(target=time.sleep, args=(600,)).start()  # as Arrow's, which Python does not wait for but aborts on
sys.argv[1:] = sys.argv[1].split()
process()
"""


def test_no_thread_has_a_say_in_the_end_of_a_process() -> None:
    for words, code, out, said in (("--help", 0, "faultline", ""), ("none", 2, "", "faultline: ")):
        command = [sys.executable, "-c", _CODE, words]
        environ = {"PYTHONPATH": str(Path(__file__).parents[2])}
        done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=60)
        assert (done.returncode, out in done.stdout, done.stderr.startswith(said)) == (code, True, True)
