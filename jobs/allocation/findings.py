"""Differences as findings, each with its cause; every finding in words."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.allocation.comparison import HAND_OVER_MS, QUEUE
from jobs.tables.allocation_findings import ACTING_CAUSES

_DIFFERENCE = (*QUEUE, "kind", "client_ids", "start_ms", "end_ms")
_TOLD = ("owners_expected", "owners_observed", "own")  # of each difference
_COLUMNS = {
    "consumer_group": "string",
    "topic": "string",
    "broker_name": "string",
    "queue_id": "int",
    "kind": "string",
    "basis": "string",
    "cause": "string",
    "client_ids": "array<string>",
    "owners_expected": "array<string>",
    "owners_observed": "array<string>",
    "start_ms": "bigint",
    "end_ms": "bigint",
}
WHY = {
    "DUPLICATE_CLIENT_ID": "two connections of the group have one client id",
    "NOT_SUBSCRIBED": "the client does not subscribe the topic",
    "QUEUE_DOES_NOT_EXIST": "the topic has no such queue",
    "MIXED_STRATEGIES": "members of the group use different strategies",
    "MIXED_LANGUAGES": "members of the group are clients of different languages",
    "FLAPPING": "members of the group drop off and return",
    "VIEWS_DIFFER": "brokers tell different members",
    "STOPPED_NOT_EXPIRED": "the client is gone, and its broker has not dropped it yet",
    "CLIENT_SILENT": "the client's process stood still",
    "LOCK_NOT_GRANTED": "the broker did not grant the lock of the queue",
    "OFFSET_UNKNOWN": "the broker did not tell the group's offset",
    "STALE_ROUTE": "the route had changed, and clients ask for it every 30 s",
    "REBALANCE_NOT_RUN": "members had changed, and clients rebalance within 20 s",
    "STRATEGY_FAILS": "the strategy fails on this input, so everyone keeps what it had",
    "STRATEGY_LEAVES_OUT": "the strategy, as it is set up, leaves it out",
    "STRATEGY_NAMES_TWICE": "the strategy, as it is set up, gives it to several",
    "MORE_CLIENTS_THAN_QUEUES": "the group has more clients than the topic has queues",
    "REQUEST_MODE_UNKNOWN": "the broker assigns, and settings do not say request_mode",
    "STRATEGY_UNKNOWN": "its class is the site's own, or settings do not say how the strategy is set up",
    "ROUTE_UNKNOWN": "no snapshot tells of it, or it is a static topic, whose logical queues are not read",
    "NO_ROUTE": "it answered that there is no such topic",
    "UNEXPLAINED": "the data does not show why",
}
_GIVEN = {"UNASSIGNED": "nobody is given the queue", "DOUBLY_OWNED": "several clients are given the queue"}
WHAT = {
    "UNASSIGNED": "nobody has the queue",
    "DOUBLY_OWNED": "several clients have the queue",
    "AGAINST_STRATEGY": "another than the strategy names has the queue",
    "IDLE_CLIENT": "the client gets no queue",
    "NOT_DETERMINABLE": "who should own the queues cannot be said",
    "MIXED_LANGUAGES": "clients of different languages may allocate differently",
    "MIXED_STRATEGIES": "members use different strategies",
    "DUPLICATE_CLIENT_ID": "two connections have one client id; they own the same queues, and others nobody",
    "EMPTY_CLIENT_ID": "a member has an empty client id",
    "GROUP_WITHOUT_CONSUMERS": "no broker knows a consumer of the group",
    "TOPIC_WITHOUT_ROUTE": "the name server knows no route",
    "VIEWS_DIFFER": "brokers tell different members, and each client asks one of them at random",
    "FLAPPING": "the client dropped off and returned again and again",
}


def with_causes(differences: DataFrame, causes: DataFrame) -> DataFrame:
    """Differences as findings, cut where time without a cause begins or ends.

    One finding for all explained time in a row: by the cause that ranks first, not by which acts at each moment.

    Args:
        differences: as `differences` returns them.
        causes: as `acting` returns them.
    """
    own = (
        F.when(~F.col("in_route") & (F.size("owners_expected") > 0), "QUEUE_DOES_NOT_EXIST")
        .when(F.col("as_given") & F.col("is_mixed"), "MIXED_STRATEGIES")
        .when(F.col("as_given"), "STRATEGY_NAMES_TWICE")
    )
    ranked = _cut_by_causes(_with_acting(differences.withColumn("own", own), causes))
    in_time = Window.partitionBy(*_DIFFERENCE).orderBy("from_ms")
    so_far = in_time.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    is_explained = F.col("own").isNotNull() | F.col("rank").isNotNull()
    judged = ranked.withColumn("is_explained", is_explained)
    turns = judged.withColumn("turns", F.col("is_explained") != F.lag("is_explained").over(in_time))
    runs = (
        turns.withColumn("run", F.count_if("turns").over(so_far))
        .groupBy(*_DIFFERENCE, "run")
        .agg(
            *(F.first(name).alias(name) for name in _TOLD),
            F.min("rank").alias("rank"),
            F.min("from_ms").alias("from_ms"),
            F.max("until_ms").alias("until_ms"),
        )
    )
    by_rank = F.get(_ranked(), F.col("rank") - 1)  # not element_at: Spark takes that for never null
    caused = runs.select(
        *QUEUE,
        "kind",
        "client_ids",
        "owners_expected",
        "owners_observed",
        F.coalesce("own", by_rank, F.lit("UNEXPLAINED")).alias("cause"),
        F.col("from_ms").alias("start_ms"),
        F.col("until_ms").alias("end_ms"),
    )
    lasting = caused.where(F.col("end_ms") - F.col("start_ms") > HAND_OVER_MS)
    return finding(lasting, "OBSERVED")


def _with_acting(differences: DataFrame, causes: DataFrame) -> DataFrame:
    """Each difference with `acting`: the causes that concern it, as structs of when they act and `cause`."""
    joined = differences.alias("of").join(
        causes.alias("why"),
        (F.col("of.consumer_group") == F.col("why.consumer_group"))
        & F.coalesce(F.col("why.topic") == F.col("of.topic"), F.lit(True))
        & F.coalesce(F.col("why.broker_name") == F.col("of.broker_name"), F.lit(True))
        & F.coalesce(F.col("why.queue_id") == F.col("of.queue_id"), F.lit(True))
        & F.coalesce(F.array_contains("of.client_ids", F.col("why.client_id")), F.lit(True))
        & (F.col("why.acts_from_ms") < F.col("of.end_ms"))
        & (F.col("why.acts_until_ms") > F.col("of.start_ms")),
        "left",
    )
    act = F.struct(*(F.col(f"why.{name}") for name in ("acts_from_ms", "acts_until_ms", "cause")))
    return joined.groupBy(*(F.col(f"of.{name}").alias(name) for name in _DIFFERENCE)).agg(
        *(F.first(f"of.{name}").alias(name) for name in _TOLD),
        F.collect_set(F.when(F.col("why.cause").isNotNull(), act)).alias("acting"),
    )


def _cut_by_causes(differences: DataFrame) -> DataFrame:
    """Each difference cut where one of `acting` begins or ends; `rank` of the first that acts, null when none does."""
    edges = F.flatten(F.transform("acting", lambda each: F.array(each["acts_from_ms"], each["acts_until_ms"])))
    inside = F.filter(edges, lambda at: (at > F.col("start_ms")) & (at < F.col("end_ms")))
    starts = F.array_sort(F.array_union(inside, F.array("start_ms")))
    pieces = differences.select("*", F.posexplode(starts).alias("place", "from_ms")).withColumn(
        "until_ms", F.coalesce(F.get(starts, F.col("place") + 1), F.col("end_ms"))
    )
    now = F.filter(
        "acting", lambda each: (each["acts_from_ms"] <= F.col("from_ms")) & (each["acts_until_ms"] > F.col("from_ms"))
    )
    ranks = F.transform(now, lambda each: F.array_position(_ranked(), each["cause"]))
    return pieces.withColumn("rank", F.array_min(ranks))


def _ranked() -> Column:
    return F.array(*(F.lit(cause) for cause in ACTING_CAUSES))


def finding(found: DataFrame, basis: str) -> DataFrame:
    """`found` with every column of a finding, null where it tells nothing."""
    given = {
        name: F.col(name).cast(of) if name in found.columns else F.lit(None).cast(of) for name, of in _COLUMNS.items()
    }
    given["basis"] = F.lit(basis)
    return found.select(*(value.alias(name) for name, value in given.items()))


def findings(found: DataFrame) -> DataFrame:
    """The table's rows, without day and cluster.

    Args:
        found: as `finding` returns them.
    """
    return found.withColumn("client_ids", F.coalesce("client_ids", F.array().cast("array<string>"))).select(
        *_COLUMNS,
        _sentence().alias("sentence"),
    )


def _sentence() -> Column:
    def text(of: dict[str, str], name: str) -> Column:
        return F.coalesce(*(F.when(F.col(name) == key, F.lit(words)) for key, words in of.items()))

    def listed(name: str) -> Column:
        return F.array_join(F.transform(name, lambda each: F.when(each == "", '""').otherwise(each)), ", ")

    def names(name: str) -> Column:
        return F.when(F.size(name) == 0, F.lit("nobody")).otherwise(listed(name))

    queue = F.concat("broker_name", F.lit(" queue "), "queue_id")
    whose = F.concat_ws(", ", "consumer_group", "topic", queue)
    clients = F.when(F.col("queue_id").isNull() & (F.size("client_ids") > 0), listed("client_ids"))
    seconds = F.round((F.col("end_ms") - F.col("start_ms")) / 1000, 1)
    held_by = F.concat(F.lit("expected "), names("owners_expected"), F.lit(", held by "), names("owners_observed"))
    given_to = F.when(F.size("owners_expected") > 0, listed("owners_expected"))
    details = F.concat_ws("; ", F.coalesce(held_by, given_to), clients, text(WHY, "cause"))
    is_given = (F.col("basis") == "EXPECTED") & F.col("kind").isin(*_GIVEN)
    fact = F.when(is_given, text(_GIVEN, "kind")).otherwise(text(WHAT, "kind"))
    what = F.concat(whose, F.lit(": "), fact, F.lit(" for "), seconds, F.lit(" s"))
    return F.when(details == "", what).otherwise(F.concat(what, F.lit(" ("), details, F.lit(")")))
