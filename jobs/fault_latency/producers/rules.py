"""The rules of a producer: version, policy and switch behind each of its attempts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.settings.client_profiles import Profile, released_profiles
from jobs.settings.inputs import SEND_TIMEOUT_MS
from jobs.settings.model import ProducerSettings
from udfs.async_tries import CALL, TRY
from udfs.ladder import Ladder
from udfs.policy import Policy
from udfs.version import version_number

_WITH_LADDER = " with the ladder of "
"""Between the names of a policy's profile and of the settings that have its ladder."""


def policies(profiles: Sequence[Profile], producers: Mapping[str, ProducerSettings]) -> tuple[Policy, ...]:
    """Every policy a producer may replay under: each profile, and each profile with each own ladder."""
    released = [profile.policy(profile.name) for profile in profiles]
    own = [
        profile.policy(
            f"{profile.name}{_WITH_LADDER}{name}", Ladder(producer.latency_max_ms, producer.not_available_ms or ())
        )
        for profile in profiles
        for name, producer in producers.items()
        if producer.latency_max_ms is not None
    ]
    return (*released, *own)


def with_rules(sends: DataFrame, producers: Mapping[str, ProducerSettings]) -> DataFrame:
    """Attempts, or attempts counted together, with the rules that their producer follows.

    A value in the log wins over the settings; a client id's settings win over its group's, key by key. The
    ladder comes from the settings alone.

    Adds `version` (as logged or set), `version_number`, `profile`, `policy`, `not_replayed` (why it cannot be replayed;
    null = it can), `enforced` (the switch), `switch_assumed` (neither log nor settings say: off), `detector`,
    `by_caller` (the caller chose the queue), `call_timeout_ms` (the send time-out where a line is a call of `send()`;
    null = it is an attempt, or a try that says so).
    """

    def setting(attribute: str) -> Column:
        """As text; null when neither client id nor group has it."""
        values = {name: getattr(producer, attribute) for name, producer in producers.items()}
        return _lookup({name: str(value) for name, value in values.items() if value is not None})

    ladder_owner = _lookup({name: name for name, of in producers.items() if of.latency_max_ms is not None})
    not_java = F.coalesce(F.upper("client_language") != "JAVA", F.lit(False))
    switch = F.coalesce("fault_latency_enabled", setting("fault_latency_enabled").cast("boolean"))
    is_call = F.coalesce(setting("one_line_per") == "call", F.col("one_line_per") == CALL)
    is_try = F.col("one_line_per").eqNullSafe(F.lit(TRY))
    timeout_ms = F.coalesce(setting("send_timeout_ms").cast("bigint"), F.lit(SEND_TIMEOUT_MS))
    return (
        sends.withColumn("version", F.coalesce("client_version", setting("client_version")))
        .withColumn("version_number", version_number(F.col("version")))
        .withColumn("profile", _profile(F.col("version_number")))
        .withColumns(
            {
                "policy": F.when(ladder_owner.isNull(), F.col("profile")).otherwise(
                    F.concat("profile", F.lit(_WITH_LADDER), ladder_owner)
                ),
                "not_replayed": F.when(not_java, "NOT_A_JAVA_CLIENT")
                .when(F.col("version_number").isNull(), "CLIENT_VERSION_UNKNOWN")
                .when(F.col("profile").isNull(), "CLIENT_TOO_OLD"),
                "enforced": F.coalesce(switch, F.lit(False)),
                "switch_assumed": switch.isNull(),
                "detector": F.coalesce("detector_enabled", setting("detector_enabled").cast("boolean"), F.lit(False)),
                "by_caller": F.coalesce("queue_chosen_by", setting("queue_chosen_by"), F.lit("CLIENT")) == "CALLER",
                "call_timeout_ms": F.when(is_call & ~is_try, timeout_ms).cast("bigint"),
            }
        )
    )


def _profile(version_number: Column) -> Column:
    """The newest released profile that the version has; null when it has none."""
    newest_first = sorted(released_profiles(), key=lambda profile: -profile.since_number)
    return F.coalesce(*(F.when(version_number >= profile.since_number, profile.name) for profile in newest_first))


def _lookup(texts: Mapping[str, str]) -> Column:
    """The text of the attempt's client id, else of its group."""
    if not texts:
        return F.lit(None).cast("string")
    table = F.create_map(*(F.lit(part) for pair in texts.items() for part in pair))
    return F.coalesce(table[F.col("client_id")], table[F.col("producer_group")])
