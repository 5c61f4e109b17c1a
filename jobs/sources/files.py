"""The files of one input, listed before anything is read and checked again after it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import unquote

from pyspark.sql import Column, Observation, SparkSession
from pyspark.sql import functions as F

from jobs.errors import InputUnreadableError
from jobs.sources.contents import GREATEST_GROWTH, GROWS, HEAD_BYTES, PARQUET, TAIL_BYTES, TEXT, Ends, check_contents
from jobs.sources.local_files import list_local
from jobs.sources.stores import Stores
from jobs.sources.whole_text import grows_beyond, too_long_a_line
from jobs.spark.failures import root_cause

_LONGEST_ENDING = 100  # characters of a name that a copy keeps: its own number makes it longer


@dataclass(frozen=True, order=True)
class InputFile:
    """One file as it was when listed.

    Attributes:
        name: path as a user knows it.
        size: bytes.
        modified_ms: time of the last change, epoch ms.
        readable_name: where Spark reads it; another path only for names that Spark would skip.
        kind: what it is read as: `jsonl`, `csv` or `parquet`.
        text_bytes: bytes of its text as it says itself, see `Ends.text_bytes`.
    """

    name: str
    size: int
    modified_ms: int
    readable_name: str
    kind: str = TEXT
    text_bytes: int = 0

    @property
    def is_gzip(self) -> bool:
        """Whether Spark unpacks it."""
        return self.name.endswith(".gz")

    @property
    def base(self) -> str:
        """The last part of its name."""
        return self.name.rsplit("/", 1)[-1]


@dataclass(frozen=True)
class Manifest:
    """All files of one input, and those that are left out by rule.

    Attributes:
        files: what is read.
        hidden: names that are left out, as they are hidden or half-copied.
        repeated: links and other names of what is read already, each with that.
        bytes_read: gets `bytes_read`, counted where lines of text are read.
    """

    files: tuple[InputFile, ...]
    hidden: tuple[str, ...]
    repeated: tuple[str, ...] = ()
    bytes_read: Observation = field(default_factory=Observation, compare=False)

    @property
    def readable_paths(self) -> list[str]:
        """Paths for Spark's readers, with glob characters escaped; empty files left out."""
        return list(self.readable)

    @property
    def readable(self) -> dict[str, InputFile]:
        """Each of `readable_paths` and its file."""
        return {re.sub(r"([\\{}\[\]*?])", r"\\\1", file.readable_name): file for file in self.files if file.size}

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files)


def list_files(
    spark: SparkSession,
    paths: Sequence[str],
    scratch: str,
    *,
    lake: str = "",
    kind_of: Callable[[str], str] = lambda _: TEXT,
) -> Manifest:
    """Every file below `paths`, each real one once: each path a file, a folder read to any depth, or a glob.

    Files that are hidden (their name, or a folder's below the path, starts with a dot) or still being copied by
    HDFS are left out and named in `hidden`. A name with a leading underscore is read like any other: Spark would
    skip it silently, so it is copied to `scratch` first. Nothing but files is ever opened.

    Args:
        paths: of any stores.
        scratch: folder for copies.
        lake: its tables are no input.
        kind_of: what a file of this name is read as.

    Raises:
        InputMissingError: a path that does not exist, or a glob that matches nothing.
        InputUnreadableError: what is no file, a link that leads nowhere, a name with a colon, or a file whose name and
            content differ.
        SettingValueError: a link that leads into the lake.
    """
    stores = Stores(spark)
    listing = list_local([path for path in paths if stores.is_local(path)], lake)
    if listing.problems:
        raise listing.first_problem
    found = {file.name: InputFile(file.name, file.size, file.modified_ms, file.name) for file in listing.files}
    hidden = set(listing.hidden)
    for path in paths:
        for file in () if stores.is_local(path) else stores.found(path):
            below = file.name.removeprefix(file.root.rsplit("/", 1)[0])
            if "/." in below or file.name.endswith("._COPYING_"):
                hidden.add(file.name)
            else:
                found.setdefault(file.name, InputFile(file.name, file.size, file.modified_ms, file.name))
    files = tuple(_checked(stores, file, kind_of(file.name)) for file in sorted(found.values()))
    readable = tuple(_readable(stores, file, f"{scratch}/input-{place}") for place, file in enumerate(files))
    return Manifest(readable, tuple(sorted(hidden)), listing.repeated)


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
    stores = Stores(spark)
    for file in manifest.files:
        status = stores.status(file.name)
        if status is None:
            raise InputUnreadableError(f"{file.name} vanished while it was read; run again")
        if status != (file.size, file.modified_ms):
            raise InputUnreadableError(f"{file.name} changed while it was read; run again when it is complete")


def unreadable(error: Exception, manifest: Manifest) -> InputUnreadableError | None:
    """Error of a failed read, or None when it was no file's fault."""
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
    if "Too many bytes before delimiter" in text:
        return too_long_a_line(name)
    return InputUnreadableError(
        f"{name} cannot be read to its end ({root_cause(error)}); replace it with a complete copy"
    )


def _checked(stores: Stores, file: InputFile, kind: str) -> InputFile:
    if ":" in file.base:  # Hadoop takes the text before it for the scheme of a URI
        raise InputUnreadableError(f"{file.name} has a colon in its name, which Hadoop cannot open; rename it")
    if not stores.is_seen_by_java(file.name):
        raise InputUnreadableError(
            f"{file.name} has a name that Java cannot spell here; set LC_ALL=C.UTF-8 and run again"
        )
    if not file.size:
        if kind == PARQUET and file.name.lower().endswith(".parquet"):
            raise InputUnreadableError(f"{file.name} is empty, which no Parquet is; replace it with a complete copy")
        return replace(file, kind=kind)
    ends = Ends(file.size, *stores.ends(file.name, file.size, HEAD_BYTES, TAIL_BYTES))
    check_contents(file.name, kind, ends)
    if ends.says_it_grows:
        with stores.opened(file.name) as opened:
            if grows_beyond(opened, GREATEST_GROWTH * file.size):
                raise InputUnreadableError(f"{file.name} {GROWS}")
    return replace(file, kind=kind, text_bytes=ends.text_bytes)


def _readable(stores: Stores, file: InputFile, target: str) -> InputFile:
    """The file, copied when Spark would skip it for its name."""
    if not file.base.startswith("_") or not file.size:
        return file
    copy = f"{target}-{file.base.lstrip('_')[-_LONGEST_ENDING:]}"
    stores.copy(file.name, copy)
    return replace(file, readable_name=copy)
