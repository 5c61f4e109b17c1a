"""Kind of a file by its first bytes: text and gzip are read, and Parquet of sends, each under its own name."""

from __future__ import annotations

import re

from jobs.errors import InputUnreadableError

TEXT, CSV, PARQUET = "jsonl", "csv", "parquet"
HEAD_BYTES = 512
_GZIP = b"\x1f\x8b"
_OTHERS = {
    "bzip2": rb"BZh[1-9]1AY&SY",
    "zstd": rb"\x28\xb5\x2f\xfd",
    "xz": rb"\xfd7zXZ\x00",
    "lz4": rb"\x04\x22\x4d\x18",
    "zip": rb"PK\x03\x04",
    "tar": rb"(?s).{257}ustar",
    "Parquet": rb"PAR1",
}


def check_contents(name: str, kind: str, head: bytes) -> None:
    """Fail when a file's content does not fit its name.

    Args:
        name: of the file.
        kind: what it is read as: TEXT, CSV or PARQUET, which its reader checks further.
        head: its first `HEAD_BYTES` bytes.

    Raises:
        InputUnreadableError: with the file and the fix.
    """
    is_named_gzip = name.endswith(".gz")
    other = next((other for other, sign in _OTHERS.items() if re.match(sign, head)), None)
    if kind == PARQUET or not head:
        return
    if head.startswith(_GZIP) != is_named_gzip:
        problem = (
            "is named .gz but is not gzip; rename or replace it"
            if is_named_gzip
            else "is gzip but its name does not end in .gz; rename it"
        )
        raise InputUnreadableError(f"{name} {problem}")
    if other:
        raise InputUnreadableError(
            f"{name} is {other}, which is not read as text; write its lines as text or gzip (sends as .parquet too)"
        )
