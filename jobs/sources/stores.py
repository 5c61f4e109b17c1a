"""Files where they lie: this machine's as Python sees them, those of other stores through Hadoop."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.sql import SparkSession

from jobs.errors import InputMissingError, InputUnreadableError
from jobs.sources.local_files import is_local
from jobs.sources.whole_text import Readable
from jobs.spark.failures import root_cause


class Found(NamedTuple):
    """A file of another store: its name, what it was found below, its bytes, its last change in epoch ms."""

    name: str
    root: str
    size: int
    modified_ms: int


class Stores:
    """The stores that a session reads from."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._hadoop = spark._jsc.hadoopConfiguration()
        self._default = self._hadoop.get("fs.defaultFS")

    def is_local(self, path: str) -> bool:
        """Whether a path lies on this machine."""
        return is_local(path, self._default)

    def status(self, name: str) -> tuple[int, int] | None:
        """Size and time of the last change (epoch ms) of a file; None when it is none any more."""
        if self.is_local(name):
            try:
                found = Path(name).stat()
            except OSError:
                return None
            return (found.st_size, found.st_mtime_ns // 1_000_000) if stat.S_ISREG(found.st_mode) else None
        try:
            status = self._system(name).getFileStatus(self._path(name))
        except Py4JJavaError:
            return None
        return (status.getLen(), status.getModificationTime()) if status.isFile() else None

    def is_seen_by_java(self, name: str) -> bool:
        """Whether the JVM finds the file under its name, which its language may not be able to spell."""
        return name.isascii() or bool(self._system(name).exists(self._path(name)))

    def ends(self, name: str, size: int, head_bytes: int, tail_bytes: int) -> tuple[bytes, bytes]:
        """The first and the last bytes of a file.

        Raises:
            InputUnreadableError: it cannot be opened.
        """
        with self.opened(name) as file:
            head = file.read(head_bytes)
            if size <= len(head):
                return head, head[-tail_bytes:]
            file.seek(max(size - tail_bytes, 0))
            return head, file.read(tail_bytes)

    @contextmanager
    def opened(self, name: str) -> Iterator[Any]:
        """The file, to be read; never a FIFO or device that took its place, which would wait for ever.

        Raises:
            InputUnreadableError: it cannot be opened.
        """
        try:
            if self.is_local(name):
                with os.fdopen(os.open(name, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
                    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                        raise InputUnreadableError(f"{name} is no file any more; run again")
                    yield file
            else:
                stream = self._system(name).open(self._path(name))
                try:
                    yield _Stream(stream)
                finally:
                    stream.close()
        except (OSError, Py4JJavaError) as error:
            why = error.strerror if isinstance(error, OSError) else root_cause(error)
            raise InputUnreadableError(f"{name} cannot be opened: {why}; mend its permissions, or run again") from error

    def found(self, given: str) -> Iterator[Found]:
        """Each file of another store below a path, with the part of its name from which on it may be hidden.

        Raises:
            InputMissingError: no such path, or a store that does not answer.
        """
        try:
            path, system = self._path(given), self._system(given)
            is_named = system.exists(path)
            matches = [system.getFileStatus(path)] if is_named else list(system.globStatus(path) or [])
            for match in matches:
                root = _shown(match.getPath())
                if match.isDirectory():
                    below = system.listFiles(match.getPath(), True)
                    while below.hasNext():
                        yield _found(below.next(), f"{root}/" if is_named else root)
                else:
                    yield _found(match, root)
        except (Py4JError, ValueError) as error:
            raise InputMissingError(f"input {given} cannot be listed: {root_cause(error)}; check the path") from error
        if not matches:
            raise InputMissingError(f"input {given} does not exist; give a file, a folder or a glob that matches")

    def copy(self, name: str, target: str) -> None:
        """Copy a file, between stores too."""
        util = self._spark._jvm.org.apache.hadoop.fs.FileUtil  # type: ignore[union-attr]
        source, copy = self._path(name), self._path(target)
        util.copy(self._system(name), source, self._system(target), copy, False, True, self._hadoop)

    def _path(self, name: str) -> Any:
        return self._spark._jvm.org.apache.hadoop.fs.Path(name)  # type: ignore[union-attr]

    def _system(self, name: str) -> Any:
        return self._path(name).getFileSystem(self._hadoop)


class _Stream(Readable):
    """A stream of Hadoop's."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def read(self, size: int, /) -> bytes:
        return bytes(self._stream.readNBytes(size))

    def seek(self, place: int) -> None:
        self._stream.seek(place)


def _found(status: Any, root: str) -> Found:
    return Found(_shown(status.getPath()), root, status.getLen(), status.getModificationTime())


def _shown(path: Any) -> str:
    return str(path.toString()).removeprefix("file:")
