-- Who isolated broker X last night, when, why and for how long?
-- One row is one isolation by a producer whose switch is on, cut at UTC midnight (whole_isolations has it whole).
-- Ask it: SELECT * FROM broker_isolations WHERE last_night AND broker_name = 'X' ORDER BY isolated_ms DESC
--
-- event_date: UTC day of the row
-- cluster: RocketMQ cluster
-- last_night: the day is the cluster's last published one
-- broker_name: broker that was isolated
-- client_id: client id of the producer
-- producer_group: producer group; empty when not logged
-- client_version: version of the client
-- start_at: when it began, or 00:00; UTC
-- end_at: when it ended, exclusive, or 24:00; UTC
-- isolated_ms: how long on this day, ms
-- end_uncertain_ms: from the earliest to the latest end that events of unknown order allow, ms; 0 = certain
-- cause: what opened it: LATENCY, or the outcome of the opener
-- opener_latency_ms: latency that the opening update carried, ms
-- extensions: later updates that set a new end during the isolation
-- ended_by: what ended it
-- evidence: how the opener is known: LOGGED, RECORDED by the client, or inferred
WITH latest AS (
  SELECT cluster, max(event_date) AS event_date
  FROM run_log
  WHERE flow = 'FAULT_LATENCY' AND status = 'SUCCEEDED'
  GROUP BY cluster
)
SELECT
  i.event_date,
  i.cluster,
  coalesce(i.event_date = latest.event_date, false) AS last_night,
  i.broker_name,
  i.client_id,
  i.producer_group,
  i.client_version,
  i.start_at,
  i.end_at,
  i.end_ms - i.start_ms AS isolated_ms,
  i.end_latest_ms - i.end_earliest_ms AS end_uncertain_ms,
  i.cause,
  i.opener_latency_ms,
  i.extensions,
  i.ended_by,
  i.evidence
FROM isolation_intervals AS i
LEFT JOIN latest ON latest.cluster = i.cluster
WHERE i.enforced AND i.end_ms > i.start_ms
