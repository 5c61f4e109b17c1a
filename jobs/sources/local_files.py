"""Local files that the paths of an input match, and what cannot be read; without Spark.

A run, `check`, `plan` and `doctor` all list files with it; it opens none.
"""

from __future__ import annotations

import glob
import os
import re
import stat
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from jobs.errors import FaultlineError, InputMissingError, InputUnreadableError
from jobs.sources.contents import PARQUET, TEXT, check_contents
from jobs.sources.lake_apart import alternatives, leads_into, too_close
from jobs.uri import is_elsewhere

DEFAULT_STORE = "spark.hadoop.fs.defaultFS"  # store of paths without a scheme
AT_ONCE = 16
"""Files that are looked at together: a look at another store waits, and does nothing."""


@dataclass(frozen=True, order=True)
class InputFile:
    """One file as it was when listed.

    Attributes:
        name: its absolute path, or its URI.
        size: bytes.
        modified_ms: time of the last change, epoch ms.
        kind: what it is read as: `jsonl`, `csv` or `parquet`.
    """

    name: str
    size: int
    modified_ms: int
    kind: str = TEXT


@dataclass(frozen=True)
class Listing:
    """Files that the paths of one input match.

    Attributes:
        files: what is read, without duplicates, by name.
        hidden: what is skipped: names that start with a dot or an underscore, and half-copied files.
        problems: what can neither be read nor skipped.
    """

    files: tuple[InputFile, ...]
    hidden: tuple[str, ...] = ()
    problems: tuple[FaultlineError, ...] = ()

    @property
    def readable(self) -> dict[str, InputFile]:
        """Path for Spark's readers, with glob characters escaped, to its file; empty files left out."""
        return {re.sub(r"([\\{}\[\]*?])", r"\\\1", file.name): file for file in self.files if file.size}

    @property
    def size(self) -> int:
        """Total size in bytes."""
        return sum(file.size for file in self.files)

    @property
    def first_problem(self) -> FaultlineError:
        """The first problem, and the number of others."""
        first, *others = self.problems
        more = f" ({len(others)} more of the input: see faultline doctor)" if others else ""
        return type(first)(f"{first}{more}")


def missing(path: str) -> InputMissingError:
    """The error of a path that matches nothing."""
    return InputMissingError(f"input {path} does not exist; give a file, a folder or a glob that matches")


def is_local(path: str, default_store: str | None = None) -> bool:
    """Whether the path is local; paths without a scheme are on `default_store`."""
    if is_elsewhere(path) or path.startswith("file:"):
        return not is_elsewhere(path)
    return not (default_store and is_elsewhere(default_store))


def is_hidden(name: str) -> bool:
    """Whether files and folders with this name are skipped, as by Spark and Hadoop."""
    return name.startswith((".", "_")) or name.endswith("._COPYING_")


def listing_of(found: Iterable[tuple[InputFile, str]], problems: tuple[FaultlineError, ...] = ()) -> Listing:
    """The listing of files of another store, each with its path below what was named."""
    pairs = [(file, any(map(is_hidden, below.split("/")))) for file, below in found]
    files = tuple(sorted({file for file, is_left_out in pairs if not is_left_out}))
    return Listing(files, tuple(sorted({file.name for file, is_left_out in pairs if is_left_out})), problems)


def checked(
    files: Iterable[InputFile], kind_of: Callable[[str], str], head: Callable[[InputFile], bytes]
) -> tuple[InputFile, ...]:
    """The files with their kinds, after a look at their names and their first bytes.

    Args:
        files: here or on another store; a look at another store waits, so some are looked at together.
        kind_of: what a file of this name is read as.
        head: reads the first `HEAD_BYTES` of a file.

    Raises:
        InputUnreadableError: one cannot be read, its name has a colon, or its content does not fit its name.
    """

    def look(file: InputFile) -> InputFile:
        kind = kind_of(file.name)
        if ":" in file.name.rsplit("/", 1)[-1]:  # Hadoop takes the text before it for the scheme of a URI
            raise InputUnreadableError(f"{file.name} has a colon in its name, which Hadoop cannot open; rename it")
        if file.size:
            check_contents(file.name, kind, head(file))
        elif kind == PARQUET and file.name.lower().endswith(".parquet"):
            raise InputUnreadableError(f"{file.name} is empty, so it is not Parquet; replace it with a complete copy")
        return replace(file, kind=kind)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return tuple(pool.map(look, files))


