-- What changed since yesterday?
-- One row is one broker, or one producer group, on a published day or the day before: its figures beside those of the day
-- before. Producers are compared by group, as a client id is new with each restart. Switched-on producers only.
-- Ask it: SELECT * FROM day_changes WHERE last_night AND change <> 'SAME' ORDER BY abs(isolated_ms - isolated_ms_before) DESC
--
-- event_date: UTC day
-- cluster: RocketMQ cluster
-- last_night: the day is the cluster's last published one
-- subject: BROKER or PRODUCER_GROUP
-- name: broker name, or producer group; empty when not logged
-- change: NEW, GONE, WORSE (isolated for longer, or as long with more failures), BETTER, SAME; UNKNOWN = the day before is not published
-- isolated_ms: producer-milliseconds of isolation; null = not there on this day
-- isolated_ms_before: the same, the day before; null = not there
-- isolations: isolations, those that stood at 00:00 included; null = not there on this day
-- isolations_before: the same, the day before; null = not there
-- events: of a broker: events in which it was in trouble, without those of severity INFO; null = not there, or a group
-- events_before: the same, the day before; null = not there, or a group
-- sends: attempts; null = not there on this day
-- sends_before: the same, the day before; null = not there
-- failures: of those, attempts that ended in an exception; null = not there on this day
-- failures_before: the same, the day before; null = not there
WITH days AS (
  SELECT DISTINCT event_date, cluster FROM run_log WHERE flow = 'FAULT_LATENCY' AND status = 'SUCCEEDED'
),
latest AS (
  SELECT cluster, max(event_date) AS event_date FROM days GROUP BY cluster
),
windows AS (
  SELECT event_date, cluster, broker_name, CAST(sum(isolated_ms) AS BIGINT) AS isolated_ms,
    CAST(sum(sends) AS BIGINT) AS sends, CAST(sum(failures) AS BIGINT) AS failures
  FROM broker_windows
  GROUP BY event_date, cluster, broker_name
),
isolations AS (
  SELECT event_date, cluster, broker_name, count(*) AS isolations
  FROM isolation_intervals
  WHERE enforced AND end_ms > start_ms
  GROUP BY event_date, cluster, broker_name
),
broker_events AS (
  SELECT w.event_date, w.cluster, w.broker_name, count(*) AS events
  FROM windows AS w
  JOIN events AS e
    ON e.event_date = w.event_date AND e.cluster = w.cluster AND coalesce(array_position(e.brokers, w.broker_name), 0) > 0
  WHERE e.severity <> 'INFO'
  GROUP BY w.event_date, w.cluster, w.broker_name
),
figures AS (
  SELECT w.event_date, w.cluster, 'BROKER' AS subject, w.broker_name AS name, w.isolated_ms,
    coalesce(i.isolations, 0) AS isolations, coalesce(n.events, 0) AS events, w.sends, w.failures
  FROM windows AS w
  LEFT JOIN isolations AS i
    ON i.event_date = w.event_date AND i.cluster = w.cluster AND i.broker_name = w.broker_name
  LEFT JOIN broker_events AS n
    ON n.event_date = w.event_date AND n.cluster = w.cluster AND n.broker_name = w.broker_name
  UNION ALL
  SELECT event_date, cluster, 'PRODUCER_GROUP', producer_group, CAST(sum(isolated_ms) AS BIGINT),
    CAST(sum(isolations) AS BIGINT), NULL, CAST(sum(sends) AS BIGINT), CAST(sum(failures) AS BIGINT)
  FROM producer_days
  WHERE enforced
  GROUP BY event_date, cluster, producer_group
),
day_before AS (
  SELECT CAST(event_date + INTERVAL '1' DAY AS DATE) AS event_date, cluster, subject, name, isolated_ms, isolations,
    events, sends, failures
  FROM figures
),
subjects AS (
  SELECT event_date, cluster, subject, name FROM figures
  UNION
  SELECT event_date, cluster, subject, name FROM day_before
),
compared AS (
  SELECT
    k.event_date,
    k.cluster,
    k.subject,
    k.name,
    d.event_date IS NOT NULL AS day_before_published,
    t.isolated_ms,
    b.isolated_ms AS isolated_ms_before,
    t.isolations,
    b.isolations AS isolations_before,
    t.events,
    b.events AS events_before,
    t.sends,
    b.sends AS sends_before,
    t.failures,
    b.failures AS failures_before
  FROM subjects AS k
  JOIN days AS this_day ON this_day.event_date = k.event_date AND this_day.cluster = k.cluster
  LEFT JOIN days AS d ON d.event_date = CAST(k.event_date - INTERVAL '1' DAY AS DATE) AND d.cluster = k.cluster
  LEFT JOIN figures AS t
    ON t.event_date = k.event_date AND t.cluster = k.cluster AND t.subject = k.subject AND t.name = k.name
  LEFT JOIN day_before AS b
    ON b.event_date = k.event_date AND b.cluster = k.cluster AND b.subject = k.subject AND b.name = k.name
)
SELECT
  c.event_date,
  c.cluster,
  c.event_date = latest.event_date AS last_night,
  c.subject,
  c.name,
  CASE
    WHEN NOT c.day_before_published THEN 'UNKNOWN'
    WHEN c.sends_before IS NULL THEN 'NEW'
    WHEN c.sends IS NULL THEN 'GONE'
    WHEN c.isolated_ms > c.isolated_ms_before THEN 'WORSE'
    WHEN c.isolated_ms < c.isolated_ms_before THEN 'BETTER'
    WHEN c.failures > c.failures_before THEN 'WORSE'
    WHEN c.failures < c.failures_before THEN 'BETTER'
    ELSE 'SAME'
  END AS change,
  c.isolated_ms,
  c.isolated_ms_before,
  c.isolations,
  c.isolations_before,
  c.events,
  c.events_before,
  c.sends,
  c.sends_before,
  c.failures,
  c.failures_before
FROM compared AS c
JOIN latest ON latest.cluster = c.cluster
