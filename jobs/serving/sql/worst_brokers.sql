-- Which broker was isolated most, in producer-minutes?
-- One row is one broker on one day with sends or isolation.
-- Ask it: SELECT * FROM worst_brokers WHERE last_night ORDER BY place
--
-- event_date: UTC day
-- cluster: RocketMQ cluster
-- last_night: the day is the cluster's last published one
-- place: 1 = isolated most on this day; equal times share a place
-- broker_name: broker
-- isolated_producer_minutes: minutes of isolation, summed over producers whose switch is on
-- isolations: isolations of the day, those that stood at 00:00 included
-- isolating_producers: producers that isolated it
-- events: events in which it was in trouble, without those of severity INFO
-- sends: attempts that ended on this day
-- failures: of those, attempts that ended in an exception
WITH latest AS (
  SELECT cluster, max(event_date) AS event_date
  FROM run_log
  WHERE flow = 'FAULT_LATENCY' AND status = 'SUCCEEDED'
  GROUP BY cluster
),
brokers AS (
  SELECT
    event_date,
    cluster,
    broker_name,
    sum(isolated_ms) AS isolated_ms,
    CAST(sum(sends) AS BIGINT) AS sends,
    CAST(sum(failures) AS BIGINT) AS failures
  FROM broker_windows
  GROUP BY event_date, cluster, broker_name
),
isolations AS (
  SELECT
    event_date,
    cluster,
    broker_name,
    count(*) AS isolations,
    count(DISTINCT (client_id, producer_group)) AS isolating_producers
  FROM isolation_intervals
  WHERE enforced AND end_ms > start_ms
  GROUP BY event_date, cluster, broker_name
),
broker_events AS (
  SELECT w.event_date, w.cluster, w.broker_name, count(*) AS events
  FROM brokers AS w
  JOIN events AS e
    ON e.event_date = w.event_date AND e.cluster = w.cluster AND coalesce(array_position(e.brokers, w.broker_name), 0) > 0
  WHERE e.severity <> 'INFO'
  GROUP BY w.event_date, w.cluster, w.broker_name
)
SELECT
  b.event_date,
  b.cluster,
  coalesce(b.event_date = latest.event_date, false) AS last_night,
  rank() OVER (PARTITION BY b.event_date, b.cluster ORDER BY b.isolated_ms DESC) AS place,
  b.broker_name,
  b.isolated_ms / 6e4 AS isolated_producer_minutes,
  coalesce(i.isolations, 0) AS isolations,
  coalesce(i.isolating_producers, 0) AS isolating_producers,
  coalesce(n.events, 0) AS events,
  b.sends,
  b.failures
FROM brokers AS b
LEFT JOIN isolations AS i
  ON i.event_date = b.event_date AND i.cluster = b.cluster AND i.broker_name = b.broker_name
LEFT JOIN broker_events AS n
  ON n.event_date = b.event_date AND n.cluster = b.cluster AND n.broker_name = b.broker_name
LEFT JOIN latest ON latest.cluster = b.cluster
