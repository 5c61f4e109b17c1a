"""The policy of a producer: ladder, constant and write rule of its fault items."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Literal

from pyspark.sql import Column
from pyspark.sql import functions as F

from udfs.ladder import Ladder, isolation_ms, plain_isolation_ms

WriteRule = Literal["LAST_WRITE", "MAX"]


@dataclass(frozen=True)
class Policy:
    """Rules by which one producer's `MQFaultStrategy` and `LatencyFaultToleranceImpl` treat an update.

    Attributes:
        name: unique among the policies of a run.
        profile: the released rules it is based on, such as P5.
        ladder: latency to isolation.
        failure_latency_ms: latency that a failure looks up in the ladder.
        write_rule: LAST_WRITE (4.0.0 to 5.1.3) or MAX (5.1.4 and later).
        reachable_gates: a false reachable flag alone makes the broker not available (5.1.4 only).
        not_exist_isolates: an MQClientException counts as a failure (to 5.1.3).
    """

    name: str
    profile: str
    ladder: Ladder
    failure_latency_ms: int
    write_rule: WriteRule
    reachable_gates: bool
    not_exist_isolates: bool

    @property
    def failure_isolation_ms(self) -> int | None:
        """Isolation of a failure: the constant looked up in the ladder; null = the client fails."""
        return plain_isolation_ms(self.failure_latency_ms, self.ladder)


def not_available_ms(policy: Column, latency_ms: Column, is_failure: Column, policies: Sequence[Policy]) -> Column:
    """Isolation of an update under the policy of its row, in ms.

    Args:
        policy: name of the policy.
        latency_ms: latency of the update.
        is_failure: the update isolates: the policy's constant replaces the latency.
        policies: all possible policies; equal ladders share one expression.

    Returns:
        bigint; null for an unknown policy, and where the client fails (`udfs.ladder.Ladder`).
    """

    def earned(candidate: Policy) -> Column:
        return F.when(is_failure, F.lit(candidate.failure_isolation_ms).cast("bigint")).otherwise(
            isolation_ms(latency_ms, candidate.ladder)
        )

    return _chosen(policy, policies, lambda candidate: (candidate.ladder, candidate.failure_latency_ms), earned)


def keeps_latest(policy: Column, policies: Sequence[Policy]) -> Column:
    """Whether the policy's window only moves later (write rule MAX), not with every write (LAST_WRITE, to 5.1.3).

    With this rule, in 5.1.4, came the reachable flag, so that it is also whether fault items have one.
    """
    return policy.isin([candidate.name for candidate in policies if candidate.write_rule == "MAX"])


def gated_by_reachable(policy: Column, policies: Sequence[Policy]) -> Column:
    """Whether a false reachable flag alone makes the broker not available."""
    return policy.isin([candidate.name for candidate in policies if candidate.reachable_gates])


def _chosen(
    policy: Column, policies: Sequence[Policy], key: Callable[[Policy], object], value: Callable[[Policy], Column]
) -> Column:
    groups: dict[object, list[Policy]] = {}
    for candidate in policies:
        groups.setdefault(key(candidate), []).append(candidate)
    return reduce(
        lambda so_far, members: so_far.when(policy.isin([member.name for member in members]), value(members[0])),
        groups.values(),
        F.when(policy.isNull(), F.lit(None).cast("bigint")),
    )
