"""Files: local ones through Python, those of other stores through Hadoop."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.sql import SparkSession

from jobs.errors import InputMissingError, InputUnreadableError
from jobs.sources.local_files import InputFile, is_local, missing
from jobs.spark.failures import root_cause


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
        """Size and time of the last change (epoch ms) of a file; None when it is gone."""
        if self.is_local(name):
            try:
                status = Path(name).stat()
            except OSError:
                return None
            return (status.st_size, status.st_mtime_ns // 1_000_000) if stat.S_ISREG(status.st_mode) else None
        try:
            status = self._system(name).getFileStatus(self._path(name))
        except Py4JJavaError:
            return None
        return (status.getLen(), status.getModificationTime()) if status.isFile() else None

    def head(self, file: InputFile, size: int, *, unpacked: bool = False) -> bytes:
        """The first bytes of a file, decompressed if asked.

        Raises:
            InputUnreadableError: it cannot be opened or decompressed.
        """
        path = self._path(file.name)
        codecs = self._spark._jvm.org.apache.hadoop.io.compress.CompressionCodecFactory  # type: ignore[union-attr]
        codec = codecs(self._hadoop).getCodec(path) if unpacked else None
        try:
            opening = self._system(file.name).openFile(path)  # S3A asks for a length that it is not given
            stream = opening.opt("fs.option.openfile.length", str(file.size)).build().get()
            try:
                return bytes((codec.createInputStream(stream) if codec else stream).readNBytes(size))
            finally:
                stream.close()
        except Py4JJavaError as error:
            raise InputUnreadableError(
                f"{file.name} cannot be read to its end ({root_cause(error)}); replace it with a complete copy"
            ) from error

    def found(self, pattern: str) -> Iterator[tuple[InputFile, str]]:
        """Each file of another store that a path matches, with its path below it.

        Raises:
            InputMissingError: the path does not exist, or the store does not answer.
        """
        try:
            path, system = self._path(pattern), self._system(pattern)
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
            raise InputMissingError(f"input {pattern} cannot be listed: {root_cause(error)}; check the path") from error
        if not matches:
            raise missing(pattern)

    def _path(self, name: str) -> Any:
        return self._spark._jvm.org.apache.hadoop.fs.Path(name)  # type: ignore[union-attr]

    def _system(self, name: str) -> Any:
        return self._path(name).getFileSystem(self._hadoop)


def _found(status: Any, root: str) -> tuple[InputFile, str]:
    name = _shown(status.getPath())
    file = InputFile(name, status.getLen(), status.getModificationTime())
    return file, name.removeprefix(root.rsplit("/", 1)[0])


def _shown(path: Any) -> str:
    return str(path.toString()).removeprefix("file:")
