"""The program from the command line, as a process of its own, on a folder with `sends/`, and `lake/` beside it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
ST_JOHNS_IN_ARABIC = ("America/St_Johns", "ar_EG.UTF-8", ("ar", "EG"))
"""Half hours from UTC, in digits of its own."""


def machine_of(zone: str, locale: str, java: tuple[str, str]) -> dict[str, str]:
    """The environment of a machine of that zone and language."""
    told = f"-Duser.language={java[0]} -Duser.country={java[1]} -Duser.timezone={zone}"
    return {"TZ": zone, "LC_ALL": locale, "LANG": locale, "JAVA_TOOL_OPTIONS": told}


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
