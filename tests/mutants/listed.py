"""Our own mutants, `listed.toml`: each a text of a file that becomes another, and the tests that ought to notice."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

LIST = Path(__file__).parent / "listed.toml"


@dataclass(frozen=True)
class Mutant:
    """One change of the program.

    Attributes:
        name: in the list and on the page of survivors.
        file: which it changes, below the checkout.
        text: stands in the file exactly once.
        becomes: what stands there instead.
        tests: files or single tests, as pytest takes them; one of them ought to fail.
    """

    name: str
    file: str
    text: str
    becomes: str
    tests: tuple[str, ...]

    def applied(self, source: str) -> str:
        """The file's text with the change.

        Raises:
            ValueError: the text does not stand there exactly once.
        """
        if (found := source.count(self.text)) != 1:
            raise ValueError(f"{self.name}: its text stands {found} times in {self.file}")
        return source.replace(self.text, self.becomes)


def all_listed() -> tuple[Mutant, ...]:
    """The list, in its order."""
    rows = tomllib.loads(LIST.read_text(encoding="utf-8"))["mutant"]
    return tuple(Mutant(**{**row, "tests": tuple(row["tests"])}) for row in rows)


def misfits(mutants: Sequence[Mutant], root: Path) -> Iterator[str]:
    """What does not fit the code below `root`: a sentence each."""
    names = [mutant.name for mutant in mutants]
    yield from (f"{name} is listed twice" for name in sorted({name for name in names if names.count(name) > 1}))
    yield from (f"{name} has a dot, by which mutmut's names are known" for name in names if "." in name)
    for mutant in mutants:
        file = root / mutant.file
        if not file.is_file():
            yield f"{mutant.name}: there is no {mutant.file}"
            continue
        try:
            ast.parse(mutant.applied(file.read_text(encoding="utf-8")))
        except ValueError as error:
            yield str(error)
        except SyntaxError:
            yield f"{mutant.name}: {mutant.file} is no Python any more"
        if mutant.text == mutant.becomes:
            yield f"{mutant.name} changes nothing"
        yield from (f"{mutant.name}: there is no {test}" for test in mutant.tests if not _is_there(root, test))
        if not mutant.tests:
            yield f"{mutant.name} names no tests"


def _is_there(root: Path, test: str) -> bool:
    """Whether the file is there, and the function in it; parameters are not looked for."""
    file, _, function = test.partition("::")
    if not (root / file).exists():
        return False
    name = re.escape(function.partition("[")[0])
    return not function or bool(re.search(rf"^def {name}\(", (root / file).read_text(encoding="utf-8"), re.MULTILINE))
