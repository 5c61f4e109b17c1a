"""Lines, spoilt: by bytes, by fields, by values. Each is a function of its input and of `random` alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from tests.fuzz import hostile

Line = Mapping[str, Any]

_BYTES = (
    *(b"\x00", b"\xff", b"\xfe\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xef\xbb\xbf"),
    *(b"\r", b"\n", b"\r\n", b"\x0b", b"\x0c", b"\x1a", b"\x85", b"\xc2\x85", b"\xe2\x80\xa8", b"\t", b" "),
    *(b'"', b"'", b"\\", b"{", b"}", b"[", b"]", b",", b":", b";", b"0", b"-", b"e9", b"null", b"NaN", b"//", b"/*"),
    *(b"#", b"\\u0000", b"\\ud800", b"%", b"${env:PATH}", b"\x1f\x8b"),
)


def spoilt_bytes(random: Random, content: bytes) -> bytes:
    """The content with one to four accidents to its bytes."""
    for _ in range(random.randint(1, 4)):
        content = random.choice(_ACCIDENTS)(random, content)
    return content


def spoilt_json(random: Random, line: Line) -> bytes:
    """A JSON line with something wrong, odd or merely unusual about it."""
    how = random.random()
    if how < 0.3:
        return spoilt_bytes(random, as_json(line))
    if how < 0.8:
        return as_json(spoilt_fields(random, line))
    return random.choice(_OTHER_JSON)(random, line)


def spoilt_fields(random: Random, line: Line) -> dict[str, Any]:
    """The line with one to three of its fields changed, dropped, swapped or called otherwise."""
    changed = dict(line)
    for _ in range(random.randint(1, 3)):
        if not changed:
            break
        field, other = random.choice(list(changed)), random.choice(list(changed))
        how = random.randrange(8)
        if how < 4:
            changed[field] = hostile.value(random) if how else _like(random, changed[field])
        elif how == 4:
            del changed[field]
        elif how == 5:
            changed[field], changed[other] = changed[other], changed[field]
        elif how == 6:
            changed[random.choice((field.upper(), f" {field}", f"{field}\u0000", hostile.name(random)))] = changed.pop(
                field
            )
        else:
            changed[field] = json.dumps(changed[field]) if isinstance(changed[field], int | float) else [changed[field]]
    return changed


def as_json(line: Line) -> bytes:
    """The line as UTF-8, a lone surrogate escaped, as JSON allows."""
    text = json.dumps(line, ensure_ascii=False)
    return text.encode() if not any(0xD800 <= ord(char) < 0xE000 for char in text) else json.dumps(line).encode()


def _like(random: Random, value: Any) -> Any:
    """A value of the same type."""
    if isinstance(value, bool) or value is None:
        return random.choice((True, False, None))
    return hostile.number(random) if isinstance(value, int | float) else hostile.name(random)


def _place(random: Random, content: bytes) -> int:
    return random.randint(0, len(content))


def _flip(random: Random, content: bytes) -> bytes:
    at = _place(random, content)
    return content[:at] + bytes(byte ^ 1 << random.randrange(8) for byte in content[at : at + 1]) + content[at + 1 :]


def _insert(random: Random, content: bytes) -> bytes:
    at = _place(random, content)
    return content[:at] + random.choice(_BYTES) * random.choice((1, 1, 1, 2, 50)) + content[at:]


def _delete(random: Random, content: bytes) -> bytes:
    at = _place(random, content)
    return content[:at] + content[at + random.choice((1, 1, 2, 10, 100)) :]


def _cut(random: Random, content: bytes) -> bytes:
    at = _place(random, content)
    return random.choice((content[:at], content[at:]))


def _twice(random: Random, content: bytes) -> bytes:
    at = _place(random, content)
    return content[:at] + content[at : at + random.randint(1, 60)] * 2 + content[at:]


def _rubbish(random: Random, _: bytes) -> bytes:
    return random.randbytes(random.choice((0, 1, 2, 50, 500)))


_ACCIDENTS: tuple[Callable[[Random, bytes], bytes], ...] = (_flip, _insert, _insert, _delete, _cut, _twice, _rubbish)


def _text(line: Line) -> str:
    return as_json(line).decode()


def _key_twice(random: Random, line: Line) -> bytes:
    field = random.choice(list(line))
    return f"{{{json.dumps(field)}:{json.dumps(hostile.value(random))},{_text(line)[1:]}".encode()


def _number_as_text(random: Random, line: Line) -> bytes:
    """A number written as JSON forbids it, or as few write it."""
    field = random.choice([name for name, value in line.items() if isinstance(value, int)] or list(line))
    number = random.choice(
        ("007", "+7", "0x7", "7.", ".7", "NaN", "Infinity", "-Infinity", "7e0", "70e-1", "1E400", "-0", "7L", "1_0")
    )
    return (
        _text(line)
        .replace(f"{json.dumps(field)}: {json.dumps(line[field])}", f"{json.dumps(field)}: {number}")
        .encode()
    )


def _unknown(random: Random, line: Line) -> bytes:
    """A field that nobody asks for, deep, long, or of a long name."""
    name, value = random.choice(
        (
            ("unknown", hostile.nested(random.choice((3, 200, 600, 5_000)))),
            ("unknown", "9" * random.choice((20, 999, 1_001, 5_000))),
            ("k" * random.choice((10, 60_000)), "1"),
            ("unknown", f'"{"x" * random.choice((100, 1_100_000))}"'),
        )
    )
    return f'{_text(line)[:-1]}, "{name}": {value}}}'.encode()


def _framed(random: Random, line: Line) -> bytes:
    """The line with something around it, in other signs, or twice."""
    text = _text(line)
    return random.choice(
        (
            f"[{text}]",
            f"/* a */ {text} // b",
            f"{text[:-1]},}}",
            *(f"{text}{between}{text}" for between in ("", " ", ",", "],[")),
            text.replace('"', "'"),
            text.replace('": ', ": ").replace(', "', ", ").replace('{"', "{"),
            "".join(f"\\u{ord(char):04x}" if char.isalpha() and ord(char) < 2**16 else char for char in text),
            f"\ufeff{text}\r",
        )
    ).encode()


def _other(random: Random, line: Line) -> bytes:
    """Hardly the line any more."""
    few = (b"null", b"7", b'"a"', b"[]", b"{}", b"true", b"{", b"}", b"", b" ", b"\r", b"\x00", b"\xef\xbb\xbf")
    return random.choice((*few, _text(line).encode("utf-16")))


_OTHER_JSON: tuple[Callable[[Random, Line], bytes], ...] = (
    *(_key_twice, _number_as_text, _unknown, _unknown, _unknown),
    *(_framed, _framed, _framed, _framed, _other, _other),
)
