"""CSV line by line: each file under its own header, and a quote that is not closed costs its own line only."""

from __future__ import annotations

from collections.abc import Sequence

from py4j.protocol import Py4JJavaError
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from jobs.errors import InputUnreadableError
from jobs.sources.csv_header import LONGEST_HEADER, columns_of, header_in
from jobs.sources.dispositions import line_numbers
from jobs.sources.files import InputFile
from jobs.sources.json_lines import PLACE, text_lines
from jobs.spark.failures import root_cause

CSV_DAMAGE = ("csv_open_quote", "wrong_column_count")
_MOST_LINES = 100  # of one record; RocketMQ's own error texts have two
_QUOTED = '"[^"]*"'
_NO_CHARACTER = "\uffff"  # Spark's CSV parser takes it for the end, and the line after it for broken


def header_of(spark: SparkSession, file: InputFile, wanted: Sequence[str]) -> str | None:
    """The first line with text; None when there is none.

    Args:
        file: a CSV file.
        wanted: the columns that are looked for.

    Raises:
        InputUnreadableError: it cannot be read, or is no header.
    """
    try:
        head = _head(spark, file)
    except Py4JJavaError as error:
        raise InputUnreadableError(
            f"{file.name} cannot be read to its end ({root_cause(error)}); replace it with a complete copy"
        ) from error
    return header_in(file.name, head, wanted)


