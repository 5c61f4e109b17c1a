"""Isolations that each kind of write earns under each requested policy; equal policies share a rule."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.what_if.requested_policies import AS_RUN, RequestedPolicies
from udfs.ladder import Ladder, plain_isolation_ms
from udfs.policy import Policy

TOOK, FAILED, NOT_EXIST = "TOOK", "FAILED", "NOT_EXIST"
"""A write with a latency; a failure under every policy; a sync `The broker[x] not exist`: a failure under some."""

_EARNED = pa.schema(
    [
        ("write_kind", pa.string()),
        ("step_ms", pa.int64()),
        ("of_policy", pa.string()),
        ("rule", pa.int32()),
        ("not_available_ms", pa.int64()),
        ("latest_stays", pa.bool_()),
        ("gated", pa.bool_()),
    ]
)
_Earned = tuple[str, int, str | None, int, int, bool, bool]


@dataclass(frozen=True)
class Rule:
    """Policies that do the same with every write, so that one replay serves them all.

    Attributes:
        number: unique in the run.
        names: the requested policies.
        members: one policy for all producers, or for `AS_RUN` each policy that a producer may have of its own.
    """

    number: int
    names: tuple[str, ...]
    members: tuple[Policy, ...]


def rules(requested: RequestedPolicies, own: Sequence[Policy]) -> tuple[Rule, ...]:
    """The different rules among the requested policies.

    Args:
        requested: the policies of the run.
        own: every policy that a producer may have of its own.
    """
    alike: dict[object, list[Policy]] = {}
    for each in requested.policies:
        alike.setdefault(_behaviour(each), []).append(each)
    shared = [
        Rule(number, tuple(each.name for each in members), (members[0],))
        for number, members in enumerate(alike.values(), start=1)
    ]
    return (*shared, *([Rule(0, (AS_RUN,), tuple(own))] if requested.as_run else []))


def _behaviour(policy: Policy) -> object:
    return (
        policy.ladder,
        policy.failure_isolation_ms,
        policy.write_rule,
        policy.reachable_gates,
        policy.not_exist_isolates,
    )


def longest_ms(of_rules: Sequence[Rule]) -> int:
    """The longest isolation that any of the rules can give."""
    return max((member.ladder.longest_ms for rule in of_rules for member in rule.members), default=0)


def earned(spark: SparkSession, of_rules: Sequence[Rule]) -> DataFrame:
    """One row per isolation that a write earns under a rule; nothing earned is no row.

    Grain: `write_kind`, `step_ms`, `of_policy` (null = whatever the producer's own policy), `rule`. Columns:
    `not_available_ms`, `latest_stays` (write rule MAX), `gated` (a false reachable flag alone isolates).
    """
    steps = steps_ms(of_rules)
    rows = [row for rule in of_rules for member in rule.members for row in _rows(rule, member, steps)]
    as_dicts = [dict(zip(_EARNED.names, row, strict=True)) for row in rows]
    return spark.createDataFrame(pa.Table.from_pylist(as_dicts, _EARNED))


def _rows(rule: Rule, policy: Policy, steps: Sequence[int]) -> Iterator[_Earned]:
    of_policy = policy.name if rule.names == (AS_RUN,) else None
    tail = (policy.write_rule == "MAX", policy.reachable_gates)
    for step in steps:
        took = plain_isolation_ms(step, policy.ladder)
        not_exist = policy.failure_isolation_ms if policy.not_exist_isolates else took
        if took:
            yield (TOOK, step, of_policy, rule.number, took, *tail)
        if not_exist:
            yield (NOT_EXIST, step, of_policy, rule.number, not_exist, *tail)
    if policy.failure_isolation_ms or policy.reachable_gates:
        yield (FAILED, 0, of_policy, rule.number, policy.failure_isolation_ms or 0, *tail)


def steps_ms(of_rules: Sequence[Rule]) -> list[int]:
    """Latencies at which any rule's isolation may change: 0 and every floor, rising."""
    ladders: set[Ladder] = {member.ladder for rule in of_rules for member in rule.members}
    return sorted({0, *(floor for ladder in ladders for floor in ladder.floors_ms)})


def step_ms(latency_ms: Column, steps: Sequence[int]) -> Column:
    """The highest of the rising `steps` that the latency reaches."""
    reached = F.filter(F.array(*(F.lit(step).cast("bigint") for step in steps)), lambda step: step <= latency_ms)
    return F.array_max(reached)


def earns_from_ms(of_rules: Sequence[Rule]) -> int | None:
    """The lowest latency that isolates under any of the rules; null when none does."""
    steps = steps_ms(of_rules)
    members = [member for rule in of_rules for member in rule.members]
    return next((step for step in steps if any(plain_isolation_ms(step, each.ladder) for each in members)), None)
