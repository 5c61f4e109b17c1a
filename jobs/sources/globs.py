r"""Hadoop's globs over this machine's files: what a path with `*`, `?`, `[…]`, `{…}` or `\` in it stands for."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

_SPECIAL = re.compile(r"[*?\[\]{}\\]")


def matches(pattern: str) -> list[str]:
    """Every path that is there and that the pattern stands for, hidden ones and dangling links too.

    Raises:
        OSError: a folder on the way may not be looked into.
        re.error: the pattern is none.
    """
    return sorted({found for each in alternatives(pattern) for found in _below("/", _parts(each))})


def covers(pattern: str, path: str) -> bool:
    """Whether the pattern stands for the path, were it there.

    >>> covers("/data/{a,lake}*", "/data/lake"), covers("/data/*", "/data/lake/sends")
    (True, False)
    """
    names = _parts(path)
    return any(
        len(parts) == len(names) and all(re.fullmatch(_regex(part), name) for part, name in zip(parts, names))  # noqa: B905 - same length
        for parts in map(_parts, alternatives(pattern))
    )


def alternatives(pattern: str) -> list[str]:
    r"""The pattern without braces: these may reach over several folders.

    >>> alternatives("/{a,b/{c,d}}.gz")
    ['/a.gz', '/b/c.gz', '/b/d.gz']
    >>> alternatives(r"/\{a,b\}")
    ['/\\{a,b\\}']
    """
    innermost = re.search(r"(?<!\\)\{((?:[^{}\\]|\\.)*)\}", pattern)
    if innermost is None:
        return [pattern]
    head, tail = pattern[: innermost.start()], pattern[innermost.end() :]
    choices = re.split(r"(?<!\\),", innermost[1])
    return list(dict.fromkeys(each for choice in choices for each in alternatives(f"{head}{choice}{tail}")))


def _below(folder: str, parts: list[str]) -> Iterator[str]:
    if not parts:
        yield folder
        return
    part, rest = parts[0], parts[1:]
    if re.search(r"(?<!\\)[*?\[]", part):
        if os.path.isdir(folder):
            names = (name for name in os.listdir(folder) if re.fullmatch(_regex(part), name, re.DOTALL))
            for name in names:
                yield from _below(os.path.join(folder, name), rest)
    elif os.path.lexists(there := os.path.join(folder, re.sub(r"\\(.)", r"\1", part))):
        yield from _below(there, rest)


def _parts(path: str) -> list[str]:
    return [part for part in os.path.abspath(path).split("/") if part]


def _regex(part: str) -> str:
    r"""One name of a glob without braces, as a regular expression.

    >>> _regex(r"a*[!b-d].g\*")
    'a.*[^b-d]\\.g\\*'
    """
    token = re.compile(r"\\(.)|\[([!^]?)((?:\\.|[^\]\\])+)\]|(\*)|(\?)|(.)", re.DOTALL)

    def one(found: re.Match[str]) -> str:
        escaped, negated, members, star, mark, plain = found.groups()
        if members:
            return f"[{'^' if negated else ''}{members}]"
        return ".*" if star else "." if mark else re.escape(escaped or plain)

    return token.sub(one, part)
