"""Files that an input's paths stand for on this machine: each real file once, and everything that is not read.

A run, `plan` and `doctor` list it alike, without Spark; nothing is opened.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field

from jobs.errors import FaultlineError, InputMissingError, InputUnreadableError
from jobs.sources.globs import matches
from jobs.sources.lake_apart import leads_into, too_close
from jobs.sources.listing import Listing, LocalFile
from jobs.uri import is_elsewhere

DEFAULT_STORE = "spark.hadoop.fs.defaultFS"  # where paths without a store's name lie
_KINDS = {stat.S_IFIFO: "FIFO", stat.S_IFSOCK: "socket", stat.S_IFCHR: "device", stat.S_IFBLK: "device"}


def is_local(path: str, default_store: str | None = None) -> bool:
    """Whether the path lies on this machine, where paths without a store's name lie on `default_store`."""
    if is_elsewhere(path) or path.startswith("file:"):
        return not is_elsewhere(path)
    return not (default_store and is_elsewhere(default_store))


def list_local(paths: Iterable[str], lake: str = "") -> Listing:
    """Every file below the paths, each a file, a folder read to any depth, or a glob.

    A link is followed, but what it leads to counts once, and rather by its own name; so a link that leads back ends.

    Args:
        paths: on this machine.
        lake: its tables are no input: a link that leads into it is a problem.
    """
    walk = _Walk(lake)
    for path in paths:
        walk.start(path)
    return walk.finish()


