"""The formats a send log may have: JSON lines, CSV and Parquet, read without inference into one shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StringType, StructField, StructType

from jobs.settings import SendsInput
from jobs.sources.files import Manifest
from jobs.sources.json_lines import PLACE, json_lines, place
from jobs.sources.send_fields import FIELDS, json_schema, source_of, source_type


def read_by_format(spark: SparkSession, manifest: Manifest, sends_input: SendsInput) -> DataFrame:
    """Every line or record of the files.

    Columns: `file`, `split`, `row` (where it stands; `row` counts within the partition of the scan), `raw` (as it
    was read; a record of CSV or Parquet as JSON), `damage` (null = none, else `blank`, `invalid_utf8`, `not_json`,
    `not_an_object` or `wrong_type`), `fields` (struct of the canonical fields in the site's own units).
    """
    by_format: dict[str, list[str]] = {}
    for file, path in zip((f for f in manifest.files if f.size), manifest.readable_paths, strict=True):
        kind = sends_input.format if sends_input.format != "auto" else _format_of(file.name)
        by_format.setdefault(kind, []).append(path)
    readers = {"jsonl": _json_lines, "csv": _csv_records, "parquet": _parquet_rows}
    frames = [readers[kind](spark, paths, sends_input) for kind, paths in sorted(by_format.items())]
    return reduce(DataFrame.unionByName, frames) if frames else _no_lines(spark, sends_input)


def _format_of(name: str) -> str:
    plain = name.removesuffix(".gz").lower()
    return "csv" if plain.endswith(".csv") else "parquet" if plain.endswith(".parquet") else "jsonl"


def _no_lines(spark: SparkSession, sends_input: SendsInput) -> DataFrame:
    nothing = {name: F.lit(None).cast(source_type(name, sends_input.fields)) for name in FIELDS}
    empty = spark.createDataFrame([], "file string, split bigint, row bigint, raw string, damage string")
    return empty.select("*", _struct_of(nothing).alias("fields"))


def _json_lines(spark: SparkSession, paths: Sequence[str], sends_input: SendsInput) -> DataFrame:
    parsed = json_lines(spark, paths, json_schema(sends_input.fields))
    values = {name: F.col(f"parsed.{_nested(source_of(name, sends_input.fields).column)}") for name in FIELDS}
    return parsed.select(*PLACE, "raw", "damage", _struct_of(values).alias("fields"))


def _csv_records(spark: SparkSession, paths: Sequence[str], sends_input: SendsInput) -> DataFrame:
    reader = spark.read.option("header", "true").option("recursiveFileLookup", "true").option("multiLine", "true")
    names = reader.csv(list(paths)).columns
    schema = StructType([StructField(name, StringType()) for name in [*names, "_corrupt_record"]])
    records = (
        reader.schema(schema)
        .option("enforceSchema", "false")
        .option("escape", '"')
        .option("columnNameOfCorruptRecord", "_corrupt_record")
        .csv(list(paths))
        .select(*place(), "_corrupt_record", _record(names))
    )
    return _from_texts(records, sends_input, F.col("_corrupt_record"))


def _parquet_rows(spark: SparkSession, paths: Sequence[str], sends_input: SendsInput) -> DataFrame:
    rows = spark.read.option("recursiveFileLookup", "true").option("mergeSchema", "true").parquet(*paths)
    return _from_texts(rows.select(*place(), _record(rows.columns)), sends_input, F.lit(None))


def _record(names: Sequence[str]) -> Column:
    """The site's own columns as one struct: they may be called as ours are."""
    return F.struct(*(F.col(_quoted(name)) for name in names)).alias("record")


def _from_texts(records: DataFrame, sends_input: SendsInput, corrupt: Column) -> DataFrame:
    """Each `record` of CSV or Parquet: every wanted column as text, then cast; a text that does not cast is damage."""
    mapping = sends_input.fields
    kind = records.schema["record"].dataType
    columns = {name: _field_of(F.col("record"), kind, source_of(name, mapping).column) for name in FIELDS}
    texts = {
        name: F.nullif(F.trim(column.cast("string")), F.lit(""))
        for name, column in columns.items()
        if column is not None
    }
    values = {
        name: texts[name].try_cast(source_type(name, mapping))
        if name in texts
        else F.lit(None).cast(source_type(name, mapping))
        for name in FIELDS
    }
    wrong_type = reduce(
        Column.__or__, (texts[name].isNotNull() & values[name].isNull() for name in texts), F.lit(False)
    )
    damage = F.when(corrupt.isNotNull(), "not_json").when(wrong_type, "wrong_type")
    return records.select(
        *PLACE, F.to_json("record").alias("raw"), damage.alias("damage"), _struct_of(values).alias("fields")
    )


def _field_of(record: Column, kind: DataType, name: str) -> Column | None:
    """The field of that very name, else the nested one that the dots lead to; None when there is neither."""
    if isinstance(kind, StructType) and name in kind.names:
        return record.getField(name)
    first, dot, rest = name.partition(".")
    if not dot or not isinstance(kind, StructType) or first not in kind.names:
        return None
    return _field_of(record.getField(first), kind[first].dataType, rest)


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def _nested(dotted: str) -> str:
    return ".".join(_quoted(part) for part in dotted.split("."))


def _struct_of(values: Mapping[str, Column]) -> Column:
    return F.struct(*(value.alias(name) for name, value in values.items()))
