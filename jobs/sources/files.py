"""The files of one input, listed before anything is read and checked again after it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import unquote

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from jobs.errors import InputUnreadableError
from jobs.sources.contents import HEAD_BYTES, TEXT
from jobs.sources.local_files import AT_ONCE, Listing, checked, list_local, listing_of
from jobs.sources.stores import Stores
from jobs.spark.failures import root_cause


def list_files(
    spark: SparkSession, paths: Sequence[str], *, lake: str = "", kind_of: Callable[[str], str] = lambda _: TEXT
) -> Listing:
    """Every file below `paths`, each once: each path a file, a folder read to any depth, or a glob.

    Files that are hidden (their name, or a folder's below the path, starts with a dot or an underscore) or still being
    copied by HDFS are skipped and listed in `hidden`.

    Args:
        spark: the session.
        paths: of any stores.
        lake: its tables are never input.
        kind_of: what a file of this name is read as.

    Raises:
        InputMissingError: a path that does not exist, or a glob that matches nothing.
        InputUnreadableError: an unreadable file, a name with a colon, or a file whose name and content differ.
        SettingValueError: a path that leads into the lake.
    """
    stores = Stores(spark)
    local = list_local([path for path in paths if stores.is_local(path)], lake)
    if local.problems:
        raise local.first_problem
    others = listing_of(found for path in paths if not stores.is_local(path) for found in stores.found(path))
    files = sorted({*local.files, *others.files})
    hidden = tuple(sorted({*local.hidden, *others.hidden}))
    return Listing(checked(files, kind_of, lambda file: stores.head(file, HEAD_BYTES)), hidden)


def shown_path(file: Column) -> Column:
    """The path of a Spark file name as a user knows it."""
    return F.regexp_replace(F.try_url_decode(F.replace(file, F.lit("+"), F.lit("%2B"))), "^file:/*", "/")


def check_unchanged(spark: SparkSession, manifest: Listing) -> None:
    """Fail when a file changed or vanished since it was listed.

    Raises:
        InputUnreadableError: with the first such file.
    """
    stores = Stores(spark)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        statuses = list(pool.map(stores.status, (file.name for file in manifest.files)))
    for file, status in zip(manifest.files, statuses, strict=True):
        if status is None:
            raise InputUnreadableError(f"{file.name} vanished while it was read; run again")
        if status != (file.size, file.modified_ms):
            raise InputUnreadableError(f"{file.name} changed while it was read; run again when it is complete")


def unreadable(error: Exception, manifest: Listing) -> InputUnreadableError | None:
    """The error of a failed read, or None when a file did not cause it."""
    text = str(error)
    match = re.search(r"(?:reading file|FAILED_READ_FILE)[^\n]*?((?:[a-z0-9]+:)?/[^\s\"']+)", text)
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
    culprit = match.group(1).rstrip(".") if match else ""
    names = [file.name for file in manifest.files if unquote(culprit).endswith(file.name.removeprefix("file:"))]
    name = names[0] if names else culprit or "an input file"
    return InputUnreadableError(
        f"{name} cannot be read to its end ({root_cause(error)}); replace it with a complete copy"
    )
