"""What the first and the last bytes of a file say of it."""

from __future__ import annotations

from jobs.sources.contents import HEAD_BYTES, Ends


def test_a_gzip_may_grow_500_times_and_no_more() -> None:
    size, head = 70_000, b"\x1f\x8b".ljust(HEAD_BYTES, b"\0")
    tails = [text_bytes.to_bytes(4, "little").rjust(8, b"\0") for text_bytes in (500 * size, 500 * size + 1)]
    assert [Ends(size, head, tail).says_it_grows for tail in tails] == [False, True]
