"""What a collector's folder holds, and the program that fills it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

PROGRAM = "import sys; from jobs.cli.main import main; sys.exit(main(sys.argv[1:]))"


def collected(out: Path) -> dict[str, list[dict[str, Any]]]:
    """The lines of the finished files by kind."""
    return {
        folder.name: [
            json.loads(line)
            for file in sorted(folder.glob("[!.]*.gz"))
            for line in gzip.decompress(file.read_bytes()).decode().splitlines()
        ]
        for folder in out.iterdir()
        if folder.is_dir()
    }
