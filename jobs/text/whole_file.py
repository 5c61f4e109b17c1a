"""Files that are whole or not there."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def write_whole(file: Path, text: str, mode: int | None = None) -> None:
    """Write a file beside its place and rename it, so that nobody reads a part of it.

    A link stays, and so does a pipe or device, which is written to.
    `mode` is its permissions; None leaves them to the umask.

    Raises:
        OSError: it cannot be written; a file of that name stays as it was.
    """
    if file.exists() and not file.is_file():
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_NONBLOCK), "w", encoding="utf-8") as stream:
            os.set_blocking(stream.fileno(), True)  # to open a pipe that nobody reads would have waited for ever
            stream.write(text)
        return
    file = file.resolve()
    unfinished = file.parent / f".{file.name}.unfinished"
    try:
        unfinished.write_text(text, encoding="utf-8")
        if mode is not None:
            unfinished.chmod(mode)
        unfinished.replace(file)
    except OSError:
        with suppress(OSError):
            unfinished.unlink()
        raise
