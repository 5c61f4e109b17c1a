"""Syntax of the pattern of a text log: its text to nodes; every mistake with its place."""

from __future__ import annotations

import re
from dataclasses import dataclass

OTHER = 128  # stands for every character beyond ASCII
_ALL = frozenset(range(OTHER + 1))
_LONGEST, _MOST_GROUPS, _MOST_ROUNDS, _DEEPEST = 4_000, 60, 1_000, 20
_QUANTIFIER = re.compile(r"([*+?]|\{(\d{1,9})(,(\d{1,9})?)?\})(\??)", re.ASCII)
_GROUP = re.compile(r"\((?:\?:|\?<([A-Za-z_]\w{0,99})>)", re.ASCII)


def _of(characters: str) -> frozenset[int]:
    return frozenset(map(ord, characters))


_DIGITS = _of("0123456789")
_WORDS = _DIGITS | _of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
_SPACES = _of(" \t\n\r\f\v")
_ESCAPES = {
    "d": _DIGITS,
    "D": _ALL - _DIGITS,
    "w": _WORDS,
    "W": _ALL - _WORDS,
    "s": _SPACES,
    "S": _ALL - _SPACES,
    "t": _of("\t"),
}


@dataclass(frozen=True)
class One:
    """One character of a set; `regex` is the set as every engine reads it."""

    characters: frozenset[int]
    regex: str


@dataclass(frozen=True)
class Group:
    """Alternatives, each a row of nodes; `name` is None where none is given."""

    branches: tuple[tuple[Node, ...], ...]
    name: str | None


@dataclass(frozen=True)
class Repeat:
    """A node so many times; `most` is None without a limit, `text` how it was written."""

    of: One | Group
    least: int
    most: int | None
    is_lazy: bool
    text: str


Node = One | Group | Repeat


def parse(text: str) -> tuple[tuple[Node, ...], tuple[str, ...]]:
    """The nodes of a pattern, and the names of its groups in order.

    Raises:
        ValueError: the place and what to write.
    """
    if len(text) > _LONGEST:
        raise ValueError(f"has {len(text):,} characters; give at most {_LONGEST:,}")
    parser = _Parser(text)
    branches = parser.alternatives(0)
    if parser.place < len(text):
        raise parser.error("a ) without its (", r"write \) for the character itself")
    if len(branches) == 1:
        return branches[0], tuple(parser.names)
    return (Group(branches, None),), tuple(parser.names)


