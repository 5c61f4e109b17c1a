"""`strategy_comparison`: the same day of members and queues under each strategy."""

from pyspark.sql.types import DoubleType

from jobs.tables.table import CLUSTER, EVENT_DATE, FLAG, LONG, TEXT, Table, required

STRATEGY_COMPARISON = Table(
    name="strategy_comparison",
    grain="one strategy over one day of one group and topic",
    keys=("event_date", "cluster", "consumer_group", "topic", "strategy"),
    columns=(
        EVENT_DATE,
        CLUSTER,
        required("consumer_group", TEXT, "consumer group"),
        required("topic", TEXT, "topic"),
        required("strategy", TEXT, "strategy; MIXED: each member's own, where they differ"),
        required("is_own", FLAG, "the group uses it"),
        required("rebalances", LONG, "changes of members or queues in the day"),
        required("moves", LONG, "queues that changed their owner, summed over the changes"),
        required("fewest_moves", LONG, "fewest that any assignment with the same loads would have moved"),
        required("imbalance_max", LONG, "largest difference between the members with most and fewest queues"),
        required("broker_skew", LONG, "largest such difference counting the queues of one broker alone"),
        required("unassigned_max", LONG, "most queues at one time without an owner"),
        required("imbalance_mean", DoubleType(), "difference between most and fewest queues, mean over the time"),
    ),
)
