"""Names of a site's columns: dots lead into objects, and backticks keep a dot that is of the name itself."""

from __future__ import annotations

import re
from collections.abc import Sequence

_PART = re.compile(r"`((?:[^`]|``)+)`|([^.`]+)")


def parts_of(column: str) -> tuple[str, ...]:
    """The names on the way to a column; the whole text where it is not such a path.

    >>> parts_of("ctx.broker"), parts_of("attributes.`messaging.destination.name`")
    (('ctx', 'broker'), ('attributes', 'messaging.destination.name'))
    >>> parts_of("`odd"), parts_of("a..b")
    (('`odd',), ('a..b',))
    """
    parts, place = [], 0
    while found := _PART.match(column, place):
        parts.append(found[1].replace("``", "`") if found[1] is not None else found[2])
        place = found.end() + 1
        if found.end() == len(column):
            return tuple(parts)
        if column[found.end()] != ".":
            break
    return (column,)


def column_name(parts: Sequence[str]) -> str:
    """The parts as settings name them.

    >>> column_name(("attributes", "messaging.destination.name"))
    'attributes.`messaging.destination.name`'
    """
    return ".".join(f"`{part.replace('`', '``')}`" if re.search(r"[.`]", part) else part for part in parts)
