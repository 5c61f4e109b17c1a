"""Java's text operations, where Python's differ."""

from __future__ import annotations

INT_MIN = -(2**31)
_NO_WHITESPACE_IN_JAVA = "\u0085\u00a0\u2007\u202f"


def string_key(text: str) -> bytes:
    r"""Sort key of `String.compareTo`: UTF-16 code units, so characters beyond U+FFFF come before U+E000.

    >>> sorted(["\ue000", "\U0001f680"], key=string_key) == ["\U0001f680", "\ue000"]
    True
    >>> sorted(["10.0.0.2@1", "10.0.0.10@1"], key=string_key)
    ['10.0.0.10@1', '10.0.0.2@1']
    """
    return text.encode("utf-16-be", "surrogatepass")


def split(text: str, separator: str) -> list[str]:
    """`String.split` with one plain character: empty parts at the end are dropped.

    >>> split("IDC1@", "@"), split("@a", "@"), split("", "@"), split("@", "@")
    (['IDC1'], ['', 'a'], [''], [])
    """
    parts = text.rstrip(separator).split(separator)
    return [] if parts == [""] and text else parts


def is_blank(text: str) -> bool:
    r"""`StringUtils.isBlank`: by `Character.isWhitespace`, which no-break spaces are not.

    >>> is_blank(""), is_blank(" \t\u2003"), is_blank("\u00a0"), is_blank(" x")
    (True, True, False, False)
    """
    return all(char.isspace() and char not in _NO_WHITESPACE_IN_JAVA for char in text)


def encoded(text: str, charset: str) -> bytes:
    r"""`String.getBytes`: unencodable characters become `?`.

    Java's GBK has the private-use characters that Python's lacks; GB18030's two-byte half is the same set.

    >>> encoded("a\u65e5\ue000\U0001f680", "GBK")
    b'a\xc8\xd5\xaa\xa1?'
    """
    if charset.upper() not in {"GBK", "CP936", "MS936"}:
        return text.encode(charset, "replace")
    return b"".join(written if len(written := char.encode("gb18030", "replace")) < 4 else b"?" for char in text)
