"""Names of a site's columns: dots lead into objects, and backticks keep a dot that is of the name itself."""

from __future__ import annotations

import re
from collections.abc import Sequence

_PART = r"`(?:[^`]|``)+`|[^.`]+"
_PATH = re.compile(rf"(?:{_PART})(?:\.(?:{_PART}))*")


def parts_of(column: str) -> tuple[str, ...]:
    """The names on the way to a column; the whole text where it is not such a path.

    >>> parts_of("ctx.broker"), parts_of("attributes.`messaging.destination.name`")
    (('ctx', 'broker'), ('attributes', 'messaging.destination.name'))
    >>> parts_of("`odd"), parts_of("a..b")
    (('`odd',), ('a..b',))
    """
    if not _PATH.fullmatch(column):
        return (column,)
    parts = re.findall(_PART, column)
    return tuple(part[1:-1].replace("``", "`") if part[0] == "`" else part for part in parts)


def column_name(parts: Sequence[str]) -> str:
    """The parts as settings name them.

    >>> column_name(("attributes", "messaging.destination.name"))
    'attributes.`messaging.destination.name`'
    """
    return ".".join(f"`{part.replace('`', '``')}`" if re.search(r"[.`]", part) else part for part in parts)
