"""CSV line by line: each file under its own header, one line is one record."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.sources.csv_header import columns_of
from jobs.sources.json_lines import PLACE, text_lines

CSV_DAMAGE = ("csv_open_quote", "wrong_column_count")
_QUOTED = '"[^"]*"'
_NO_CHARACTER = "\uffff"  # Spark's CSV parser takes it for the end, and the line after it for broken


def csv_records(spark: SparkSession, paths: Sequence[str], header: str) -> DataFrame:
    """One row per line of the files that begin with this header.

    Grain: one line. Columns: `file`, `split`, `row`, `raw`, `damage`, `damage_detail`, `values` (struct of the columns
    by place, `_0` … , as text; null where damaged). `damage` is null for a whole record, `blank` for no row of the
    input (a line without text, the header wherever it stands), else `invalid_utf8`, `csv_open_quote` or
    `wrong_column_count`. A record never goes on in the next line.
    """
    size = len(columns_of(header))
    lines = text_lines(spark, paths)
    raw = F.col("raw")
    damage = (
        F.when((raw == F.lit(header)) | ~raw.rlike(r"\S"), "blank")
        .when(~F.is_valid_utf8(raw) | F.contains(raw, F.lit(_NO_CHARACTER)), "invalid_utf8")
        .when(_is_open(raw), "csv_open_quote")
        .when(_columns(raw) != size, "wrong_column_count")
    )
    schema = ", ".join([*(f"_{place} string" for place in range(size)), "_corrupt string"])
    options = {"escape": '"', "columnNameOfCorruptRecord": "_corrupt", "maxColumns": str(size + 1)}
    parsed = lines.withColumn("damage", damage).withColumn(
        "values", F.from_csv(F.when(F.col("damage").isNull(), raw), F.lit(schema), options)
    )
    # A quote inside a field without quotes: Spark may count its columns otherwise.
    damage = F.when(F.col("values._corrupt").isNotNull(), "wrong_column_count").otherwise(F.col("damage"))
    open_text = F.concat(F.lit('not closed on its line: "'), F.substring_index(raw, '"', -1))
    count_text = F.concat(_columns(raw), F.lit(f" columns, the header has {size}"))
    return parsed.withColumn("damage", damage).select(
        *PLACE,
        "raw",
        "damage",
        F.when(F.col("damage") == "csv_open_quote", open_text)
        .when(F.col("damage") == "wrong_column_count", count_text)
        .alias("damage_detail"),
        "values",
    )


def _is_open(raw: Column) -> Column:
    """Whether a quote stays open at the end of the text."""
    quotes = F.octet_length(raw) - F.octet_length(F.replace(raw, F.lit('"'), F.lit("")))
    return F.contains(raw, F.lit('"')) & (quotes % 2 == 1)


def _columns(raw: Column) -> Column:
    """Columns of a text whose quotes are all closed."""
    bare = F.when(F.contains(raw, F.lit('"')), F.regexp_replace(raw, _QUOTED, "")).otherwise(raw)
    return F.octet_length(bare) - F.octet_length(F.replace(bare, F.lit(","), F.lit(""))) + 1
