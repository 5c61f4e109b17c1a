-- What did the night cost callers, by producer group?
-- One row is one producer group on one day with sends that were lost, retried or slow; each send counts once.
-- Ask it: SELECT * FROM send_costs WHERE last_night ORDER BY lost DESC, saved + slow DESC
--
-- event_date: UTC day
-- cluster: RocketMQ cluster
-- last_night: the day is the cluster's last published one
-- producer_group: producer group; empty when not logged
-- lost: sends that failed for their callers
-- unsent: of those, sends that failed before a broker was chosen
-- saved: sends that were answered after a retry
-- slow: sends that were answered at the first attempt, after slow_ms or longer
WITH latest AS (
  SELECT cluster, max(event_date) AS event_date
  FROM run_log
  WHERE flow = 'FAULT_LATENCY' AND status = 'SUCCEEDED'
  GROUP BY cluster
),
calls AS (
  SELECT event_date, cluster, producer_group, failed, attempts = 0 AS is_unsent, retried, slow
  FROM send_calls
  WHERE failed OR retried OR slow
)
SELECT
  c.event_date,
  c.cluster,
  coalesce(c.event_date = max(latest.event_date), false) AS last_night,
  c.producer_group,
  CAST(count_if(c.failed) AS BIGINT) AS lost,
  CAST(count_if(c.is_unsent) AS BIGINT) AS unsent,
  CAST(count_if(c.retried AND NOT c.failed) AS BIGINT) AS saved,
  CAST(count_if(c.slow AND NOT c.retried AND NOT c.failed) AS BIGINT) AS slow
FROM calls AS c
LEFT JOIN latest ON latest.cluster = c.cluster
GROUP BY c.event_date, c.cluster, c.producer_group
