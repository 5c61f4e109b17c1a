-- Which consumer groups keep rebalancing, and what did it cost?
-- One row is one consumer group on one day with a rebalance or a finding that it flaps.
-- Ask it: SELECT * FROM flapping_groups WHERE last_night ORDER BY queues_moved DESC
--
-- event_date: UTC day
-- cluster: RocketMQ cluster
-- last_night: the day is the cluster's last published one
-- consumer_group: consumer group
-- rebalances: changes of what the strategy allocates, per topic
-- topics: topics whose queues were allocated again
-- member_changes: of the rebalances, those in which clients joined or left
-- queue_changes: of the rebalances, those in which queues came or went
-- queues_moved: queues that went to another owner
-- fewest_moves: fewest that any assignment with the same loads would have moved
-- moved_beyond_fewest: queues_moved - fewest_moves
-- first_at: first rebalance of the day, UTC; null = none
-- last_at: last rebalance of the day, UTC; null = none
-- flapping_findings: findings of the day that clients of the group drop off and return (allocation_findings)
WITH latest AS (
  SELECT cluster, max(event_date) AS event_date
  FROM run_log
  WHERE flow = 'ALLOCATION' AND status = 'SUCCEEDED'
  GROUP BY cluster
),
rebalanced AS (
  SELECT
    event_date,
    cluster,
    consumer_group,
    count(*) AS rebalances,
    count(DISTINCT topic) AS topics,
    CAST(count_if(trigger IN ('JOINED', 'LEFT', 'JOINED_AND_LEFT', 'MEMBERS_AND_QUEUES')) AS BIGINT) AS member_changes,
    CAST(count_if(trigger IN ('QUEUES', 'MEMBERS_AND_QUEUES')) AS BIGINT) AS queue_changes,
    CAST(sum(moved) AS BIGINT) AS queues_moved,
    CAST(sum(fewest_moves) AS BIGINT) AS fewest_moves,
    CAST(sum(moved_beyond_fewest) AS BIGINT) AS moved_beyond_fewest,
    min(changed_at) AS first_at,
    max(changed_at) AS last_at
  FROM rebalances
  GROUP BY event_date, cluster, consumer_group
),
flapping AS (
  SELECT event_date, cluster, consumer_group, count(*) AS flapping_findings
  FROM allocation_findings
  WHERE kind = 'FLAPPING' AND consumer_group IS NOT NULL
  GROUP BY event_date, cluster, consumer_group
),
seen AS (
  SELECT event_date, cluster, consumer_group FROM rebalanced
  UNION
  SELECT event_date, cluster, consumer_group FROM flapping
)
SELECT
  g.event_date,
  g.cluster,
  coalesce(g.event_date = latest.event_date, false) AS last_night,
  g.consumer_group,
  coalesce(r.rebalances, 0) AS rebalances,
  coalesce(r.topics, 0) AS topics,
  coalesce(r.member_changes, 0) AS member_changes,
  coalesce(r.queue_changes, 0) AS queue_changes,
  coalesce(r.queues_moved, 0) AS queues_moved,
  coalesce(r.fewest_moves, 0) AS fewest_moves,
  coalesce(r.moved_beyond_fewest, 0) AS moved_beyond_fewest,
  r.first_at,
  r.last_at,
  coalesce(f.flapping_findings, 0) AS flapping_findings
FROM seen AS g
LEFT JOIN rebalanced AS r
  ON r.event_date = g.event_date AND r.cluster = g.cluster AND r.consumer_group = g.consumer_group
LEFT JOIN flapping AS f
  ON f.event_date = g.event_date AND f.cluster = g.cluster AND f.consumer_group = g.consumer_group
LEFT JOIN latest ON latest.cluster = g.cluster