def list_local(paths: Iterable[str], lake: str = "") -> Listing:
    """All files of the paths. A path is a file, a folder (read recursively) or a glob. Links are followed.

    Args:
        paths: local paths.
        lake: a file below it is a problem.
    """
    walk = _Walk(lake)
    for path in paths:
        walk.list(path)
    return Listing(
        tuple(sorted(walk.files.values(), key=lambda file: file.name)),
        tuple(sorted(walk.hidden)),
        tuple(problem for _, problem in sorted(walk.problems.items())),
    )


@dataclass
class _Walk:
    """State of the listing.

    Attributes:
        lake: its files are never input.
        files: files by real path.
        folders: real paths of visited folders.
        hidden: skipped names.
        problems: problems by path.
    """

    lake: str
    files: dict[str, InputFile] = field(default_factory=dict)
    folders: set[str] = field(default_factory=set)
    hidden: set[str] = field(default_factory=set)
    problems: dict[str, FaultlineError] = field(default_factory=dict)

    def list(self, source: str) -> None:
        """List the files of one path of the input."""
        path = os.path.abspath(re.sub("^file:(//)?", "", source))
        try:
            os.lstat(path)
            matches = [path]
        except (FileNotFoundError, NotADirectoryError, ValueError):
            matches = sorted({match for pattern in alternatives(path) for match in glob.glob(pattern)})
        except OSError as error:
            self._unreadable(error)
            return
        if not matches:
            self.problems[path] = missing(_shown(source))
        for match in matches:
            if match != path and is_hidden(os.path.basename(match)):
                self.hidden.add(_shown(match))
            elif os.path.isdir(match):
                self._list_folder(match)
            else:
                self._take(match)

    def _list_folder(self, top: str) -> None:
        self.folders.add(os.path.realpath(top))
        for folder, folders, names in os.walk(top, onerror=self._unreadable, followlinks=True):
            inner, paths = ([os.path.join(folder, name) for name in sorted(entries)] for entries in (folders, names))
            self.hidden |= {_shown(path) for path in (*inner, *paths) if is_hidden(os.path.basename(path))}
            inner.sort(key=os.path.islink)  # files of a folder come before links to them
            shown = [subfolder for subfolder in inner if not is_hidden(os.path.basename(subfolder))]
            folders[:] = [os.path.basename(subfolder) for subfolder in shown if self._is_new(subfolder)]
            for path in paths:
                if not is_hidden(os.path.basename(path)):
                    self._take(path)

    def _is_new(self, folder: str) -> bool:
        """Whether the folder was not visited yet; a link to a parent would never end."""
        real = os.path.realpath(folder)
        is_new = real not in self.folders
        self.folders.add(real)
        return is_new

    def _take(self, path: str) -> None:
        try:
            status = os.stat(path)
        except OSError as error:
            self._unreadable(error)
            return
        real = os.path.realpath(path)
        if self.lake and leads_into(real, self.lake):
            self.problems[path] = too_close(f"{_shown(path)} leads into the lake {self.lake}")
        elif not stat.S_ISREG(status.st_mode):
            self._wrong(path, "is not a regular file; remove it, or select the files with a glob")
        elif not os.access(path, os.R_OK, effective_ids=os.access in os.supports_effective_ids):
            self._wrong(path, "cannot be read: Permission denied; correct or remove it")
        elif re.search("[\ud800-\udfff]", path):  # how Python represents other bytes
            self._wrong(path, "has a name that is not UTF-8; rename it")
        elif real not in self.files or path == real:
            self.files[real] = InputFile(path, status.st_size, status.st_mtime_ns // 1_000_000)

    def _unreadable(self, error: OSError) -> None:
        self._wrong(str(error.filename), f"cannot be read: {error.strerror}; correct or remove it")

    def _wrong(self, path: str, what: str) -> None:
        self.problems[path] = InputUnreadableError(f"{_shown(path)} {what}")


def _shown(path: str) -> str:
    """The path with bytes that are not UTF-8 escaped."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")
