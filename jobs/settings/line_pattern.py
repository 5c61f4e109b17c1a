r"""The pattern of a text log: an RE2 regular expression with named groups, linear in the length of the line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

_LONGEST = 4_000


@dataclass(frozen=True)
class LinePattern:
    """A pattern that RE2 accepts.

    Attributes:
        names: of its groups, in order.
        regex: for the whole line, as RE2 reads it.
    """

    names: tuple[str, ...]
    regex: str

    def values(self, lines: Any) -> Any:
        """The texts of the groups.

        Args:
            lines: an Arrow array of texts, or a list of them.

        Returns:
            An Arrow array of structs: null for a line that is null or does not match, an empty text for a group without
            one.

        >>> pattern = line_pattern("(?<at>[^ ]+) (?<what>.*) took=(?<ms>[0-9]+)")
        >>> pattern.values(["noon a b took=7", "noon took=7"]).to_pylist()
        [{'at': 'noon', 'what': 'a b', 'ms': '7'}, None]
        """
        import pyarrow as pa  # noqa: PLC0415 - only where there is a text log
        import pyarrow.compute as pc  # noqa: PLC0415 - same

        texts = pa.array(lines, pa.string()) if isinstance(lines, list) else lines
        return pc.extract_regex(texts, self.regex)


def line_pattern(text: str) -> LinePattern:
    """The pattern, checked.

    Raises:
        ValueError: RE2 refuses it, or its groups do not fit a log; with the reason and the fix.
    """
    import pyarrow as pa  # noqa: PLC0415 - same

    if len(text) > _LONGEST:
        raise ValueError(f"has {len(text):,} characters; give at most {_LONGEST:,}")
    whole_line = rf"(?s)\A(?:{text})\z"
    try:
        fields = list(LinePattern((), text).values([]).type)  # by itself first, so that its groups are closed within it
        LinePattern((), whole_line).values([])
    except pa.ArrowInvalid as error:
        raise ValueError(
            f"{text!r} is refused by RE2: {error}; write (?<name>…) for a value and (?:…) for any other group, without"
            r" look-around and without references such as \1"
        ) from error
    names = tuple(field.name for field in fields)
    if not names:
        raise ValueError(f"{text!r} has no named group; put each value into one, such as (?<latency_ms>[0-9]+)")
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ValueError(f"{text!r} has two groups {twice!r}; give each its own name")
    return LinePattern(names, whole_line)
