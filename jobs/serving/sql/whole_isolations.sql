-- From when to when did a producer hold a broker as not available, however many midnights lay between?
-- One row is one isolation: the pieces that isolation_intervals cuts at 00:00 UTC are joined. An isolation whose first days
-- are not in the lake says so, and one that stands at the end of the last published day has no ended_by yet.
-- Ask it: SELECT * FROM whole_isolations WHERE enforced AND still_stands ORDER BY start_ms
--
-- cluster: RocketMQ cluster
-- client_id: client id of the producer
-- producer_group: producer group; empty when not logged
-- process: process of the producer
-- enforced: false = the switch was off: the producer would have isolated the broker
-- broker_name: broker name
-- client_version: version of the client when it began
-- profile: rules it was replayed under when it began
-- policy: the profile, or profile and own ladder, when it began
-- start_ms: start, epoch ms
-- start_at: start, UTC
-- end_ms: end, exclusive, epoch ms
-- end_at: end, exclusive, UTC
-- end_earliest_ms: earliest end that events of unknown order allow, epoch ms
-- end_latest_ms: latest end that events of unknown order allow, epoch ms
-- cause: what opened it
-- evidence: how the opener is known: LOGGED, RECORDED by the client, or inferred
-- opener_latency_ms: latency that the opening update carried, ms
-- extensions: later updates that set a new end, on its last day
-- ended_by: what ended it; null = it stands at the end of the last published day
-- began_before_the_lake: it stood at 00:00 of its first day in the lake
-- still_stands: it stands at the end of its last day in the lake
-- days: number of days it touches
WITH marked AS (
  SELECT
    *,
    NOT (
      continued_from_previous_day
      AND coalesce(lag(continues_next_day) OVER item AND lag(end_ms) OVER item = start_ms, false)
    ) AS begins
  FROM isolation_intervals
  WINDOW item AS (
    PARTITION BY cluster, client_id, producer_group, process, enforced, broker_name ORDER BY start_ms
  )
),
numbered AS (
  SELECT
    *,
    count_if(begins) OVER (
      PARTITION BY cluster, client_id, producer_group, process, enforced, broker_name ORDER BY start_ms
      ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS isolation
  FROM marked
)
SELECT
  cluster,
  client_id,
  producer_group,
  process,
  enforced,
  broker_name,
  min_by(client_version, start_ms) AS client_version,
  min_by(profile, start_ms) AS profile,
  min_by(policy, start_ms) AS policy,
  min(start_ms) AS start_ms,
  min(start_at) AS start_at,
  max(end_ms) AS end_ms,
  max(end_at) AS end_at,
  -- the end is uncertain from the first day on which it could have come before that day's end
  coalesce(min(end_earliest_ms) FILTER (WHERE end_earliest_ms < end_ms), max(end_ms)) AS end_earliest_ms,
  max(end_latest_ms) AS end_latest_ms,
  min_by(cause, start_ms) AS cause,
  min_by(evidence, start_ms) AS evidence,
  min_by(opener_latency_ms, start_ms) AS opener_latency_ms,
  max_by(extensions, start_ms) AS extensions,
  nullif(max_by(ended_by, start_ms), 'DAY_END') AS ended_by,
  min_by(continued_from_previous_day, start_ms) AS began_before_the_lake,
  max_by(continues_next_day, start_ms) AS still_stands,
  count(*) AS days
FROM numbered
GROUP BY cluster, client_id, producer_group, process, enforced, broker_name, isolation
