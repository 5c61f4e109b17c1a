"""mutmut over plain Python, on a copy: `[tool.mutmut]` in pyproject.toml says which modules and which tests."""

from __future__ import annotations

import fnmatch
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

from tests.mutants.copies import MutantsError, environ_of
from tests.mutants.page import Survivor

_RESULT = re.compile(r"    (?P<mutant>\S+): (?P<status>.+)")
_NOT_NOTICED = {"survived", "no tests", "not checked", "suspicious", "skipped"}
_OF_A_CLASS = "ǁ"


def survivors(tree: Path, names: Sequence[str], at_once: int, log: IO[str]) -> list[Survivor]:
    """The mutants that mutmut made and no test noticed.

    Args:
        tree: a copy of the checkout.
        names: globs of mutants as mutmut calls them, such as `udfs.moves.*`; none = all.
        at_once: processes.
        log: takes what mutmut prints.

    Raises:
        MutantsError: mutmut cannot run.
    """
    command = [str(Path(sys.executable).parent / "mutmut")]
    environ = environ_of(tree) | {"PYTHONPATH": ""}  # mutmut puts its own folder first, where the changed code stands
    asked = [*command, "run", "--max-children", str(at_once), *names]
    ended = subprocess.run(asked, cwd=tree, env=environ, stdout=log, stderr=log, check=False)
    if ended.returncode:
        raise MutantsError(f"mutmut run ends with {ended.returncode}; see {log.name}")

    def said(*arguments: str) -> str:
        asked = [*command, *arguments]
        return subprocess.run(asked, cwd=tree, env=environ, capture_output=True, text=True, check=True).stdout

    found = [match for line in said("results").splitlines() if (match := _RESULT.fullmatch(line))]
    chosen = [each["mutant"] for each in found if each["status"] in _NOT_NOTICED and _is_asked(each["mutant"], names)]
    return [survivor_of(mutant, said("show", mutant)) for mutant in chosen]


def _is_asked(mutant: str, names: Sequence[str]) -> bool:
    return not names or any(fnmatch.fnmatchcase(mutant, name) for name in names)


def survivor_of(mutant: str, shown: str) -> Survivor:
    """By what `mutmut show` prints: a diff of one function.

    >>> shown = "# survived\\n--- a\\n+++ a\\n@@ -1 +1 @@\\n def f():\\n-    x = 1\\n+    x = 2\\n"
    >>> survivor_of("udfs.a.x_f__mutmut_3", shown)
    Survivor(name='udfs.a.f', before='x = 1', after='x = 2')
    >>> survivor_of("udfs.a.xǁItemǁend__mutmut_3", "").name
    'udfs.a.Item.end'
    """
    module, _, mangled = mutant.partition("__mutmut_")[0].rpartition(".")
    function = mangled.removeprefix("x").removeprefix("_").strip(_OF_A_CLASS).replace(_OF_A_CLASS, ".")
    before, after = (" ".join(_lines(shown, sign)) for sign in "-+")
    return Survivor(f"{module}.{function}", before, after)


def _lines(shown: str, sign: str) -> Iterator[str]:
    for line in shown.splitlines():
        if line.startswith(sign) and not line.startswith(sign * 3):
            yield line[1:].strip()
