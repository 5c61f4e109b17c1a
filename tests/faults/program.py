"""The program from the command line, as a process of its own, on a folder with `sends/`, and `lake/` beside it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]


def run_program(
    folder: Path, *arguments: str, command: str = "fault-latency", environ: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the command over the folder's sends, with no other settings than the arguments."""
    (folder / "no-settings.toml").touch()
    where = ["--sends", f"{folder}/sends", "--lake", f"{folder}/lake", "--settings", f"{folder}/no-settings.toml"]
    return subprocess.run(
        [sys.executable, "-m", "jobs.cli", command, *(where if command == "fault-latency" else where[2:]), *arguments],
        cwd=ROOT, env={**os.environ, **(environ or {})}, capture_output=True, text=True, check=False, timeout=900,
    )  # fmt: skip
