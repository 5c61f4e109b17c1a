"""Every byte of the text that was listed is in a line that was read: the reader passes over what is too long."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import SparkSession

from jobs.errors import ReconciliationError
from jobs.sources.contents import CSV, PARQUET, TEXT
from jobs.sources.files import InputFile, Manifest
from jobs.sources.json_lines import bytes_of_lines
from jobs.sources.stores import Stores
from jobs.sources.whole_text import check_lines, check_plain_lines, is_all, may_hold_too_long_a_line


def check_before_reading(spark: SparkSession, manifest: Manifest) -> None:
    """Fail when a line is too long of a file that is not packed, which is read in parts, or of packed CSV.

    Of the first most is skipped; the second is read once more than other input. Files that are too small are not read.

    Raises:
        InputUnreadableError: naming the file and the line.
        ReconciliationError: bytes are missing, and no line is too long.
    """
    stores = Stores(spark)
    packed_csv = {}
    for path, file in manifest.readable.items():
        if file.kind == PARQUET or not may_hold_too_long_a_line(file.size, is_gzip=file.is_gzip):
            continue
        if not file.is_gzip:
            with stores.opened(file.name) as opened:
                check_plain_lines(file.name, opened, file.size)
        elif file.kind == CSV:
            packed_csv[path] = file
    if packed_csv:
        _check(spark, list(packed_csv.values()), bytes_of_lines(spark, list(packed_csv)))


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
        if file.is_gzip and may_hold_too_long_a_line(file.size, is_gzip=True):
            with stores.opened(file.name) as opened:
                check_lines(file.name, opened, is_gzip=True)
    if not any(file.is_gzip for file in files):  # a gzip of several members says less than it holds
        raise ReconciliationError(f"{read} bytes of text were read, the files hold {said}; run again and report it")
