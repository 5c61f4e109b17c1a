"""Every byte of the text that was listed is in a line that was read: the reader passes over what is too long."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import SparkSession

from jobs.errors import ReconciliationError
from jobs.sources.contents import CSV, TEXT
from jobs.sources.files import InputFile, Manifest
from jobs.sources.json_lines import bytes_of_lines
from jobs.sources.stores import Stores
from jobs.sources.whole_text import check_lines, is_all, may_hold_too_long_a_line


def check_csv(spark: SparkSession, manifest: Manifest) -> None:
    """Fail when a file of CSV has a line that is too long to be read; those that are too small for one are not read.

    Raises:
        InputUnreadableError: naming the file and the line.
        ReconciliationError: bytes are missing, and no line is too long.
    """
    large = {
        path: file
        for path, file in manifest.readable.items()
        if file.kind == CSV and may_hold_too_long_a_line(file.size, is_gzip=file.is_gzip)
    }
    if large:
        _check(spark, list(large.values()), bytes_of_lines(spark, list(large)))


def check_all_read(spark: SparkSession, manifest: Manifest) -> None:
    """Fail when a line of text was not read, as it is too long; call it when all lines were.

    Raises:
        InputUnreadableError: naming the file and the line.
        ReconciliationError: bytes are missing, and no line is too long.
    """
    texts = [file for file in manifest.readable.values() if file.kind == TEXT]
    if texts:
        _check(spark, texts, manifest.bytes_read.get["bytes_read"] or 0)


def _check(spark: SparkSession, files: Sequence[InputFile], read: int) -> None:
    said = sum(file.text_bytes for file in files)
    if is_all(read, said, len(files)):
        return
    stores = Stores(spark)
    for file in files:
        if may_hold_too_long_a_line(file.size, is_gzip=file.is_gzip):
            with stores.opened(file.name) as opened:
                check_lines(file.name, opened, is_gzip=file.is_gzip)
    if not any(file.is_gzip for file in files):  # a gzip of several members says less than it holds
        raise ReconciliationError(f"{read} bytes of text were read, the files hold {said}; run again and report it")
