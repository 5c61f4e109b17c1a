"""Who sends under which rules: version, policy, switch and process of each attempt's producer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.profiles import Profile
from jobs.settings import ProducerSettings
from udfs.choice import began_at_ms
from udfs.ladder import Ladder
from udfs.policy import Policy
from udfs.version import version_number

PRODUCER = ("cluster", "client_id", "producer_group")

ORDER_OF_EVENTS = ("ended_at_ms", "seq", "started_at_ms", "invoke_id", "attempt", "row_hash")
"""The total order of a producer's attempts, independent of files; `seq` with nulls last."""


def policies(profiles: Sequence[Profile], producers: Mapping[str, ProducerSettings]) -> tuple[Policy, ...]:
    """Every policy a producer may replay under: each profile, and each profile with each own ladder."""
    released = [profile.policy(profile.name) for profile in profiles]
    own = [
        profile.policy(_own_policy(profile.name, name), Ladder(each.latency_max_ms, each.not_available_ms or ()))
        for profile in profiles
        for name, each in producers.items()
        if each.latency_max_ms is not None
    ]
    return (*released, *own)


def with_rules(sends: DataFrame, profiles: Sequence[Profile], producers: Mapping[str, ProducerSettings]) -> DataFrame:
    """Each attempt with the rules its producer follows.

    A value the log gives wins over the settings; a client id's settings win over its group's, key by key. The
    ladder is the settings' alone.

    Adds `version` (as logged or set), `version_number`, `profile`, `policy`, `not_replayed` (why it cannot be
    replayed; null = it can), `enforced` (the switch), `switch_assumed` (nobody told: off), `detector`,
    `by_caller` (the caller chose the queue).
    """

    def told(attribute: str) -> Column:
        return _setting(producers, attribute)

    version = F.coalesce("client_version", told("client_version"))
    number = version_number(version)
    profile = reduce(
        lambda so_far, each: so_far.when(number >= each.since_number, each.name),
        sorted(profiles, key=lambda each: -each.since_number),
        F.when(number.isNull(), F.lit(None).cast("string")),
    )
    ladder_owner = _ladder_owner(producers)
    not_java = F.coalesce(F.upper("client_language") != "JAVA", F.lit(False))
    switch = F.coalesce("fault_latency_enabled", told("fault_latency_enabled").cast("boolean"))
    return sends.withColumns({"version": version, "version_number": number, "profile": profile}).withColumns(
        {
            "policy": F.when(ladder_owner.isNull(), F.col("profile")).otherwise(
                F.concat("profile", F.lit(" with the ladder of "), ladder_owner)
            ),
            "not_replayed": F.when(not_java, "NOT_A_JAVA_CLIENT")
            .when(F.col("version_number").isNull(), "CLIENT_VERSION_UNKNOWN")
            .when(F.col("profile").isNull(), "CLIENT_TOO_OLD"),
            "enforced": F.coalesce(switch, F.lit(False)),
            "switch_assumed": switch.isNull(),
            "detector": F.coalesce("detector_enabled", told("detector_enabled").cast("boolean"), F.lit(False)),
            "by_caller": F.coalesce("queue_chosen_by", told("queue_chosen_by"), F.lit("CLIENT")) == "CALLER",
        }
    )


def with_process(sends: DataFrame, carried: DataFrame) -> DataFrame:
    """Each attempt with the process it ran in, and when that process was over.

    `process` is the logged process id; without one, `#1`, `#2` … counted up at each clear fall of `seq`: below
    half of the attempt before it, by an attempt that began after all earlier ones had ended. `dies_at_ms` is
    the first start of a process that began after this one's last attempt; null while there is none.

    Args:
        sends: attempts of one day.
        carried: per `PRODUCER` the process that ended the day before: `carried_process`, `carried_seq`,
            `carried_ended_at_ms`.
    """
    order = Window.partitionBy(*PRODUCER).orderBy("ended_at_ms", F.asc_nulls_last("seq"), *ORDER_OF_EVENTS[2:])
    before = order.rowsBetween(Window.unboundedPreceding, -1)
    so_far = order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    known = sends.join(F.broadcast(carried), list(PRODUCER), "left")
    seq_before = F.coalesce(F.lag("seq").over(order), F.col("carried_seq"))
    all_ended_at = F.greatest(F.max("ended_at_ms").over(before), "carried_ended_at_ms")
    restarted = (F.col("seq") < seq_before / 2) & (began_at_ms() > all_ended_at)
    carried_count = F.coalesce(F.regexp_extract("carried_process", r"^#(\d+)$", 1).try_cast("int"), F.lit(1))
    counted = known.withColumn("restarted", F.coalesce(restarted.cast("int"), F.lit(0)))
    named = counted.withColumn(
        "process",
        F.coalesce("process_id", F.concat(F.lit("#"), carried_count + F.sum("restarted").over(so_far))),
    ).drop("restarted", "carried_process", "carried_seq", "carried_ended_at_ms")
    return named.join(F.broadcast(_lives(named, carried)), [*PRODUCER, "process"], "left")