@dataclass
class _Walk:
    """Files of the walk so far; all that is in its own place comes before links are followed."""

    lake: str
    files: dict[tuple[int, ...] | str, LocalFile] = field(default_factory=dict)
    folders: dict[str, str] = field(default_factory=dict)  # real path to the name that it is read by
    hidden: set[str] = field(default_factory=set)
    repeated: dict[str, str] = field(default_factory=dict)
    problems: dict[str, FaultlineError] = field(default_factory=dict)
    links: set[tuple[str, str]] = field(default_factory=set)

    def start(self, given: str) -> None:
        """Walk one path of the input, all but its links."""
        path = os.path.abspath(re.sub("^file:(//)?", "", given))
        try:
            found = [path] if _is_there(path) else matches(path)
        except (OSError, ValueError, re.error) as error:
            sentence = f"input {_shown(given)} cannot be listed: {_why(error)}; check the path"
            self.problems[path] = InputMissingError(sentence)
            return
        if not found:
            sentence = f"input {_shown(given)} does not exist; give a file, a folder or a glob that matches"
            self.problems[path] = InputMissingError(sentence)
        for each in found:
            is_asked_for = each == path and os.path.isdir(each)  # then it may be hidden itself
            self._walk(each, given, is_hidden=_is_hidden(each) and not is_asked_for)

    def finish(self) -> Listing:
        """Follow the links, those found on the way too."""
        while self.links:
            links = sorted(self.links)
            self.links.clear()
            for link, given in links:
                self._follow(link, given)
        return Listing(
            tuple(sorted(self.files.values(), key=lambda file: file.name)),
            tuple(sorted(self.hidden)),
            tuple(f"{_shown(name)} is {_shown(first)} again" for name, first in sorted(self.repeated.items())),
            tuple(problem for _, problem in sorted(self.problems.items())),
        )

    def _walk(self, top: str, given: str, *, is_hidden: bool = False, is_followed: bool = False) -> None:
        """All below `top`, without recursion: folders may be nested deeper than Python calls."""
        left = [(top, is_hidden)]
        while left:
            path, is_hidden = left.pop()
            try:
                found = os.stat(path) if is_followed and path == top else os.lstat(path)
                if is_hidden:
                    left += self._hide(path, found)
                elif stat.S_ISLNK(found.st_mode):
                    self.links.add((path, given))
                elif not stat.S_ISDIR(found.st_mode):
                    self._take(path, found, given)
                elif self._enters(path):
                    left += [(each, _is_hidden(each)) for each in _entries(path)]
            except OSError as error:
                self._wrong(path, f"cannot be looked at ({_why(error)}); mend its permissions, or run again")

    def _hide(self, path: str, found: os.stat_result) -> list[tuple[str, bool]]:
        """Name what is hidden; of a folder, what it holds."""
        if stat.S_ISDIR(found.st_mode) and _may(path, os.R_OK | os.X_OK):
            return [(each, True) for each in _entries(path)]
        self.hidden.add(_shown(path))
        return []

    def _enters(self, path: str) -> bool:
        """Whether the folder is to be walked: it is the input's, and was not walked yet."""
        real = os.path.realpath(path)
        if self._is_of_the_lake(path, real):
            return False
        if not _is_utf8(path):
            self._wrong(path, "has a name that is not UTF-8; rename it")
            return False
        if real not in self.folders:
            self.folders[real] = path
            return True
        if self.folders[real] != path:
            self.repeated[path] = self.folders[real]
        return False

    def _take(self, path: str, found: os.stat_result, given: str) -> None:
        kind = _KINDS.get(stat.S_IFMT(found.st_mode))
        if kind:
            self._wrong(path, f"is a {kind}, no file, and was not opened; remove it, or name the files by a glob")
        elif path.endswith("._COPYING_"):
            self.hidden.add(_shown(path))
        elif not _may(path, os.R_OK):
            self._wrong(path, "may not be read; mend its permissions")
        elif not self._has_an_odd_name(path):
            # With size and time: there are file systems that give two files one number, or all of them 0.
            same = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
            file = LocalFile(path, found.st_size, found.st_mtime_ns // 1_000_000, given)
            first = self.files.setdefault(same if found.st_ino else os.path.realpath(path), file)
            if first.name != path:
                self.repeated[path] = first.name

    def _follow(self, link: str, given: str) -> None:
        try:
            os.stat(link)
        except OSError as error:
            leads = f"is a link to {_shown(os.readlink(link))}, "
            if error.errno == errno.ELOOP:
                self._wrong(link, f"{leads}which leads back to it; remove it")
            elif error.errno in {errno.ENOENT, errno.ENOTDIR}:
                self._wrong(link, f"{leads}which does not exist; remove it or mend it")
            else:
                self._wrong(link, f"{leads}which cannot be looked at ({_why(error)}); mend its permissions")
            return
        if not self._is_of_the_lake(link, os.path.realpath(link)):
            self._walk(link, given, is_followed=True)

    def _is_of_the_lake(self, path: str, real: str) -> bool:
        is_inside = bool(self.lake) and leads_into(real, self.lake)
        if is_inside:
            self.problems[path] = too_close(f"{_shown(path)} leads into the lake {self.lake}")
        return is_inside

    def _has_an_odd_name(self, path: str) -> bool:
        if not _is_utf8(path):
            self._wrong(path, "has a name that is not UTF-8; rename it")
        elif ":" in os.path.basename(path):  # Hadoop takes the text before it for the scheme of a URI
            self._wrong(path, "has a colon in its name, which Hadoop cannot open; rename it")
        return path in self.problems

    def _wrong(self, path: str, what: str) -> None:
        self.problems[path] = InputUnreadableError(f"{_shown(path)} {what}")


def _entries(folder: str) -> list[str]:
    """Entries of the folder, last first, as a stack gives them back in order."""
    return [os.path.join(folder, name) for name in sorted(os.listdir(folder), reverse=True)]


def _is_there(path: str) -> bool:
    """Whether something is there, a dangling link too."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def _may(path: str, mode: int) -> bool:
    return os.access(path, mode, effective_ids=os.access in os.supports_effective_ids)


def _is_hidden(path: str) -> bool:
    return os.path.basename(path).startswith(".")


def _is_utf8(path: str) -> bool:
    try:
        os.fsencode(path).decode()
    except UnicodeDecodeError:
        return False
    return True


def _shown(path: str) -> str:
    """The path as UTF-8 can show it."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _why(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
