"""Files of an input on another store, listed and opened by delta-rs without Spark."""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import IO, TYPE_CHECKING, Any

from jobs.errors import FaultlineError, InputMissingError, InputUnreadableError, LakeError
from jobs.sources.lake_apart import alternatives
from jobs.sources.local_files import InputFile, Listing, listing_of, missing
from jobs.uri import is_elsewhere

if TYPE_CHECKING:  # a machine may lack it
    from pyarrow.fs import FileInfo

_SEEN = re.compile(r"(?:s3[an]?|gs|abfss?|hdfs)://[^\\]*")  # delta-rs knows these; Hadoop's globs escape by backslash
Open = Callable[[InputFile], AbstractContextManager[IO[bytes]]]
"""Opens a file; see `opener`."""


class NotSeenError(Exception):
    """A store could not be looked at from here: that says nothing of the run, which looks by its own means."""


def can_see(path: str) -> bool:
    """Whether the path is on a store that delta-rs knows."""
    return _SEEN.fullmatch(path) is not None


def store_of(path: str) -> str:
    """Scheme and authority of a URI."""
    return "/".join(path.split("/")[:3])


def is_lake_elsewhere(lake: str, spark: Mapping[str, str]) -> bool:
    """Whether a run wrote there.

    Raises:
        NotSeenError: the store does not answer, or refuses, or lacks the bucket.
    """
    try:
        with _seeing(lake, spark) as options:
            from jobs.answers.delta_table import is_lake  # noqa: PLC0415 - its packages may be missing

            return is_lake(lake, options)
    except LakeError as error:
        raise NotSeenError(str(error).partition(f"{lake}: ")[2]) from error


def list_elsewhere(path: str, spark: Mapping[str, str]) -> Listing:
    """The files of one path on another store, as Hadoop lists them: a file, a folder read to any depth, or a glob.

    Args:
        path: one that `can_see` accepts.
        spark: Spark's settings.

    Raises:
        NotSeenError: the store does not answer, or refuses.
    """
    root, key = _parts(path)
    below: list[tuple[InputFile, str]] = []
    try:
        with _seeing(path, spark) as options:
            from deltalake.fs import DeltaStorageHandler  # noqa: PLC0415 - its package may be missing
            from pyarrow.fs import FileSelector, FileType  # noqa: PLC0415 - same

            handler = DeltaStorageHandler(f"{root}/", options)

            def inside(folder: FileInfo, *, recursive: bool = False) -> list[FileInfo]:
                selector = FileSelector(folder.path, allow_not_found=True, recursive=recursive)
                return handler.get_file_info_selector(selector)

            (named,) = found = handler.get_file_info([key])
            if named.type == FileType.NotFound:
                found = [match for pattern in alternatives(key) for match in _matches(handler, pattern, inside)]
            for match in found:
                top = match.path if match is named and not match.is_file else match.path.rpartition("/")[0]
                for entry in [match] if match.is_file else inside(match, recursive=True):
                    if entry.is_file:
                        file = InputFile(f"{root}/{entry.path}", entry.size, (entry.mtime_ns or 0) // 1_000_000)
                        below.append((file, entry.path.removeprefix(top)))
    except InputMissingError as error:
        return Listing((), (), (error,))
    return listing_of(below, () if below else (missing(path),))


def opener(files: Sequence[InputFile], spark: Mapping[str, str]) -> Open:
    """What opens any of the files, here or on another store, without asking again for their sizes.

    What it opens raises, until it is closed, an InputUnreadableError, or a NotSeenError.
    """
    handlers: dict[str, Any] = {}
    for root in {store_of(file.name) for file in files if is_elsewhere(file.name)}:
        sizes = {_parts(file.name)[1]: file.size for file in files if store_of(file.name) == root}
        with _seeing(root, spark) as options:
            from deltalake.fs import DeltaStorageHandler  # noqa: PLC0415 - its package may be missing

            handlers[root] = DeltaStorageHandler(f"{root}/", options, sizes)

    @contextmanager
    def opened(file: InputFile) -> Iterator[IO[bytes]]:
        if is_elsewhere(file.name):
            root, key = _parts(file.name)
            with _seeing(file.name, spark), handlers[root].open_input_file(key) as stream:
                yield stream
            return
        try:
            with open(file.name, "rb") as stream:  # noqa: PTH123 - any name
                yield stream
        except OSError as error:
            raise InputUnreadableError(
                f"{file.name} cannot be opened: {error.strerror}; fix its permissions"
            ) from error

    return opened


@contextmanager
def _seeing(path: str, spark: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Options for the store of the path; of what fails within the block, only a missing bucket would fail a run too.

    A store that refuses says nothing: S3A may have other credentials, or ask for less than delta-rs, which lists.

    As with S3A, and unlike for who reads a lake, Spark's settings come before the environment, which delta-rs reads.
    """
    from jobs.answers.store import (  # noqa: PLC0415 - its folder loads Arrow
        ENDPOINT,
        REGION,
        has_key,
        reason_of,
        storage_options,
    )

    options = storage_options(path, spark, {name: value for name, value in os.environ.items() if name in REGION})
    if path.startswith("s3") and not has_key(options):  # the executors may have one
        raise NotSeenError("neither the environment nor [spark] has a key to look with")
    if path.startswith("s3") and "aws_endpoint" not in options and any(map(os.environ.get, ENDPOINT)):
        raise NotSeenError("the environment names an endpoint of S3, which S3A may not use, and [spark] names none")
    try:
        yield options
    except FaultlineError:
        raise
    except BaseException as error:  # whatever it is, a run looks by its own means
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":  # what Rust's panics become
            raise
        said = reason_of(error, options)
        if "NoSuchBucket" in said:
            raise InputMissingError(f"input {path} does not exist: {said}") from error
        raise NotSeenError(said) from error


def _parts(path: str) -> tuple[str, str]:
    """Root of the store and key."""
    root = store_of(path)
    return root, re.sub("/+", "/", path.removeprefix(root)).strip("/")


def _matches(handler: Any, pattern: str, inside: Callable[[FileInfo], list[FileInfo]]) -> list[FileInfo]:
    """What a glob without braces matches; from its first star on, folders are listed level by level."""
    parts = pattern.replace("[^", "[!").split("/")
    plain = next((place for place, part in enumerate(parts) if re.search(r"[*?\[]", part)), len(parts))
    found: list[FileInfo] = handler.get_file_info(["/".join(parts[:plain])])
    for part in parts[plain:]:
        entries = (entry for folder in found if folder.type.name == "Directory" for entry in inside(folder))
        found = [entry for entry in entries if fnmatch.fnmatchcase(entry.base_name, part)]
    return found
