"""The database that holds tables and views."""

from __future__ import annotations

import re

from jobs.errors import UsageError

DATABASE = "faultline"
"""Its name, unless another is given."""


def checked_database(name: str) -> str:
    """The name, if it can be a database's.

    Raises:
        UsageError: it has other characters than letters, digits and underscores.
    """
    if not re.fullmatch(r"[A-Za-z0-9_]{1,128}", name):
        raise UsageError(f"database {name!r} is not a name; use letters, digits and _")
    return name
