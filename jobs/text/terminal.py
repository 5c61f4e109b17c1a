"""Parts that texts for a terminal are made of."""

from __future__ import annotations

import re

UNDER_EACH = "a line counts under each of its reasons"
_LONGEST_NAME = 100
_LONGEST_WORD = 300  # of a sentence, where a name may be a setting's value or a file's
_LONGEST_SENTENCE = 2_000
_LONG_WORD = re.compile(rf"[^\s/]{{{_LONGEST_WORD + 1},}}")


def counted(count: int, one: str, many: str = "") -> str:
    """A number with its noun.

    >>> counted(1, "event"), counted(1200, "event"), counted(0, "day of its own", "days of their own")
    ('1 event', '1,200 events', '0 days of their own')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def grid(header: list[str], rows: list[list[str]]) -> str:
    """A table in columns, indented."""
    widths = [max(len(row[place]) for row in [header, *rows]) for place in range(len(header))]
    return "\n".join(
        "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in [header, *rows]
    )


def safe(name: str) -> str:
    """A name on a screen: control characters escaped, the middle of a long one left out."""
    return shortened(escaped(name), _LONGEST_NAME)


def one_line(sentence: str) -> str:
    """A sentence or path on a screen, like `safe`: the long words in it are shortened, and all of it when it is longer.

    >>> len(one_line("broker " + "x" * 10_000 + " is down")), len(one_line("a " * 10_000))
    (314, 1999)
    """
    words = _LONG_WORD.sub(lambda word: shortened(word[0], _LONGEST_WORD), escaped(sentence))
    return shortened(words, _LONGEST_SENTENCE)


def escaped(text: str) -> str:
    """The whole text, with everything that a terminal might interpret escaped."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def shortened(text: str, most: int) -> str:
    """Text with its middle left out when it is longer than `most` characters.

    >>> shortened("127.0.0.1@producer", 11)
    '127.0…ducer'
    """
    half = (most - 1) // 2
    return text if len(text) <= most else f"{text[:half]}…{text[-half:]}"


def duration(ms: int) -> str:
    """A duration for people."""
    seconds = ms / 1000
    if round(seconds, 1) < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s"
