r"""The pattern of a text log: a regular expression with named groups, in time that grows with the line alone.

Its syntax is what every dialect shares: characters, `.`, `[…]`, `\d \w \s` and their opposites (ASCII), `(?<name>…)`,
`(?:…)`, `|`, and `* + ? {n} {n,} {n,m}`. It stands for the whole line. It is matched from left to right, and what was
matched is never tried another way:

- `|` takes the first that fits, and what may be left out is taken where it fits.
- `.*?` and its like go up to the first place where the fixed text after them stands.
- A repeat may not take what follows it, which would have to be given back: `.*,` is refused, `[^,]*,` is not.

So no line is bait. Spark's and Python's engines get the same expression, which leaves them no choice.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from jobs.settings.line_pattern_syntax import Group, Node, One, Repeat, parse

_WIDEST_LOOP = 100  # characters that one round of a repeated group may look at
_NO_MORE = r"(?![\s\S])"


@dataclass(frozen=True)
class LinePattern:
    """A checked pattern.

    Attributes:
        names: of its groups, in order.
        regex: with plain groups in that order; Java and Python take it alike.
    """

    names: tuple[str, ...]
    regex: str

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self.regex)

    def values(self, line: str) -> dict[str, str | None] | None:
        """Text of each group, None for one without; None when the line does not fit.

        >>> line_pattern("(?<at>[^ ]+) (?<what>.*?) took=(?<ms>[0-9]+)").values("noon a b took=7")
        {'at': 'noon', 'what': 'a b', 'ms': '7'}
        """
        found = self._compiled.match(line)
        return None if found is None else {name: text or None for name, text in zip(self.names, found.groups())}  # noqa: B905 - a group each


def line_pattern(text: str) -> LinePattern:
    """The pattern, checked.

    Raises:
        ValueError: it is none, or could need more than one look at a line; with the place and the fix.
    """
    nodes, names = parse(text)
    if not names:
        raise ValueError("has no named group; put each value into one, such as (?<latency_ms>[0-9]+)")
    return LinePattern(names, f"^{_sequence(nodes, ())}{_NO_MORE}")


def _sequence(nodes: tuple[Node, ...], after: tuple[Node, ...]) -> str:
    """The expression of nodes in a row, before `after`."""
    return "".join(_one_of(node, (*nodes[place + 1 :], *after)) for place, node in enumerate(nodes))


def _one_of(node: Node, after: tuple[Node, ...]) -> str:
    match node:
        case One():
            return node.regex
        case Group():
            return _group(node, after)
        case Repeat(of=One() as one):
            return _repeated_character(node, one, after)
        case Repeat(of=Group() as group):
            return _repeated_group(node, group, after)
    raise AssertionError(node)


def _group(group: Group, after: tuple[Node, ...]) -> str:
    branches = [_sequence(branch, after) for branch in group.branches]
    inner = branches[0] if len(branches) == 1 else f"(?>{'|'.join(branches)})"
    return inner if group.name is None else f"({inner})"


def _repeated_character(node: Repeat, one: One, after: tuple[Node, ...]) -> str:
    if node.least == node.most:
        return f"{one.regex}{{{node.least}}}"
    if node.is_lazy:
        stop = _fixed_start(after)[0]
        if not stop:
            raise ValueError(
                f"has '{node.text}' without a fixed text after it, up to which it could go; write it there"
            )
        most = "" if node.most is None else node.most - node.least
        return f"{one.regex}{{{node.least}}}(?:(?!{stop}){one.regex}){{0,{most}}}+"
    both = one.characters & _first(after)[0]
    if both:
        raise ValueError(
            f"has '{node.text}', which takes {_shown(both)} that follows too and gives nothing back; write"
            f" '{node.text}?' to stop at the first, or leave it out of the class, such as [^,]* before a comma"
        )
    return f"{one.regex}{{{node.least},{'' if node.most is None else node.most}}}+"


def _repeated_group(node: Repeat, group: Group, after: tuple[Node, ...]) -> str:
    is_loop = node.most is None or node.most > 1
    if node.is_lazy:
        raise ValueError(f"has '{node.text}'; only a single character or class may be followed by *?, +? or ??")
    if is_loop and _has_name(group):
        raise ValueError(f"has '{node.text}', a named group that repeats; a value is one text, repeat inside of it")
    if is_loop and (_first((group,))[1] or (width := _width((group,))) is None or width > _WIDEST_LOOP):
        raise ValueError(
            f"has '{node.text}', a repeat of what may be empty or has no end within {_WIDEST_LOOP} characters;"
            " write a class instead, such as [^;]*"
        )
    rounds = f"{{{node.least},{'' if node.most is None else node.most}}}+"
    inner = _group(group, (Repeat(group, 0, 1, is_lazy=False, text=""), *after) if is_loop else after)
    return f"(?:{inner}){rounds}"


def _first(nodes: tuple[Node, ...]) -> tuple[frozenset[int], bool]:
    """Characters that nodes in a row may begin with, and whether they may be empty."""
    characters: frozenset[int] = frozenset()
    for node in nodes:
        match node:
            case One():
                own, is_nullable = node.characters, False
            case Group():
                firsts = [_first(branch) for branch in node.branches]
                own = frozenset().union(*(each for each, _ in firsts))
                is_nullable = any(each for _, each in firsts)
            case Repeat():
                own, is_nullable = _first((node.of,))
                is_nullable = is_nullable or node.least == 0
        characters |= own
        if not is_nullable:
            return characters, False
    return characters, True


def _fixed_start(nodes: tuple[Node, ...]) -> tuple[str, bool]:
    """Expression of the characters of fixed number that nodes begin with, and whether these are all."""
    fixed = ""
    for node in nodes:
        match node:
            case One():
                fixed += node.regex
            case Group(branches=(branch,)):
                inner, is_whole = _fixed_start(branch)
                fixed += inner
                if not is_whole:
                    return fixed, False
            case Repeat(of=One() as one) if node.least:
                fixed += f"{one.regex}{{{node.least}}}"
                if node.least != node.most:
                    return fixed, False
            case _:
                return fixed, False
    return fixed, True


def _width(nodes: tuple[Node, ...]) -> int | None:
    """Most characters that nodes in a row look at; None = without end."""
    total = 0
    for node in nodes:
        match node:
            case One():
                width: int | None = 1
            case Group():
                widths = [_width(branch) for branch in node.branches]
                width = None if None in widths else sum(each or 0 for each in widths)
            case Repeat():
                inner = _width((node.of,))
                width = None if inner is None or node.most is None else inner * node.most
        if width is None:
            return None
        total += width
    return total


def _has_name(node: Node) -> bool:
    match node:
        case Group():
            return node.name is not None or any(_has_name(each) for branch in node.branches for each in branch)
        case Repeat():
            return _has_name(node.of)
    return False


def _shown(characters: frozenset[int]) -> str:
    """One of the characters, for a sentence; one that can be read rather than one that cannot."""
    ordered = sorted(characters, key=lambda code: (not 33 <= code < 127, code))
    return repr(chr(ordered[0])) if ordered[0] < 128 else "a character"
