-- Who owns queue N now, since when, and who owned it before?
-- One row is one interval in which a queue was held by one client, or should have been by the group's strategy, however
-- many midnights lay between. Sources are independent: compare what consumers held with what the strategy says.
-- Ask it: SELECT * FROM queue_owners WHERE is_current AND consumer_group = 'G' AND topic = 'T' AND queue_id = 3
--
-- cluster: RocketMQ cluster
-- consumer_group: consumer group
-- topic: topic; retry topics too
-- broker_name: broker name
-- queue_id: queue id; -1 = any queue of the broker (POP)
-- source: RUNNING_INFO, CLIENT_LOG: who really held it; STRATEGY: who should
-- client_id: the owner; null = the strategy assigns it to nobody
-- since_at: when the interval began, UTC; an interval that began before the lake has the lake's first moment
-- until_at: end as far as known, exclusive, UTC
-- since_ms: since_at, epoch ms
-- until_ms: until_at, epoch ms
-- is_current: no later owner is known, and it lasts to the end of the source's data on the group (to a minute)
-- strategy: of STRATEGY: the group's strategy at the end of the interval; else null
-- view_broker_name: of STRATEGY: broker whose member list this is based on; null = all agree
WITH owned AS (
  SELECT cluster, consumer_group, topic, broker_name, queue_id, source, client_id, popped, process,
    NULL AS view_broker_name, NULL AS strategy, start_ms, start_at, end_ms, end_at
  FROM queue_ownership
  UNION ALL
  SELECT cluster, consumer_group, topic, broker_name, queue_id, 'STRATEGY', client_id, false, NULL,
    view_broker_name, strategy, start_ms, start_at, end_ms, end_at
  FROM queue_allocation
),
marked AS (
  SELECT
    *,
    NOT coalesce(lag(end_ms) OVER item >= start_ms, false) AS begins
  FROM owned
  WINDOW item AS (
    PARTITION BY cluster, consumer_group, topic, broker_name, queue_id, source, client_id, popped, process,
      view_broker_name
    ORDER BY start_ms
  )
),
numbered AS (
  SELECT
    *,
    count_if(begins) OVER (
      PARTITION BY cluster, consumer_group, topic, broker_name, queue_id, source, client_id, popped, process,
        view_broker_name
      ORDER BY start_ms
      ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS run
  FROM marked
),
intervals AS (
  SELECT
    cluster,
    consumer_group,
    topic,
    broker_name,
    queue_id,
    source,
    client_id,
    min(start_at) AS since_at,
    max(end_at) AS until_at,
    min(start_ms) AS since_ms,
    max(end_ms) AS until_ms,
    max_by(strategy, start_ms) AS strategy,
    view_broker_name
  FROM numbered
  GROUP BY cluster, consumer_group, topic, broker_name, queue_id, source, client_id, popped, process,
    view_broker_name, run
)
SELECT
  cluster,
  consumer_group,
  topic,
  broker_name,
  queue_id,
  source,
  client_id,
  since_at,
  until_at,
  since_ms,
  until_ms,
  -- consumers answer a round of questions, and write their logs, not in the same millisecond
  until_ms > max(since_ms) OVER (PARTITION BY cluster, consumer_group, topic, broker_name, queue_id, source)
    AND until_ms >= max(until_ms) OVER (PARTITION BY cluster, consumer_group, source) - 60000 AS is_current,
  strategy,
  view_broker_name
FROM intervals
