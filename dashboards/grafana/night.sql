-- What the panels and choices of faultline-night.json ask, in DuckDB's SQL. Each statement is the panel that its first line
-- names, and what that says. Grafana fills in ${…}; the data source fills in $__timeFrom() and $__timeTo(), the time range
-- in UTC. What lasts is in the range if any of it is, and what is by day if any of the day is.
-- A list may be empty where IN () may not: a lake can lack the first flow, and then has no broker to choose.

-- cluster: which cluster
SELECT DISTINCT cluster FROM run_log ORDER BY 1

-- broker: which brokers
SELECT DISTINCT broker_name FROM broker_windows WHERE cluster = ${cluster:sqlstring} ORDER BY 1

-- group: which consumer groups
SELECT DISTINCT consumer_group FROM group_members WHERE cluster = ${cluster:sqlstring} ORDER BY 1

-- Events: Troubles of a broker, or of several at once, and what they cost callers.
SELECT bad_from_at, bad_until_at, array_to_string(brokers, ', ') AS brokers, kind, severity, failed_attempts,
  slow_attempts, lost_sends, saved_sends, hit_producers, avoiding_producers, avoided_after_ms
FROM events
WHERE cluster = ${cluster:sqlstring} AND list_has_any(brokers, [${broker:sqlstring}])
  AND bad_from_at <= $__timeTo() AND coalesce(bad_until_at, event_date + INTERVAL 1 DAY) > $__timeFrom()
ORDER BY bad_from_at

-- Failed attempts: By broker.
SELECT time_bucket(greatest(to_milliseconds(${__interval_ms:raw}), INTERVAL 1 MINUTE), window_start_at) AS time,
  broker_name, CAST(sum(failures) AS BIGINT) AS failures
FROM broker_windows
WHERE cluster = ${cluster:sqlstring} AND list_contains([${broker:sqlstring}], broker_name)
  AND window_start_at <= $__timeTo() AND window_start_at + INTERVAL 1 MINUTE > $__timeFrom()
GROUP BY 1, 2
ORDER BY 1, 2

-- P99 latency: By broker and minute, exact; of several minutes in one bar the highest.
SELECT time_bucket(greatest(to_milliseconds(${__interval_ms:raw}), INTERVAL 1 MINUTE), window_start_at) AS time,
  broker_name, max(latency_p99_ms) AS latency_p99_ms
FROM broker_windows
WHERE cluster = ${cluster:sqlstring} AND list_contains([${broker:sqlstring}], broker_name)
  AND window_start_at <= $__timeTo() AND window_start_at + INTERVAL 1 MINUTE > $__timeFrom()
GROUP BY 1, 2
ORDER BY 1, 2

-- Isolating producers: By broker and minute; of several minutes in one bar the highest. Unknown is left out.
SELECT time_bucket(greatest(to_milliseconds(${__interval_ms:raw}), INTERVAL 1 MINUTE), window_start_at) AS time,
  broker_name, max(isolating_producers) AS isolating_producers
FROM broker_windows
WHERE cluster = ${cluster:sqlstring} AND list_contains([${broker:sqlstring}], broker_name)
  AND window_start_at <= $__timeTo() AND window_start_at + INTERVAL 1 MINUTE > $__timeFrom()
  AND event_date IN (
    SELECT event_date FROM producer_days
    WHERE cluster = ${cluster:sqlstring} AND not_replayed IS NULL AND NOT switch_assumed
  )
GROUP BY 1, 2
ORDER BY 1, 2

-- Findings: About producers and brokers, most severe first; at most 1000.
SELECT severity, start_at, kind, sentence, cause, broker_name, producer_group, client_id, isolated_ms
FROM night_findings
WHERE cluster = ${cluster:sqlstring} AND (broker_name IS NULL OR list_contains([${broker:sqlstring}], broker_name))
  AND start_at <= $__timeTo() AND end_at > $__timeFrom()
ORDER BY severity_rank, start_at
LIMIT 1000

-- Brokers by isolation: In producer-minutes, by day, of producers that could be replayed; unknown if none could.
SELECT CAST(event_date AS VARCHAR) AS day, CASE WHEN is_known THEN place END AS place, broker_name,
  CASE WHEN is_known THEN isolated_producer_minutes END AS isolated_producer_minutes,
  CASE WHEN is_known THEN isolations END AS isolations,
  CASE WHEN is_known THEN isolating_producers END AS isolating_producers, events, sends, failures
FROM (
  SELECT *, event_date IN (
    SELECT event_date FROM producer_days
    WHERE cluster = ${cluster:sqlstring} AND not_replayed IS NULL AND NOT switch_assumed
  ) AS is_known
  FROM worst_brokers
  WHERE cluster = ${cluster:sqlstring} AND list_contains([${broker:sqlstring}], broker_name)
    AND event_date BETWEEN CAST($__timeFrom() AS DATE) AND CAST($__timeTo() AS DATE)
)
ORDER BY day DESC, place, failures DESC

-- Isolations: Who isolated a broker, when, why and for how long; the longest 1000.
SELECT start_at, end_at, isolated_ms, broker_name, client_id, producer_group, client_version, cause,
  opener_latency_ms, extensions, ended_by, end_uncertain_ms, evidence
FROM broker_isolations
WHERE cluster = ${cluster:sqlstring} AND list_contains([${broker:sqlstring}], broker_name)
  AND start_at <= $__timeTo() AND end_at > $__timeFrom()
ORDER BY isolated_ms DESC, start_at
LIMIT 1000

-- Producer groups: What the days cost their callers: sends that were lost, saved by a retry, or slow.
SELECT CAST(event_date AS VARCHAR) AS day, producer_group, lost, unsent, saved, slow
FROM send_costs
WHERE cluster = ${cluster:sqlstring} AND event_date BETWEEN CAST($__timeFrom() AS DATE) AND CAST($__timeTo() AS DATE)
ORDER BY day DESC, lost DESC, saved + slow DESC

-- Changes: What clients and queues did, and for how long queues had no owner, or several; at most 1000.
SELECT start_at, settled_at, consumer_group, kind, sentence, moved, unowned_queues, unowned_ms, doubly_owned_ms,
  misplaced_ms
FROM group_events
WHERE cluster = ${cluster:sqlstring} AND list_contains([${group:sqlstring}], consumer_group) AND start_at <= $__timeTo()
  AND (start_at >= $__timeFrom() OR coalesce(
    settled_at, CASE WHEN unowned_queues IS NOT NULL THEN event_date + INTERVAL 1 DAY END) > $__timeFrom())
ORDER BY start_at
LIMIT 1000

-- Groups that rebalance: How often, and what it moved, by day.
SELECT CAST(event_date AS VARCHAR) AS day, consumer_group, rebalances, topics, member_changes, queue_changes,
  queues_moved, fewest_moves, flapping_findings
FROM flapping_groups
WHERE cluster = ${cluster:sqlstring} AND list_contains([${group:sqlstring}], consumer_group)
  AND event_date BETWEEN CAST($__timeFrom() AS DATE) AND CAST($__timeTo() AS DATE)
ORDER BY day DESC, queues_moved DESC

-- Owners: At the end of the data, whatever the time range; choose a group. At most 1000.
SELECT consumer_group, topic, broker_name, queue_id, source, client_id, since_at
FROM queue_owners
WHERE cluster = ${cluster:sqlstring} AND list_contains([${group:sqlstring}], consumer_group) AND is_current
ORDER BY consumer_group, topic, broker_name, queue_id, source
LIMIT 1000
