"""SQL functions for ad-hoc queries."""

from __future__ import annotations

from dataclasses import dataclass

from jobs.settings.client_profiles import Profile, released_profiles


@dataclass(frozen=True)
class SqlFunction:
    """A function with a SQL body.

    Attributes:
        name: its name in a catalog.
        parameters: name, SQL type and meaning of each.
        returns: SQL type.
        comment: its result, with unit and null.
        body: one SQL expression over the parameters.
    """

    name: str
    parameters: tuple[tuple[str, str, str], ...]
    returns: str
    comment: str
    body: str


def sql_functions() -> tuple[SqlFunction, ...]:
    """All of them; the ladders are those of `conf/profiles.toml`."""
    return (_not_available_duration(released_profiles()), _java_hash_code())


def _not_available_duration(profiles: tuple[Profile, ...]) -> SqlFunction:
    names: dict[tuple[tuple[int, ...], tuple[int, ...]], list[str]] = {}
    for profile in profiles:
        names.setdefault((profile.latency_max_ms, profile.not_available_ms), []).append(f"'{profile.name}'")
    ladders = " ".join(f"WHEN profile IN ({', '.join(of)}) THEN {_ladder(*ladder)}" for ladder, of in names.items())
    known = ", ".join(profile.name for profile in profiles)
    refusal = f"raise_error(concat('profile ', profile, ' is unknown; known are {known}'))"
    return SqlFunction(
        name="not_available_duration",
        parameters=(
            ("latency_ms", "BIGINT", "latency of an update, ms; for a failure the constant that the profile looks up"),
            ("profile", "STRING", f"released rules: {known}"),
        ),
        returns="BIGINT",
        comment="Isolation that a send of this latency earns, ms; null for null, an error for an unknown profile",
        body=f"CASE WHEN profile IS NULL THEN NULL {ladders} ELSE {refusal} END",
    )


def _ladder(floors_ms: tuple[int, ...], isolations_ms: tuple[int, ...]) -> str:
    """SQL of `udfs.ladder.isolation_ms`: from the last floor to the first, the first one reached decides."""
    steps = " ".join(
        f"WHEN latency_ms >= {floor} THEN {isolation}"
        for floor, isolation in reversed(list(zip(floors_ms, isolations_ms, strict=True)))
    )
    return f"CASE WHEN latency_ms IS NULL THEN NULL {steps} ELSE 0 END"


def _java_hash_code() -> SqlFunction:
    units = "regexp_extract_all(hex(encode(s, 'UTF-16BE')), '(.{4})', 1)"
    step = "(hash, unit) -> (hash * 31 + CAST(conv(unit, 16, 10) AS BIGINT)) & 4294967295"
    signed = "hash -> CAST(hash - CASE WHEN hash > 2147483647 THEN 4294967296 ELSE 0 END AS INT)"
    return SqlFunction(
        name="java_hash_code",
        parameters=(("s", "STRING", "a text, such as an order key"),),
        returns="INT",
        comment="Java's String.hashCode, over UTF-16 units; null for null",
        body=f"aggregate({units}, CAST(0 AS BIGINT), {step}, {signed})",
    )
