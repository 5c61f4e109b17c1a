"""The files of one input, listed before anything is read and checked again after it."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from jobs.errors import InputMissingError, InputUnreadableError
from jobs.spark_errors import root_cause

_GZIP_MAGIC = b"\x1f\x8b"
_LOOKED_AT = 65_536  # bytes at the start of each file
_GROWTH = 500  # logs grow 10 to 100 times when unpacked, what was made to harm 1,030 times


@dataclass(frozen=True, order=True)
class InputFile:
    """One file as it stood when it was listed.

    Attributes:
        name: path as a user knows it.
        size: bytes.
        modified_ms: time of the last change, epoch ms.
        readable_name: where Spark reads it; another path only for names that Spark would skip.
    """

    name: str
    size: int
    modified_ms: int
    readable_name: str

    @property
    def base(self) -> str:
        """The last part of its name."""
        return self.name.rsplit("/", 1)[-1]


@dataclass(frozen=True)
class Manifest:
    """All files of one input, and those that are left out by rule."""

    files: tuple[InputFile, ...]
    hidden: tuple[str, ...]

    @property
    def readable_paths(self) -> list[str]:
        """Paths for Spark's readers, with glob characters escaped; empty files left out."""
        return [re.sub(r"([\\{}\[\]*?])", r"\\\1", file.readable_name) for file in self.files if file.size]

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files)


def list_files(spark: SparkSession, paths: Sequence[str], scratch: str) -> Manifest:
    """Every file below `paths`: each a file, a folder read to any depth, or a glob.

    Files that are hidden (their name, or a folder's below the path, starts with a dot) or still being copied by
    HDFS are left out and named in `hidden`. A name with a leading underscore is read like any other: Spark would
    skip it silently, so it is copied to `scratch` first.

    Raises:
        InputMissingError: a path that does not exist, or a glob that matches nothing.
        InputUnreadableError: a gzip file not named `.gz`, or a `.gz` that is none, or a name with a colon.
    """
    found: dict[str, InputFile] = {}
    hidden: set[str] = set()
    for path in paths:
        for root, status in _statuses(spark, path):
            name = _display(status.getPath())
            below = name.removeprefix(root.rsplit("/", 1)[0])
            if "/." in below or name.endswith("._COPYING_"):
                hidden.add(name)
            elif name not in found:
                found[name] = InputFile(name, status.getLen(), status.getModificationTime(), name)
    files: list[InputFile] = []
    for file in sorted(found.values()):
        _check_name(file)
        _check_gzip(spark, file)
        skipped_by_spark = file.base.startswith("_") and file.size
        files.append(_copied(spark, file, f"{scratch}/input-{len(files)}") if skipped_by_spark else file)
    return Manifest(tuple(files), tuple(sorted(hidden)))


def shown_path(file: Column, manifest: Manifest) -> Column:
    """The path as a user knows it, of a file as Spark names it."""
    path = F.regexp_replace(F.try_url_decode(F.replace(file, F.lit("+"), F.lit("%2B"))), "^file:/*", "/")
    names = {each.readable_name: each.name for each in manifest.files if each.readable_name != each.name}
    for copy, original in names.items():
        path = F.when(path.endswith(copy.removeprefix("file:")), F.lit(original)).otherwise(path)
    return path


def check_unchanged(spark: SparkSession, manifest: Manifest) -> None:
    """Fail when a file changed or vanished since it was listed.

    Raises:
        InputUnreadableError: naming the first such file.
    """
    for file in manifest.files:
        path = _path(spark, file.name)
        try:
            status = _file_system(spark, path).getFileStatus(path)
        except Py4JJavaError:
            raise InputUnreadableError(f"{file.name} vanished while it was read; run again") from None
        if (status.getLen(), status.getModificationTime()) != (file.size, file.modified_ms):
            raise InputUnreadableError(f"{file.name} changed while it was read; run again when it is complete")


