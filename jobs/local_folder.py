"""The local folder behind a path or URI."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlparse


def is_there(path: Path) -> bool:
    """Whether this user can see something there; a folder that may not be looked into hides what it holds."""
    try:
        return path.exists()
    except PermissionError:
        return False


def local_folder(uri: str) -> Path | None:
    """The folder behind a path or `file:` URI; None for any other store."""
    parsed = urlparse(uri)
    if parsed.scheme == "file":
        return Path(unquote(parsed.path))
    return None if "://" in uri else Path(uri)