class _Parser:
    """Walks through the text once."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.place = 0
        self.names: list[str] = []

    def error(self, what: str, fix: str) -> ValueError:
        return ValueError(f"has {what} at character {self.place + 1}; {fix}")

    def alternatives(self, depth: int) -> tuple[tuple[Node, ...], ...]:
        if depth > _DEEPEST:
            raise self.error("groups nested too deeply", f"give at most {_DEEPEST}")
        branches = [self._row(depth)]
        while self.text.startswith("|", self.place):
            self.place += 1
            branches.append(self._row(depth))
        return tuple(branches)

    def _row(self, depth: int) -> tuple[Node, ...]:
        nodes: list[Node] = []
        while self.place < len(self.text) and self.text[self.place] not in "|)":
            if self._is_at_an_end():
                self.place += 1
                continue
            start = self.place
            nodes.append(self._quantified(self._atom(depth), start))
        return tuple(nodes)

    def _is_at_an_end(self) -> bool:
        """Whether this is the ^ that a pattern may begin with, or the $ that it may end with."""
        return self.text[self.place] == ("^" if self.place == 0 else "$") and self.place in (0, len(self.text) - 1)

    def _quantified(self, atom: One | Group, start: int) -> Node:
        found = _QUANTIFIER.match(self.text, self.place)
        if not found:
            return atom
        sign, least, comma, most, lazy = found.groups()
        self.place = found.end()
        if self.text[self.place : self.place + 1] in {"*", "+", "?"} and self.place < len(self.text):
            raise self.error("a repeat of a repeat", "write one")
        at_least = {"*": 0, "?": 0, "+": 1}.get(sign, int(least or 0))
        at_most = {"*": None, "?": 1, "+": None}.get(sign, int(most) if most else None if comma else at_least)
        if max(at_least, at_most or 0) > _MOST_ROUNDS or (at_most is not None and at_most < max(at_least, 1)):
            raise self.error(f"the repeat {sign!r}", f"give two numbers, the smaller first, up to {_MOST_ROUNDS}")
        return Repeat(atom, at_least, at_most, bool(lazy), self.text[start : self.place].removesuffix("?" * bool(lazy)))

    def _atom(self, depth: int) -> One | Group:
        character = self.text[self.place]
        if character == "(":
            return self._group(depth)
        if character == "[":
            return self._class()
        if character in "*+?{":
            raise self.error(f"{character!r} with nothing to repeat", f"write \\{character} for the character itself")
        if character in "^$":
            raise self.error(f"{character!r} inside", f"the whole line counts; write \\{character} for the character")
        if character == "\\":
            return _one(self._escape())
        self.place += 1
        if character == ".":
            return _one(_ALL)
        return _one(_of(character)) if ord(character) < OTHER else One(frozenset({OTHER}), character)

    def _group(self, depth: int) -> Group:
        start = _GROUP.match(self.text, self.place)
        if not start:
            raise self.error("an unknown kind of group", "write (?<name>…) for a value, (?:…) for anything else")
        name = start[1]
        if name in self.names:
            raise self.error(f"the name {name!r} twice", "give each group its own")
        self.names += [name] if name else []
        if len(self.names) > _MOST_GROUPS:
            raise self.error("more groups than fields", f"name at most {_MOST_GROUPS}")
        self.place = start.end()
        branches = self.alternatives(depth + 1)
        if not self.text.startswith(")", self.place):
            raise self.error("an end without the ) of a group", "close it")
        self.place += 1
        return Group(branches, name)

    def _class(self) -> One:
        self.place += 1
        is_negated = self.text.startswith("^", self.place)
        self.place += is_negated
        characters: frozenset[int] = frozenset()
        while not self.text.startswith("]", self.place):
            first = self._member()
            if self.text.startswith("-", self.place) and not self.text.startswith("-]", self.place):
                self.place += 1
                last = self._member()
                if len(first) != 1 or len(last) != 1 or min(first) > min(last):
                    raise self.error("a range without a start and an end", r"write \- for the character itself")
                first = frozenset(range(min(first), min(last) + 1))
            characters |= first
        self.place += 1
        if not characters:
            raise self.error("an empty class", "put its characters between [ and ]")
        return _one(_ALL - characters if is_negated else characters)

    def _member(self) -> frozenset[int]:
        if self.place >= len(self.text):
            raise self.error("an end without the ] of a class", "close it")
        character = self.text[self.place]
        if character == "\\":
            return self._escape()
        if character == "[" or ord(character) >= OTHER or self.text.startswith("&&", self.place):
            raise self.error(f"{character!r} in a class", "list single ASCII characters, with a \\ before [ and &")
        self.place += 1
        return _of(character)

    def _escape(self) -> frozenset[int]:
        character = self.text[self.place + 1 : self.place + 2]
        if character in _ESCAPES and character:
            self.place += 2
            return _ESCAPES[character]
        if not character or character.isalnum() or ord(character) >= OTHER:
            raise self.error(f"\\{character}", r"known are \d \D \w \W \s \S \t, and \ before a character such as \.")
        self.place += 2
        return _of(character)


def _one(characters: frozenset[int]) -> One:
    r"""A node of the set, spelled without anything that engines read differently.

    >>> [_one(each).regex for each in (_of("A"), _of("ABC."), _ALL - _of(","), _ALL)]
    ['\\x41', '[\\x2e\\x41-\\x43]', '[^\\x2c]', '[\\s\\S]']
    """
    if characters == _ALL:
        return One(characters, r"[\s\S]")
    is_negated = OTHER in characters
    listed = sorted(_ALL - characters if is_negated else characters)
    ranges: list[list[int]] = []
    for code in listed:
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    spelled = "".join(rf"\x{first:02x}" + (rf"-\x{last:02x}" if last > first else "") for first, last in ranges)
    is_single = len(listed) == 1 and not is_negated
    return One(characters, spelled if is_single else f"[{'^' if is_negated else ''}{spelled}]")
