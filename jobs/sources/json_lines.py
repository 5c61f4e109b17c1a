"""Text files line by line, JSON lines without inference: the place of each line, and its damage."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, StringType, StructType

PLACE = ("file", "split", "row")
JSON = {
    "allowSingleQuotes": "false",
    "allowNonNumericNumbers": "false",
    "maxNestingDepth": "100000",
    "maxNumLen": "1000000",
}
"""Options of `from_json` for JSON as its standard has it: Spark's own take 'single quotes' and NaN, and neither depth
nor digits beyond 1,000, even in a field that no setting maps."""


def text_lines(spark: SparkSession, paths: Sequence[str]) -> DataFrame:
    """One row per line of the files: `file`, `split`, `row` (counted within the partition of the scan), `raw`."""
    if not paths:
        return spark.createDataFrame([], "file string, split bigint, row bigint, raw string")
    reader = spark.read.option("recursiveFileLookup", "true").option("lineSep", "\n")
    lines = reader.text(list(paths)).select(*place(), "value")
    return lines.select(*PLACE, _without_bom_and_return(F.col("value")).alias("raw"))


def json_lines(spark: SparkSession, paths: Sequence[str], schema: StructType) -> DataFrame:
    """One row per line of `text_lines`, with `parsed` (struct of `schema`) and `damage`.

    `damage` is null for one whole object whose values have the right types, else `blank`, `invalid_utf8`,
    `not_json`, `not_an_object` or `wrong_type`.
    """
    with_corrupt = StructType([*schema.fields]).add("_corrupt_record", StringType())
    parsed = F.from_json("raw", with_corrupt, {**JSON, "columnNameOfCorruptRecord": "_corrupt_record"})
    return text_lines(spark, paths).withColumn("parsed", parsed).withColumn("damage", _json_damage())


def place() -> list[Column]:
    """Place of a row. `row` counts within the scan's partition, so it must be taken at the scan."""
    return [
        F.col("_metadata.file_path").alias("file"),
        F.col("_metadata.file_block_start").alias("split"),
        F.monotonically_increasing_id().alias("row"),
    ]


def _without_bom_and_return(line: Column) -> Column:
    """The line without BOM and CR; invalid UTF-8 stays, as a regular expression would replace the bad bytes."""
    framed = line.startswith("\ufeff") | line.endswith("\r")
    return F.when(framed & F.is_valid_utf8(line), F.regexp_replace(line, "^\ufeff|\r$", "")).otherwise(line)


def _json_damage() -> Column:
    """Damage of the line as JSON; null for one whole object whose values have the right types."""
    raw = F.col("raw")
    # In bytes: a search for characters costs four times as much.
    before_last = F.substring(raw.cast("binary"), F.lit(1), F.octet_length(raw) - 1)
    ends_at_first_brace = raw.endswith("}") & ~F.contains(before_last, F.lit(b"}"))
    is_parsed = F.col("parsed._corrupt_record").isNull() & F.col("parsed").isNotNull()
    is_object = raw.rlike(r"^\s*\{")
    is_whole_object = _is_one_value(raw, StructType([]), another="{}")
    return (
        # The common case first: the other tests cost more than parsing.
        F.when(raw.startswith("{") & ends_at_first_brace & is_parsed & F.is_valid_utf8(raw), None)
        .when(~raw.rlike(r"\S"), "blank")
        .when(~F.is_valid_utf8(raw), "invalid_utf8")
        .when(is_object & is_parsed & is_whole_object, None)
        .when(is_object & is_whole_object, "wrong_type")
        .when(~is_object & _is_one_value(raw, StringType(), another="0"), "not_an_object")
        .otherwise("not_json")
    )


def _is_one_value(raw: Column, kind: DataType, *, another: str) -> Column:
    """Whether the text is exactly one JSON value of the kind.

    Spark parses the first value of a text and ignores what follows: two objects on one line would lose one. An array
    ends at the first bracket that closes it, which is the text's own when one more value can follow.
    """

    def values(end: str) -> Column:
        return F.size(F.from_json(F.concat(F.lit("["), raw, F.lit(end)), ArrayType(kind), JSON))

    return F.coalesce((values("]") == 1) & (values(f",{another}]") == 2), F.lit(False))


def holds_byte(text: Column, byte: bytes) -> Column:
    """Whether the byte is anywhere in the text; a search for characters costs ten times as much."""
    return F.contains(text.cast("binary"), F.lit(byte))
