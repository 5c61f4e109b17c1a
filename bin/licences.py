"""Writes docs/licences.md: the licences of what Faultline bundles and runs on: `python bin/licences.py [--check]`.

`--check` fails when the page is stale. Both fail on a licence that is unknown or not allowed.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import PackageMetadata, PackageNotFoundError, metadata
from importlib.resources import files
from pathlib import Path

ALLOWED = {
    "0BSD", "Apache-2.0", "BSD", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT", "MPL-2.0", "PSF-2.0", "Zlib",
}  # fmt: skip
ALLOWED_IN_TESTS = ALLOWED | {"EPL-1.0"}  # only run, never changed or distributed

# Licences of packages without a License-Expression.
_NAMED = {
    "Apache 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}

# By their own licence files: packages without any metadata of it, or that are never installed here.
_GIVEN = {"axe-playwright-python": "MIT AND MPL-2.0", "colorama": "BSD", "pyyaml-ft": "MIT"}
_JARS = {
    "com.alibaba": "Apache-2.0",
    "commons-collections": "Apache-2.0",
    "commons-validator": "Apache-2.0",
    "io.delta": "Apache-2.0",
    "io.github.aliyunmq:rocketmq-logback-classic": "EPL-1.0 OR LGPL-2.1-only",
    "io.github.aliyunmq:rocketmq-slf4j-api": "MIT",
    "org.apache.rocketmq": "Apache-2.0",
}

PLOTLY_JS = "package_data/plotly.min.js"
"""Of the package plotly."""

_PAGE = Path("docs/licences.md")
_HEAD = """# Licences

Written by `make licences` from the lock files and the packages' own metadata; do not edit. `make check` fails when it
is stale, or when a licence is not on the list in `bin/licences.py`. Faultline itself is Apache-2.0.
"""
_ABOUT_SPARK = """
pyspark holds Spark's jars; their licences are in its folder `pyspark/licenses`. plotly.js is the only script or style
of others that a report embeds.
"""

Row = tuple[str, str, str]
"""Name, version, licence."""


class UnknownLicenceError(Exception):
    """A package whose licence is unknown or not allowed."""


def page() -> str:
    """The whole page."""
    runs, tests = (packages(Path(f"requirements{kind}.lock")) for kind in ("", "-dev"))
    sections = {
        "Packages that a run uses": [*runs, plotly_js()],
        "Jars that a run uses": list(jars("conf/jars.toml")),
        "Packages for tests and checks only": [row for row in tests if row not in runs],
        "Jars for tests and benchmarks only": sorted(
            {*jars("tests/recorder/jars.toml"), *jars("bench/peers/jars.toml")}
        ),
    }
    parts = [_HEAD]
    for title, rows in sections.items():
        for row in rows:
            check_allowed(row, ALLOWED_IN_TESTS if title.endswith("only") else ALLOWED)
        parts.append(f"## {title}\n\n| name | version | licence |\n|---|---|---|")
        parts += [f"| {name} | {version} | {licence} |" for name, version, licence in rows]
        parts.append("")
    return "\n".join([*parts[:-1], _ABOUT_SPARK.rstrip(), ""])


def check_allowed(row: Row, allowed: set[str]) -> None:
    """Reject a licence that is not allowed; `A OR B` needs one allowed licence, `A AND B` both.

    Raises:
        UnknownLicenceError: with the name of the package.
    """
    name, version, licence = row
    if not any(set(choice.split(" AND ")) <= allowed for choice in licence.split(" OR ")):
        raise UnknownLicenceError(
            f"{name} {version} has the licence {licence!r}, which is not allowed; take another package,"
            " or add the licence to ALLOWED in bin/licences.py"
        )


def licence_of(name: str, told: PackageMetadata) -> str:
    """Licence of a package by its metadata.

    Raises:
        UnknownLicenceError: it has none, or an unknown one.
    """
    for expression in told.get_all("License-Expression") or ():
        return str(expression)
    classifiers = [
        classifier.rpartition(" :: ")[2]
        for classifier in told.get_all("Classifier") or []
        if "OSI Approved ::" in classifier
    ]
    for said in (*(told.get_all("License") or ()), *classifiers):
        found = _NAMED.get(said, said)
        if found in ALLOWED:
            return str(found)
    raise UnknownLicenceError(f"{name} has no known licence ({', '.join(classifiers) or 'none'}); look it up")


def packages(lock: Path) -> list[Row]:
    """Packages of the lock; versions for other Pythons are assumed to have the licence of the installed one."""
    pins = re.findall(r"^([a-z0-9._-]+)==([^\s;\\]+)", lock.read_text(encoding="utf-8"), re.MULTILINE)
    return [(name, version, _GIVEN.get(name) or _installed(name)) for name, version in pins]


def _installed(name: str) -> str:
    try:
        return licence_of(name, metadata(name))
    except PackageNotFoundError:
        raise UnknownLicenceError(f"{name} is not installed; run make setup, or add it to _GIVEN") from None


def plotly_js() -> Row:
    """plotly.js, by the header of its file in the package plotly."""
    head = files("plotly").joinpath(PLOTLY_JS).read_text(encoding="utf-8")[:500]
    version, licence = re.search(r"plotly\.js v(\S+)", head), re.search(r"Licensed under the (\S+) license", head)
    if version is None or licence is None:
        raise UnknownLicenceError("plotly.min.js has no version and licence in its head; look it up")
    return "plotly.js (in plotly)", version[1], licence[1]


def jars(lock: str) -> Iterator[Row]:
    """Jars of the lock, by `group:name`."""
    table = tomllib.loads(Path(lock).read_text(encoding="utf-8"))
    listed: list[Mapping[str, str]] = [
        *table.get("jar", ()),
        *(jar for of_client in table.get("client", {}).values() for jar in of_client),
    ]
    for jar in listed:
        name = f"{jar['group']}:{jar['name']}"
        licence = _JARS.get(name) or _JARS.get(jar["group"])
        if licence is None:
            raise UnknownLicenceError(f"the licence of {name} is not known; add it to _JARS in bin/licences.py")
        yield name, jar["version"], licence


def main(arguments: Sequence[str]) -> int:
    """Write the page, or compare it."""
    try:
        now = page()
    except UnknownLicenceError as error:
        sys.stderr.write(f"faultline: {error}\n")
        return 1
    if "--check" not in arguments:
        _PAGE.write_text(now, encoding="utf-8")
        return 0
    if not _PAGE.is_file() or _PAGE.read_text(encoding="utf-8") != now:
        sys.stderr.write(f"{_PAGE} is stale; run make licences\n")
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
