-- What did the night show that is worth looking at, most severe first?
-- One row is one finding about producers and brokers; docs/findings has what it means and what to do.
-- Ask it: SELECT * FROM night_findings WHERE last_night ORDER BY severity_rank, start_at
--
-- event_date: UTC day
-- cluster: RocketMQ cluster
-- last_night: the day is the cluster's last published one
-- severity_rank: 1 = CRITICAL, 2 = WARNING, 3 = INFO
-- severity: CRITICAL: ten sends failed or a broker is long lost; WARNING: look at it; INFO
-- kind: kind of finding
-- cause: why; UNEXPLAINED: the data does not show it
-- start_at: start of the interval, UTC
-- end_at: end of the interval, exclusive, UTC
-- event_id: event that it follows from, in events; null = none
-- broker_name: broker; null = not one broker
-- client_id: client id of the producer; null = not one producer
-- producer_group: producer group; null = not one producer
-- topic: topic; null = all topics
-- sends: attempts concerned; null = not counted
-- failures: of those, attempts that ended in an exception; null = not counted
-- isolated_ms: broker-milliseconds of isolation concerned; null = not counted
-- sentence: the finding in words
WITH latest AS (
  SELECT cluster, max(event_date) AS event_date
  FROM run_log
  WHERE flow = 'FAULT_LATENCY' AND status = 'SUCCEEDED'
  GROUP BY cluster
)
SELECT
  f.event_date,
  f.cluster,
  coalesce(f.event_date = latest.event_date, false) AS last_night,
  CASE f.severity WHEN 'CRITICAL' THEN 1 WHEN 'WARNING' THEN 2 ELSE 3 END AS severity_rank,
  f.severity,
  f.kind,
  f.cause,
  f.start_at,
  f.end_at,
  f.event_id,
  f.broker_name,
  f.client_id,
  f.producer_group,
  f.topic,
  f.sends,
  f.failures,
  f.isolated_ms,
  f.sentence
FROM findings AS f
LEFT JOIN latest ON latest.cluster = f.cluster
