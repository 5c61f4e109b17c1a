"""SQL functions of the DuckDB file."""

from __future__ import annotations

from jobs.settings.client_profiles import released_profiles

_JAVA_HASH_CODE = """(list_reduce(
    list_transform(range(1, length(s) + 1), lambda place: unicode(substring(s, place, 1))::BIGINT),
    lambda hash, point: CASE
        WHEN point < 65536 THEN hash * 31 + point
        ELSE (hash * 31 + 55296 + ((point - 65536) >> 10)) * 31 + 56320 + ((point - 65536) & 1023)
    END & 4294967295,
    0::BIGINT
) + 2147483648) % 4294967296 - 2147483648"""
"""A point beyond U+FFFF counts as its two UTF-16 code units; the sum stays below 2^32, and gets its sign at the end."""


def duckdb_functions() -> dict[str, tuple[str, str]]:
    """Name with parameters, to what it gives and its body; the ladders are those of `conf/profiles.toml`."""
    ladders, known = "", ", ".join(profile.name for profile in released_profiles())
    for profile in released_profiles():
        rungs = profile.policy(profile.name).ladder.rungs
        steps = " ".join(f"WHEN latency_ms >= {floor_ms} THEN {length_ms}" for floor_ms, length_ms in rungs)
        ladders += f" WHEN profile = '{profile.name}' THEN CASE {steps} ELSE 0 END"
    refused = f"error('profile ' || profile || ' is unknown; known are {known}')"
    return {
        "not_available_duration(latency_ms, profile)": (
            f"Isolation in ms that a send of this latency earns under {known}; null for null",
            f"CASE WHEN latency_ms IS NULL OR profile IS NULL THEN NULL{ladders} ELSE {refused} END::BIGINT",
        ),
        "java_hash_code(s)": ("Java's String.hashCode, over UTF-16 code units; null for null", _JAVA_HASH_CODE),
    }
