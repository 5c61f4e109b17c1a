"""Checks offline that the lock files match pyproject.toml: `python bin/locks.py`.

Every pin of pyproject.toml is in its lock, every locked file has a hash, no dependency of an installed package is
missing, nothing unneeded is locked, and jars have checksums.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

LOCKS: Mapping[str, tuple[str, ...]] = {"requirements.lock": ("build", "report"), "requirements-dev.lock": ("dev",)}
"""Lock file → extras that it covers."""

JAR_LOCKS = ("conf/jars.toml", "tests/recorder/jars.toml", "tests/stores/jars.toml", "bench/peers/jars.toml")

_ENTRY = re.compile(r"^(?P<name>[a-z0-9._-]+)==(?P<version>[^\s;\\]+)(?: ; (?P<marker>.+?))? \\$")
_HASH = re.compile(r"^    --hash=sha256:(?P<sha256>[0-9a-f]{64})( \\)?$")


@dataclass(frozen=True)
class Entry:
    """One locked package; `hashes` are the sha256 of its files."""

    name: str
    version: str
    marker: str
    hashes: tuple[str, ...]

    @property
    def is_for_this_machine(self) -> bool:
        """Whether this Python and system would install it."""
        return not self.marker or Marker(self.marker).evaluate()


def entries(lock: str) -> list[Entry]:
    """The packages of a lock file's text."""
    found: list[Entry] = []
    for line in lock.splitlines():
        if match := _ENTRY.match(line):
            found.append(Entry(match["name"], match["version"], match["marker"] or "", ()))
        elif match := _HASH.match(line):
            last = found[-1]
            found[-1] = replace(last, hashes=(*last.hashes, match["sha256"]))
    return found


def problems(lock: str, project: Mapping[str, object], extras: Sequence[str]) -> Iterator[str]:
    """Problems of a lock file.

    Args:
        lock: text of the lock file.
        project: the table `[project]` of pyproject.toml.
        extras: extras that it covers.
    """
    named = [line for line in lock.splitlines() if line[:1] not in {"", " ", "#"}]
    locked = entries(lock)
    if len(named) != len(locked):
        yield f"{len(named) - len(locked)} of {len(named)} packages are not pinned as name==version with hashes"
    yield from (f"{entry.name} {entry.version} has no hash" for entry in locked if not entry.hashes)
    here = {entry.name: entry.version for entry in locked if entry.is_for_this_machine}
    asked = set()
    for requirement in needed(project, extras):
        name = canonicalize_name(requirement.name)
        asked.add(name)
        if name not in here:
            yield f"{requirement} is not locked"
        elif here[name] not in requirement.specifier:
            yield f"{name} is locked at {here[name]}, but {requirement} is asked"
    yield from (f"{name} is locked, but nothing needs it" for name in sorted(here.keys() - asked))


def needed(project: Mapping[str, object], extras: Sequence[str]) -> Iterator[Requirement]:
    """Every transitive requirement of the project, by the metadata of the installed packages."""
    own: Mapping[str, Sequence[str]] = project["optional-dependencies"]  # type: ignore[assignment]
    open_ones = [*project["dependencies"], *(text for extra in extras for text in own[extra])]  # type: ignore[misc]
    seen = set()
    while open_ones:
        text = open_ones.pop()
        if text in seen:
            continue
        seen.add(text)
        requirement = Requirement(text)
        if requirement.name == project["name"]:
            open_ones += [text for extra in requirement.extras for text in own[extra]]
            continue
        yield requirement
        open_ones += dependencies(requirement)


def dependencies(requirement: Requirement) -> list[str]:
    """What the installed package of the requirement needs on this Python and system."""
    try:
        listed = [Requirement(text) for text in requires(requirement.name) or ()]
    except PackageNotFoundError:
        sys.exit(f"faultline: {requirement.name} is not installed; run make setup, then make lock")
    asked = [{"extra": extra} for extra in ("", *requirement.extras)]
    kept = [
        dependency
        for dependency in listed
        if dependency.marker is None or any(dependency.marker.evaluate(extra) for extra in asked)
    ]
    for dependency in kept:
        dependency.marker = None
    return [str(dependency) for dependency in kept]


def jars_without_checksum(lock: str) -> list[str]:
    """Names of the jars in a lock's text that have no sha256."""
    table = tomllib.loads(lock)
    jars = [*table.get("jar", ()), *(jar for client in table.get("client", {}).values() for jar in client)]
    return [jar["name"] for jar in jars if not re.fullmatch("[0-9a-f]{64}", jar.get("sha256", ""))]


def main() -> int:
    """Print every problem; 1 if there is one."""
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    told = [
        f"{lock}: {problem}; run make lock"
        for lock, extras in LOCKS.items()
        for problem in problems(Path(lock).read_text(encoding="utf-8"), project, extras)
    ]
    for lock in JAR_LOCKS:
        told += [
            f"{lock}: {jar} has no sha256" for jar in jars_without_checksum(Path(lock).read_text(encoding="utf-8"))
        ]
    sys.stderr.write("".join(f"{line}\n" for line in told))
    return 1 if told else 0


if __name__ == "__main__":
    raise SystemExit(main())
