"""A line beyond all measure is found in little memory, and where it cannot be, nearly nothing is read."""

from __future__ import annotations

import gzip
import io
import random

import pytest

from jobs.errors import InputUnreadableError
from jobs.sources import whole_text
from jobs.sources.whole_text import check_lines, check_plain_lines, is_all, may_hold_too_long_a_line

LONGEST = 1_000


@pytest.fixture(autouse=True)
def _short_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"LONGEST_LINE_BYTES": LONGEST, "_CHUNK_BYTES": 100, "_GLANCE_BYTES": 10}.items():
        monkeypatch.setattr(whole_text, name, value)


class _Counted(io.BytesIO):
    """Notes how much of it is read."""

    taken = 0

    def read(self, size: int | None = -1, /) -> bytes:
        found = super().read(size)
        self.taken += len(found)
        return found


def _found(text: bytes, how: str) -> str | None:
    """What is said of the text, plain or packed."""
    try:
        if how == "plain":
            check_plain_lines("f", io.BytesIO(text), len(text))
        else:
            half = len(text) // 2
            packed = gzip.compress(text[:half]) + gzip.compress(text[half:])
            check_lines("f", io.BytesIO(packed), is_gzip=True)
    except InputUnreadableError as error:
        return str(error)
    return None


@pytest.mark.fault(20, 45, simulated="limits of 1 kB and 1 MB in place of 128 MiB")
@pytest.mark.parametrize("how", ["plain", "packed"])
def test_exactly_the_lines_that_are_too_long_are_found(how: str) -> None:
    rng = random.Random(11)
    for _ in range(500):
        lengths = [rng.choice([0, 5, 300, 499, 500, 501, LONGEST - 1]) for _ in range(rng.randrange(12))]
        end = rng.choice([b"", b"\n"])
        assert _found(b"\n".join(b"x" * length for length in lengths) + end, how) is None, lengths
        place = rng.randint(0, len(lengths))
        lengths.insert(place, rng.choice([LONGEST, LONGEST + 1, 5 * LONGEST]))
        said = _found(b"\n".join(b"x" * length for length in lengths) + end, how)
        assert said is not None, lengths
        assert said.startswith(f"f has line {place + 1} of more than"), lengths


@pytest.mark.fault(20, simulated="limits of 1 kB and 1 MB in place of 128 MiB")
def test_of_a_file_with_short_lines_nearly_nothing_is_read() -> None:
    file = _Counted(b"short\n" * 100_000)
    check_plain_lines("f", file, 600_000)
    assert file.taken == 10 * 600_000 // (LONGEST // 2)


@pytest.mark.fault(20, 45, simulated="limits of 1 kB and 1 MB in place of 128 MiB")
def test_bytes_read_are_compared_with_what_gzips_say_modulo_4_gib() -> None:
    assert is_all(read=100, said=100, files=1)
    assert is_all(read=101, said=100, files=1)  # a last line without an end
    assert is_all(read=97, said=100, files=1)  # a byte order mark
    assert not is_all(read=95, said=100, files=1)
    assert is_all(read=5 * 2**32 + 7, said=7, files=1)
    assert is_all(read=7, said=2**32 + 7, files=1)
    assert not is_all(read=7 + LONGEST, said=7, files=100)


def test_a_small_file_holds_no_long_line() -> None:
    assert [may_hold_too_long_a_line(size, is_gzip=False) for size in (LONGEST - 1, LONGEST)] == [False, True]
    assert not may_hold_too_long_a_line(0, is_gzip=True)
    assert may_hold_too_long_a_line(1, is_gzip=True)  # 1,032 times as much
