"""The store of a lake."""

from __future__ import annotations

from jobs.errors import LakeError
from jobs.uri import is_elsewhere


def check_store(lake: str, default_store: str | None) -> None:
    """Refuse a lake without a scheme where Spark's default store is not this machine.

    Args:
        lake: path or URI.
        default_store: Hadoop's `fs.defaultFS`.

    Raises:
        LakeError: it has no scheme, and paths without one are on another store.
    """
    if default_store and is_elsewhere(default_store) and not lake.startswith("file:") and not is_elsewhere(lake):
        raise LakeError(
            f"lake {lake} has no scheme, and Spark's paths without one are on {default_store}; write it as"
            f" file://{lake} or {default_store.rstrip('/')}{lake}"
        )
