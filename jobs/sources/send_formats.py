"""The formats of a send log: JSON lines, text, CSV and Parquet, read without inference into the same columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from typing import cast

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StringType, StructType, TimestampType

from jobs.settings.column_path import column_name, parts_of
from jobs.settings.inputs import SendsInput
from jobs.settings.line_pattern import LinePattern
from jobs.settings.send_fields import CLOSED, TIMES
from jobs.sources.contents import CSV, PARQUET, TEXT
from jobs.sources.csv_header import LONGEST_HEADER, columns_of, header_in
from jobs.sources.csv_lines import csv_records
from jobs.sources.json_lines import PLACE, json_lines, place
from jobs.sources.local_files import Listing
from jobs.sources.matched_lines import matched_lines
from jobs.sources.parquet_schemas import misfit
from jobs.sources.send_fields import FIELDS, json_schema, json_types, meant, source_type
from jobs.sources.stores import Stores

_NONE_WHEN_EMPTY = (*CLOSED, "client_version")
"""Fields of which an empty text would be a bad value."""


def read_by_format(spark: SparkSession, manifest: Listing, sends_input: SendsInput) -> DataFrame:
    """One row per line or record of the files.

    Columns: `file`, `split`, `row` (its place; `row` counts within the partition of the scan), `raw` (as it was read; a
    whole record of CSV, Parquet or matched text as JSON), `damage` (null = none, else `wrong_type` or as `json_lines`,
    `matched_lines` and `csv_records` have it), `damage_detail` (of CSV only), and the canonical fields, in the site's
    own units.
    """
    by_format: dict[str, list[str]] = {}
    of_csv: dict[str, list[str]] = {}
    wanted = [source.column for name in FIELDS if (source := sends_input.source_of(name)).constant is None]
    for path, file in manifest.readable.items():
        if file.kind != CSV:
            by_format.setdefault(file.kind, []).append(path)
        elif header := header_in(file.name, Stores(spark).head(file, LONGEST_HEADER, unpacked=True), wanted):
            of_csv.setdefault(header, []).append(path)
    if not by_format and not of_csv:  # empty files have no lines, with the same columns
        by_format[TEXT] = []
    readers: dict[str, Callable[[SparkSession, Sequence[str], SendsInput], DataFrame]] = {
        TEXT: _json_lines if sends_input.pattern is None else _text_lines,
        PARQUET: partial(_parquet_rows, manifest=manifest),
    }
    frames = [readers[kind](spark, paths, sends_input) for kind, paths in sorted(by_format.items())]
    frames += [_csv_records(spark, paths, header, sends_input) for header, paths in sorted(of_csv.items())]
    return reduce(DataFrame.unionByName, frames)


def _json_lines(spark: SparkSession, paths: Sequence[str], sends_input: SendsInput) -> DataFrame:
    types = json_types(sends_input)
    texts: dict[str, Column] = {}
    typed: dict[str, Column] = {}
    for name in FIELDS:
        if column := sends_input.source_of(name).column:
            way = parts_of(column)
            is_typed = name not in sends_input.values and types[way] == source_type(name, sends_input)
            fields = typed if is_typed and name not in _NONE_WHEN_EMPTY else texts
            fields[name] = F.col(".".join(["parsed", *map(_quoted, way)]))
    return _of_lines(json_lines(spark, paths, json_schema(types)), texts, typed, sends_input, F.col("raw"))


def _text_lines(spark: SparkSession, paths: Sequence[str], sends_input: SendsInput) -> DataFrame:
    pattern = cast("LinePattern", sends_input.line_pattern)
    values = {name: F.col(f"values.{name}") for name in pattern.names}
    return _of_values(matched_lines(spark, paths, pattern), values, sends_input)


def _csv_records(spark: SparkSession, paths: Sequence[str], header: str, sends_input: SendsInput) -> DataFrame:
    values = {name: F.col(f"values._{place}") for place, name in enumerate(columns_of(header))}
    return _of_values(csv_records(spark, paths, header), values, sends_input)


def _of_values(lines: DataFrame, values: Mapping[str, Column], sends_input: SendsInput) -> DataFrame:
    """One row per line of text or CSV; its values by the names of their columns are null where it is damaged."""
    written = {**{column_name((name,)): value for name, value in values.items()}, **values}
    columns = {name: written.get(sends_input.source_of(name).column) for name in FIELDS}
    as_json = F.to_json(F.struct(*(value.alias(name) for name, value in values.items())))
    raw = F.when(F.col("damage").isNull(), as_json).otherwise(F.col("raw"))
    return _from_texts(lines, columns, sends_input, raw)


def _parquet_rows(spark: SparkSession, paths: Sequence[str], sends_input: SendsInput, manifest: Listing) -> DataFrame:
    reader = spark.read.option("recursiveFileLookup", "true").option("mergeSchema", "true")
    try:
        rows = reader.parquet(*paths)
    except (Py4JJavaError, PySparkException) as error:
        readable = manifest.readable
        raise misfit(spark, {path: readable[path].name for path in paths}, error) from error
    # The site's own columns as one struct: their names may equal ours.
    record = F.struct(*(F.col(_quoted(name)) for name in rows.columns))
    records = rows.select(*place(), record.alias("record"), F.lit(None).cast("string").alias("damage"))
    kind = records.schema["record"].dataType
    columns = {name: _field_of(F.col("record"), kind, sends_input.source_of(name).column) for name in FIELDS}
    for name in TIMES:  # an instant is written without its zone, the session's
        if (column := columns[name]) is not None and isinstance(
            records.select(column).schema[0].dataType, TimestampType
        ):
            columns[name] = F.concat(column.cast("string"), F.lit("Z"))
    return _from_texts(records, columns, sends_input, F.to_json("record"))


def _from_texts(
    records: DataFrame, columns: Mapping[str, Column | None], sends_input: SendsInput, raw: Column
) -> DataFrame:
    """One row per record of CSV, Parquet or text: wanted columns as text, without spaces around it."""
    texts = {name: F.trim(column.cast("string")) for name, column in columns.items() if column is not None}
    return _of_lines(records, texts, {}, sends_input, raw)


def _of_lines(
    lines: DataFrame,
    texts: Mapping[str, Column],
    typed: Mapping[str, Column],
    sends_input: SendsInput,
    raw: Column,
) -> DataFrame:
    """One row per line, with its fields; a text that does not cast is damage.

    Each stage takes plain columns of the stage before, never a struct of them: Spark would put the expressions of a
    struct's members in place of each use of them, and so double the plan at each stage.

    Args:
        lines: with their place, and their damage before their values are checked; those of CSV with its detail.
        texts: columns read as text, by the canonical field.
        typed: columns read with their final type.
        sends_input: constants and the meaning of texts.
        raw: the line.
    """
    columns = [column.alias(name) for name, column in {**texts, **typed}.items()]
    detail = F.col("damage_detail") if "damage_detail" in lines.columns else F.lit(None).cast("string")
    read = lines.select(*PLACE, raw.alias("raw"), "damage", detail.alias("damage_detail"), *columns)
    understood = read.withColumns({name: meant(name, F.col(name), sends_input) for name in texts})
    kinds = {name: source_type(name, sends_input) for name in FIELDS}
    constants = {name: F.lit(sends_input.source_of(name).constant or None) for name in FIELDS}
    values = {name: F.col(name) if name in {**texts, **typed} else constants[name] for name in FIELDS}
    casts = {name: value if name in typed else value.try_cast(kinds[name]) for name, value in values.items()}
    wrong_type = reduce(
        Column.__or__,
        (F.col(name).isNotNull() & casts[name].isNull() for name in texts if kinds[name] != StringType()),
        F.lit(False),
    )
    return understood.select(
        *PLACE,
        "raw",
        F.coalesce("damage", F.when(wrong_type, "wrong_type")).alias("damage"),
        "damage_detail",
        *(cast.alias(name) for name, cast in casts.items()),
    )


def _field_of(record: Column, kind: DataType, column: str) -> Column | None:
    """The field of that very name, else the nested one that the dots lead to; None when there is neither."""
    if not isinstance(kind, StructType):
        return None
    written = {name: (name, column_name((name,))) for name in kind.names}
    if exact := next((name for name, forms in written.items() if column in forms), None):
        return record.getField(exact)
    inside = (
        _field_of(record.getField(name), kind[name].dataType, column.removeprefix(f"{form}."))
        for name, forms in written.items()
        for form in forms
        if column.startswith(f"{form}.")
    )
    return next((field for field in inside if field is not None), None)


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"
