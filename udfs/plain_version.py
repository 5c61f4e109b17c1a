"""Client versions as comparable numbers, without Spark."""

from __future__ import annotations

import re

FORM = r"^[Vv]?(\d{1,3})[._](\d{1,2})[._](\d{1,2})(?:-SNAPSHOT)?$"
"""How a version is written: three numbers in groups."""

_VERSION = re.compile(FORM)


def plain_version_number(text: str) -> int:
    """`udfs.version.version_number` for one text; 0 = not a version.

    >>> [plain_version_number(text) for text in ("4.9.8", "V5_1_4", "latest")]
    [40908, 50104, 0]
    """
    found = _VERSION.fullmatch(text)
    if not found:
        return 0
    major, minor, patch = map(int, found.groups())
    return major * 10_000 + minor * 100 + patch
