"""The header of a CSV file; without Spark."""

from __future__ import annotations

import csv
from collections.abc import Sequence

from jobs.errors import InputUnreadableError

LONGEST_HEADER = 65_536  # bytes


def header_in(file: str, head: bytes, wanted: Sequence[str]) -> str | None:
    """The first line with text; None when there is none.

    Args:
        file: name of the file.
        head: its first `LONGEST_HEADER` bytes, unpacked.
        wanted: the columns that are looked for.

    Raises:
        InputUnreadableError: it is not a header.
    """
    *lines, last = head.decode(errors="replace").split("\n")
    is_cut = len(head) == LONGEST_HEADER
    whole = (line.removeprefix("\ufeff").removesuffix("\r") for line in [*lines, "" if is_cut else last])
    header = next((line for line in whole if line.strip()), None)
    if header is None and not is_cut:
        return None
    names = columns_of(header or "")
    if not {name.strip(' "') for name in names} & set(wanted) or (header or "").count('"') % 2:
        raise InputUnreadableError(
            f"the first line of {file} is not a header of columns such as {','.join(wanted[:2])}, with commas"
            " between them; add one, or map the site's own names in [inputs.sends.fields]"
        )
    twice = next((name for name in names if names.count(name) > 1 and name in wanted), None)
    if twice is not None:
        raise InputUnreadableError(f"{file} has the column {twice!r} twice; rename one of them")
    return header


def columns_of(header: str) -> list[str]:
    """The names in a header.

    >>> columns_of('client_id, "cost, ms",')
    ['client_id', 'cost, ms', '']
    """
    return [name.strip() for name in next(csv.reader([header], skipinitialspace=True), [])]
