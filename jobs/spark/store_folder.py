"""The files of one folder on any store, by Hadoop's file system."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.sql import SparkSession

from jobs.spark.failures import root_cause

_IF_NONE_IS_THERE = "fs.option.create.conditional.overwrite"
"""S3A's option for `If-None-Match: *` (Hadoop 3.5, `Constants.FS_OPTION_CREATE_CONDITIONAL_OVERWRITE`)."""


class StoreFolder:
    """A folder that exists once it has a file. Every failure is an OSError with the store's own words."""

    def __init__(self, spark: SparkSession, uri: str) -> None:
        self._spark: Any = spark
        self._uri = uri.rstrip("/")

    @cached_property
    def _path_of(self) -> Any:
        return self._spark._jvm.org.apache.hadoop.fs.Path

    @cached_property
    def _system(self) -> Any:
        return self._path_of(self._uri).getFileSystem(self._spark._jsc.hadoopConfiguration())

    def files(self) -> dict[str, int]:
        """Name of each file and its last change, epoch ms by the store's clock."""
        try:
            with _as_os_error():
                found = self._system.listStatus(self._path_of(self._uri))
                return {status.getPath().getName(): status.getModificationTime() for status in found if status.isFile()}
        except FileNotFoundError:
            return {}

    def size(self) -> int:
        """Bytes of all that is in the folder.

        Raises:
            FileNotFoundError: it is not there.
        """
        with _as_os_error():
            return int(self._system.getContentSummary(self._path_of(self._uri)).getLength())

    def read(self, name: str, most_bytes: int) -> bytes:
        """The first bytes of a file.

        Raises:
            FileNotFoundError: it is not there.
        """
        with _as_os_error():
            stream = self._system.open(self._path(name))
            try:
                return bytes(stream.readNBytes(most_bytes))
            finally:
                stream.close()

    def create(self, name: str) -> NewFile:
        """A file that is only there, once it is closed, if no other came first.

        A store refuses the second of two here, or when it is closed.
        """
        with _as_os_error():
            new = self._system.createFile(self._path(name)).recursive().overwrite(False)
            return NewFile(new.opt(_IF_NONE_IS_THERE, "true").build())

    def write(self, name: str, content: bytes) -> None:
        """Write a file, in place of another of its name."""
        with _as_os_error():
            NewFile(self._system.create(self._path(name), True)).finish(content)

    def replace(self, name: str, content: bytes) -> None:
        """Write a file beside the one of its name, then rename it: nobody reads a part of it."""
        self.write(f"{name}.part", content)
        with _as_os_error():
            self._system.delete(self._path(name), False)
            if not self._system.rename(self._path(f"{name}.part"), self._path(name)):
                raise OSError(errno.EIO, f"{name}.part cannot be renamed")

    def delete(self, name: str) -> None:
        """Delete a file, or a folder with all that is in it; none of that name is no failure."""
        with _as_os_error():
            self._system.delete(self._path(name), True)

    def _path(self, name: str) -> Any:
        return self._path_of(f"{self._uri}/{name}")


class NewFile:
    """A file that is being written."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def finish(self, content: bytes) -> None:
        """Write the content and close the file."""
        with _as_os_error():
            try:
                self._stream.write(bytearray(content))
            finally:
                self._stream.close()


@contextmanager
def _as_os_error() -> Iterator[None]:
    try:
        yield
    except Py4JError as error:
        is_gone = isinstance(error, Py4JJavaError) and "java.io.FileNotFoundException" in str(error.java_exception)
        raise OSError(errno.ENOENT if is_gone else errno.EIO, root_cause(error)) from error