def unreadable(error: Exception, manifest: Manifest) -> InputUnreadableError | None:
    """What a failed read means to the user, or None when it was no file's fault."""
    text = str(error)
    named = re.search(r"(?:reading file|FAILED_READ_FILE)[^\n]*?((?:[a-z0-9]+:)?/[^\s\"']+)", text)
    signs = (
        "FAILED_READ_FILE",
        "Unexpected end of input stream",
        "EOFException",
        "incorrect data check",
        "incorrect header check",
        "invalid block type",
        "not a gzip file",
        "ZipException",
        "CRC",
    )
    if not any(sign in text for sign in signs):
        return None
    culprit = named.group(1).rstrip(".") if named else ""
    names = [
        file.name for file in manifest.files if unquote(culprit).endswith(file.readable_name.removeprefix("file:"))
    ]
    name = names[0] if names else culprit or "an input file"
    return InputUnreadableError(
        f"{name} cannot be read to its end ({root_cause(error)}); replace it with a complete copy"
    )


def _statuses(spark: SparkSession, name: str) -> Iterable[tuple[str, Any]]:
    """Each file, with where it was found from: the part of its path after that one's last `/` may be hidden."""
    try:
        path = _path(spark, name)
        system = _file_system(spark, path)
        is_named = system.exists(path)
        matches = [system.getFileStatus(path)] if is_named else list(system.globStatus(path) or [])
    except (Py4JError, ValueError) as error:
        raise InputMissingError(f"input {name} cannot be listed: {root_cause(error)}; check the path") from error
    if not matches:
        raise InputMissingError(f"input {name} does not exist; give a file, a folder or a glob that matches")
    for match in matches:
        found = _display(match.getPath())
        if match.isDirectory():
            below = system.listFiles(match.getPath(), True)
            while below.hasNext():
                yield f"{found}/" if is_named else found, below.next()
        else:
            yield found, match


def _check_name(file: InputFile) -> None:
    """Hadoop takes what stands before a colon for the scheme of a URI."""
    if ":" in file.base:
        raise InputUnreadableError(f"{file.name} has a colon in its name, which Hadoop cannot open; rename it")


def _check_gzip(spark: SparkSession, file: InputFile) -> None:
    """Fail when name and content differ in being gzip, or what is packed grows as no log does."""
    path = _path(spark, file.name)
    try:
        stream = _file_system(spark, path).open(path)
        try:
            head = bytes(stream.readNBytes(_LOOKED_AT))
        finally:
            stream.close()
    except Py4JJavaError as error:
        raise InputUnreadableError(f"{file.name} cannot be opened: {root_cause(error)}") from error
    is_gzip = head.startswith(_GZIP_MAGIC)
    if is_gzip and not file.name.endswith(".gz"):
        raise InputUnreadableError(f"{file.name} is gzip but its name does not end in .gz; rename it")
    if len(head) >= len(_GZIP_MAGIC) and not is_gzip and file.name.endswith(".gz"):
        raise InputUnreadableError(f"{file.name} is named .gz but is not gzip; rename or replace it")
    if is_gzip and len(head) == _LOOKED_AT and _grows_beyond(head, _GROWTH * _LOOKED_AT):
        raise InputUnreadableError(
            f"{file.name} grows more than {_GROWTH} times when it is unpacked, which no log does; remove or replace it"
        )


def _grows_beyond(packed: bytes, size: int) -> bool:
    unpacked = 0
    with suppress(zlib.error):  # its reader says more
        while packed and unpacked < size:  # a gzip may be several, one after the other
            member = zlib.decompressobj(wbits=31)
            unpacked += len(member.decompress(packed, size - unpacked))
            packed = member.unused_data
    return unpacked >= size


def _copied(spark: SparkSession, file: InputFile, target: str) -> InputFile:
    base = file.base.lstrip("_")
    source, copy = _path(spark, file.name), _path(spark, f"{target}-{base}")
    hadoop = spark._jsc.hadoopConfiguration()
    util = spark._jvm.org.apache.hadoop.fs.FileUtil  # type: ignore[union-attr]
    util.copy(_file_system(spark, source), source, _file_system(spark, copy), copy, False, True, hadoop)
    return InputFile(file.name, file.size, file.modified_ms, f"{target}-{base}")


def _path(spark: SparkSession, name: str) -> Any:
    return spark._jvm.org.apache.hadoop.fs.Path(name)  # type: ignore[union-attr]


def _file_system(spark: SparkSession, path: Any) -> Any:
    return path.getFileSystem(spark._jsc.hadoopConfiguration())


def _display(path: Any) -> str:
    return str(path.toString()).removeprefix("file:")
