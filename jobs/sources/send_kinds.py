"""The format of a file of sends, by the settings and its name; without Spark."""

from __future__ import annotations

from jobs.sources.contents import CSV, PARQUET, TEXT


def format_of(name: str, configured: str) -> str:
    """Format of a file of sends: the configured one, or with `auto` that of its name; text is read as lines, like JSON.

    >>> [format_of(name, "auto") for name in ("a.CSV.gz", "a.parquet", "a.log")], format_of("a.csv", "text")
    (['csv', 'parquet', 'jsonl'], 'jsonl')
    """
    if configured == "text":
        return TEXT
    plain = name.removesuffix(".gz").lower()
    by_name = CSV if plain.endswith(".csv") else PARQUET if plain.endswith(".parquet") else TEXT
    return by_name if configured == "auto" else configured
