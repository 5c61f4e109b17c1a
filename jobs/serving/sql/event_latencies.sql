-- How fast was the broker before, during and after each event?
-- One row is one phase of one event at one of its brokers: the ten minutes BEFORE, DURING it, the ten minutes AFTER.
-- DURING ends as an attempt is answered; if none is, after the last bad one. Percentiles are exact, over the answered sync and
-- async attempts at the broker, as in broker_windows. A day without its sends (retention) has none.
-- Ask it: SELECT * FROM event_latencies WHERE last_night ORDER BY bad_from_at, event_id, broker_name, from_ms
--
-- event_date: UTC day of the event
-- cluster: RocketMQ cluster
-- last_night: the day is the cluster's last published one
-- event_id: the event, in events
-- broker_name: broker
-- kind: what happened: REFUSED, TIMED_OUT, BUSY, SLOW, or MIXED
-- severity: CRITICAL, WARNING or INFO
-- bad_from_at: start of the first failed or slow attempt, UTC
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
brokers AS (
  SELECT DISTINCT event_date, cluster, broker_name FROM broker_windows
),
troubles AS (
  SELECT e.event_date, e.cluster, e.event_id, b.broker_name, e.kind, e.severity, e.bad_from_at, e.bad_from_ms,
    coalesce(e.bad_until_ms, e.last_bad_ms + 1) AS end_ms
  FROM events AS e
  JOIN brokers AS b
    ON b.event_date = e.event_date AND b.cluster = e.cluster AND coalesce(array_position(e.brokers, b.broker_name), 0) > 0
),
phases AS (
  SELECT *, 'BEFORE' AS phase, bad_from_ms - 600000 AS from_ms, bad_from_ms AS until_ms FROM troubles
  UNION ALL
  SELECT *, 'DURING', bad_from_ms, end_ms FROM troubles
  UNION ALL
  SELECT *, 'AFTER', end_ms, end_ms + 600000 FROM troubles
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
),
-- cume_dist and min: the percentile_disc of catalogs that have none
ranked AS (
  SELECT
    p.*,
    s.ended_at_ms,
    s.returned,
    s.answered_ms,
    cume_dist() OVER (
      PARTITION BY p.event_date, p.cluster, p.event_id, p.broker_name, p.phase, s.answered_ms IS NULL ORDER BY s.answered_ms
    ) AS at_most
  FROM parts AS p
  LEFT JOIN attempts AS s
    ON s.event_date = p.sent_on AND s.cluster = p.cluster AND s.broker_name = p.broker_name
    AND s.ended_at_ms >= p.from_ms AND s.ended_at_ms < p.until_ms
)
SELECT
  r.event_date,
  r.cluster,
  coalesce(r.event_date = max(latest.event_date), false) AS last_night,
  r.event_id,
  r.broker_name,
  r.kind,
  r.severity,
  r.bad_from_at,
  r.phase,
  r.from_ms,
  r.until_ms,
  count(r.ended_at_ms) AS sends,
  CAST(count_if(coalesce(NOT r.returned, false)) AS BIGINT) AS failures, -- of no row DuckDB counts null
  min(CASE WHEN r.at_most >= 0.50 THEN r.answered_ms END) AS latency_p50_ms,
  min(CASE WHEN r.at_most >= 0.95 THEN r.answered_ms END) AS latency_p95_ms,
  min(CASE WHEN r.at_most >= 0.99 THEN r.answered_ms END) AS latency_p99_ms,
  max(r.answered_ms) AS latency_max_ms
FROM ranked AS r
LEFT JOIN latest ON latest.cluster = r.cluster
GROUP BY r.event_date, r.cluster, r.event_id, r.broker_name, r.kind, r.severity, r.bad_from_at, r.phase, r.from_ms, r.until_ms