def _lives(sends: DataFrame, carried: DataFrame) -> DataFrame:
    """Per process: `dies_at_ms`. The carried process counts with its last attempt of the day before."""
    lives = sends.groupBy(*PRODUCER, "process").agg(
        F.min(began_at_ms()).alias("born_at_ms"), F.max("ended_at_ms").alias("last_at_ms")
    )
    yesterday = carried.select(
        *PRODUCER,
        F.col("carried_process").alias("process"),
        F.col("carried_ended_at_ms").alias("born_at_ms"),
        F.col("carried_ended_at_ms").alias("last_at_ms"),
    )
    all_lives = (
        lives.unionByName(yesterday)
        .groupBy(*PRODUCER, "process")
        .agg(F.min("born_at_ms").alias("born_at_ms"), F.max("last_at_ms").alias("last_at_ms"))
    )
    moments = all_lives.select(
        *PRODUCER,
        "process",
        F.explode(
            F.array(
                F.struct(F.col("born_at_ms").alias("at_ms"), F.col("born_at_ms").alias("birth_ms")),
                F.struct(F.col("last_at_ms").alias("at_ms"), F.lit(None).cast("bigint").alias("birth_ms")),
            )
        ).alias("moment"),
    ).select(*PRODUCER, "process", "moment.*")
    later_first = (
        Window.partitionBy(*PRODUCER)
        .orderBy(F.desc("at_ms"), F.col("birth_ms").isNull(), "process")
        .rowsBetween(Window.unboundedPreceding, -1)
    )
    next_birth = F.last("birth_ms", ignorenulls=True).over(later_first)
    return moments.withColumn("dies_at_ms", next_birth).where("birth_ms IS NULL").drop("at_ms", "birth_ms")


def carried_processes(opening: DataFrame) -> DataFrame:
    """Per `PRODUCER` the process that sent last on the day before, from the opening fault items."""
    last = F.struct("last_ended_at_ms", "process")
    return opening.groupBy(*PRODUCER).agg(
        F.max_by("process", last).alias("carried_process"),
        F.max_by("last_seq", last).alias("carried_seq"),
        F.max("last_ended_at_ms").alias("carried_ended_at_ms"),
    )


def with_end_of_process(opening: DataFrame, attempts: DataFrame) -> DataFrame:
    """Opening fault items with `dies_at_ms` of their process.

    A process that sends nothing on this day ends when another one of its producer begins.

    Args:
        opening: fault items of the day before.
        attempts: the day's attempts as `with_process` returns them.
    """
    life = [*PRODUCER, "process"]
    lives = attempts.select(*life, "dies_at_ms").distinct().withColumn("sends", F.lit(True))
    newborn = attempts.join(opening.select(*life).distinct(), life, "left_anti")
    births = newborn.groupBy(*PRODUCER).agg(F.min(began_at_ms()).alias("birth_ms"))
    return (
        opening.join(lives, life, "left")
        .join(births, list(PRODUCER), "left")
        .withColumn("dies_at_ms", F.when(F.col("sends").isNull(), F.col("birth_ms")).otherwise(F.col("dies_at_ms")))
        .drop("sends", "birth_ms")
    )


def _own_policy(profile: str, owner: str) -> str:
    return f"{profile} with the ladder of {owner}"


def _setting(producers: Mapping[str, ProducerSettings], attribute: str) -> Column:
    """The setting of the attempt's client id, else of its group, as text; null when neither has it."""
    values = {name: getattr(each, attribute) for name, each in producers.items()}
    texts = {name: str(value) for name, value in values.items() if value is not None}
    return _lookup(texts)


def _ladder_owner(producers: Mapping[str, ProducerSettings]) -> Column:
    return _lookup({name: name for name, each in producers.items() if each.latency_max_ms is not None})


def _lookup(texts: Mapping[str, str]) -> Column:
    if not texts:
        return F.lit(None).cast("string")
    table = F.create_map(*(F.lit(part) for pair in texts.items() for part in pair))
    return F.coalesce(table[F.col("client_id")], table[F.col("producer_group")])
