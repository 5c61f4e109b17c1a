-- How fast was the broker before, during and after each incident?
-- One row is one phase of one incident: the ten minutes BEFORE, DURING it, the ten minutes AFTER. Percentiles are exact,
-- over the answered sync and async attempts at the broker, as in broker_windows. A day without its sends (retention) has none.
-- Ask it: SELECT * FROM incident_latencies WHERE last_night ORDER BY incident_start_at, broker_name, from_ms
--
-- event_date: UTC day of the incident
-- cluster: RocketMQ cluster
-- last_night: the day is the cluster's last published one
-- broker_name: broker
-- incident_start_at: start of the incident, UTC
-- incident_end_at: end of the incident, exclusive, UTC
-- phase: BEFORE, DURING or AFTER
-- from_ms: start of the phase, epoch ms
-- until_ms: end of the phase, exclusive, epoch ms
-- sends: attempts at the broker that ended in the phase
-- failures: of those, attempts that ended in an exception
-- latency_p50_ms: exact median latency, ms; null = no answer
-- latency_p95_ms: exact 95th percentile, ms; null = no answer
-- latency_p99_ms: exact 99th percentile, ms; null = no answer
-- latency_max_ms: highest latency, ms; null = no answer
WITH latest AS (
  SELECT cluster, max(event_date) AS event_date
  FROM run_log
  WHERE flow = 'FAULT_LATENCY' AND status = 'SUCCEEDED'
  GROUP BY cluster
),
phases AS (
  SELECT event_date, cluster, broker_name, start_at, end_at, 'BEFORE' AS phase, start_ms - 600000 AS from_ms,
    start_ms AS until_ms
  FROM broker_incidents
  UNION ALL
  SELECT event_date, cluster, broker_name, start_at, end_at, 'DURING', start_ms, end_ms
  FROM broker_incidents
  UNION ALL
  SELECT event_date, cluster, broker_name, start_at, end_at, 'AFTER', end_ms, end_ms + 600000
  FROM broker_incidents
),
-- a phase may reach over midnight: each day it can touch is a part, so that no other day is read
parts AS (
  SELECT *, event_date AS sent_on FROM phases
  UNION ALL
  SELECT *, CAST(event_date - INTERVAL '1' DAY AS DATE) FROM phases WHERE phase = 'BEFORE'
  UNION ALL
  SELECT *, CAST(event_date + INTERVAL '1' DAY AS DATE) FROM phases WHERE phase = 'AFTER'
),
attempts AS (
  SELECT
    event_date,
    cluster,
    broker_name,
    ended_at_ms,
    outcome IN ('SEND_OK', 'FLUSH_DISK_TIMEOUT', 'FLUSH_SLAVE_TIMEOUT', 'SLAVE_NOT_AVAILABLE', 'SENT') AS returned,
    -- a one-way attempt is handed over, not answered
    CASE
      WHEN mode <> 'ONEWAY'
        AND outcome IN ('SEND_OK', 'FLUSH_DISK_TIMEOUT', 'FLUSH_SLAVE_TIMEOUT', 'SLAVE_NOT_AVAILABLE')
        THEN latency_ms
    END AS answered_ms
  FROM sends
)
SELECT
  p.event_date,
  p.cluster,
  coalesce(p.event_date = max(latest.event_date), false) AS last_night,
  p.broker_name,
  p.start_at AS incident_start_at,
  p.end_at AS incident_end_at,
  p.phase,
  p.from_ms,
  p.until_ms,
  count(s.ended_at_ms) AS sends,
  count_if(NOT s.returned) AS failures,
  percentile_disc(0.50) WITHIN GROUP (ORDER BY s.answered_ms) AS latency_p50_ms,
  percentile_disc(0.95) WITHIN GROUP (ORDER BY s.answered_ms) AS latency_p95_ms,
  percentile_disc(0.99) WITHIN GROUP (ORDER BY s.answered_ms) AS latency_p99_ms,
  max(s.answered_ms) AS latency_max_ms
FROM parts AS p
LEFT JOIN attempts AS s
  ON s.event_date = p.sent_on AND s.cluster = p.cluster AND s.broker_name = p.broker_name
  AND s.ended_at_ms >= p.from_ms AND s.ended_at_ms < p.until_ms
LEFT JOIN latest ON latest.cluster = p.cluster
GROUP BY p.event_date, p.cluster, p.broker_name, p.start_at, p.end_at, p.phase, p.from_ms, p.until_ms