def csv_records(spark: SparkSession, paths: Sequence[str], header: str) -> DataFrame:
    """One row per line of the files that begin with this header.

    Grain: one line. Columns: `file`, `split`, `row`, `raw` (a record of several lines stands whole at its first),
    `damage`, `damage_detail`, `values` (struct of the columns by place, `_0` … , as text; null where damaged).
    `damage` is null for a whole record, `blank` for no row of the input (a line without text, the header wherever it
    stands, a line that goes on with a record), else `invalid_utf8`, `csv_open_quote` or `wrong_column_count`.
    """
    size = len(columns_of(header))
    lines = text_lines(spark, paths)
    has_open = not lines.where(_is_open(F.col("raw"))).isEmpty()
    joined = _with_long_records(lines, size) if has_open else lines.withColumn("goes_on", F.lit(False))
    raw = F.col("raw")
    damage = (
        F.when(F.col("goes_on") | (raw == F.lit(header)) | ~raw.rlike(r"\S"), "blank")
        .when(~F.is_valid_utf8(raw) | F.contains(raw, F.lit(_NO_CHARACTER)), "invalid_utf8")
        .when(_is_open(raw), "csv_open_quote")
        .when(_columns(raw) != size, "wrong_column_count")
    )
    schema = ", ".join([*(f"_{place} string" for place in range(size)), "_corrupt string"])
    options = {"escape": '"', "columnNameOfCorruptRecord": "_corrupt", "maxColumns": str(size + 1)}
    parsed = joined.withColumn("damage", damage).withColumn(
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


def _head(spark: SparkSession, file: InputFile) -> bytes:
    hadoop, conf = spark._jvm.org.apache.hadoop, spark._jsc.hadoopConfiguration()  # type: ignore[union-attr]
    path = hadoop.fs.Path(file.readable_name)
    codec = hadoop.io.compress.CompressionCodecFactory(conf).getCodec(path)
    stream = path.getFileSystem(conf).open(path)
    try:
        return bytes((codec.createInputStream(stream) if codec else stream).readNBytes(LONGEST_HEADER))
    finally:
        stream.close()


def _is_open(raw: Column) -> Column:
    """Whether a quote stays open at the end of the text."""
    quotes = F.octet_length(raw) - F.octet_length(F.replace(raw, F.lit('"'), F.lit("")))
    return F.contains(raw, F.lit('"')) & (quotes % 2 == 1)


def _columns(raw: Column) -> Column:
    """Columns of a text whose quotes are all closed."""
    bare = F.when(F.contains(raw, F.lit('"')), F.regexp_replace(raw, _QUOTED, "")).otherwise(raw)
    return F.octet_length(bare) - F.octet_length(F.replace(bare, F.lit(","), F.lit(""))) + 1


def _is_record(text: Column, size: int) -> Column:
    """Whether the text is one record as RFC 4180 has it: quotes around whole fields, line breaks only inside them."""
    bare = F.regexp_replace(text, _QUOTED, "\x01")
    return (_columns(text) == size) & ~bare.rlike('[^,\x01]\x01|\x01[^,\x01]|[\n"]')


def _with_long_records(lines: DataFrame, size: int) -> DataFrame:
    """With records of several lines whole at their first line, and `goes_on` for the others.

    A quote that opens is closed by the next line with an odd number of quotes, if all lines up to there are one record
    of the header's size and none of them is a record by itself: a stray quote never swallows other records.
    """
    broken = (
        _broken_lines(lines, size)
        .groupBy("file", "stretch", "opened")
        .agg(F.array_sort(F.collect_list(F.struct("number", "split", "row", "raw", "opens"))).alias("lines"))
    )
    opened = broken.where(F.element_at("lines", 1)["opens"])
    in_order = Window.partitionBy("file", "stretch").orderBy("opened")
    so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    until_closed = opened.withColumn("closing", F.lead(F.element_at("lines", 1)).over(in_order)).withColumn(
        "lines", F.array_append("lines", F.col("closing"))
    )
    text = F.array_join(F.col("lines.raw"), "\n")
    is_next = F.element_at("lines", -2)["number"] + 1 == F.col("closing.number")
    fitting = until_closed.withColumn("text", text).withColumn(
        "fits", F.coalesce(is_next & _is_record(F.col("text"), size), F.lit(False))
    )
    # Of several in a row that fit, every other one begins where the one before ends.
    misfits = F.count_if(~F.col("fits")).over(so_far)
    in_row = Window.partitionBy("file", "stretch", "misfits").orderBy("opened")
    place = F.count_if("fits").over(in_row.rowsBetween(Window.unboundedPreceding, Window.currentRow))
    records = fitting.withColumn("misfits", misfits).withColumn("place", place).where("fits AND place % 2 = 1")
    parts = records.select("file", "text", F.posexplode("lines").alias("part", "line")).select(
        "file", "line.split", "line.row", F.when(F.col("part") == 0, F.col("text")).alias("text"), "part"
    )
    return lines.join(parts, list(PLACE), "left").select(
        *PLACE,
        F.coalesce("text", "raw").alias("raw"),
        F.coalesce(F.col("part") > 0, F.lit(False)).alias("goes_on"),
    )


def _broken_lines(lines: DataFrame, size: int) -> DataFrame:
    """Lines that are no record by themselves: few.

    Adds `number`, `opens` (an odd number of quotes), `stretch` (equal for lines that follow one another), `opened` (how
    many opened before, itself included), at most `_MOST_LINES` of each `opened`.
    """
    raw = F.col("raw")
    numbered = lines.join(F.broadcast(line_numbers(lines)), ["file", "split"]).withColumns(
        {"number": F.col("lines_before") + F.col("row") - F.col("first_row") + 1, "opens": _is_open(raw)}
    )
    broken = numbered.where(F.col("opens") | (_columns(raw) != size))
    in_order = Window.partitionBy("file").orderBy("number").rowsBetween(Window.unboundedPreceding, Window.currentRow)
    counted = broken.withColumns(
        {
            "stretch": F.col("number") - F.row_number().over(in_order),
            "opened": F.count_if("opens").over(in_order),
        }
    )
    after_open = Window.partitionBy("file", "stretch", "opened").orderBy("number")
    place = F.row_number().over(after_open.rowsBetween(Window.unboundedPreceding, Window.currentRow))
    return counted.withColumn("place", place).where(F.col("place") <= _MOST_LINES)
