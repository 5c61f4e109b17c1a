-- What bench/sends.py makes days of send attempts from; it sets seed(), cluster(), days(), producers(), brokers(), incidents(),
-- lane_sends() and hot_sends(). Every chance rests on the seed and the row's own numbers, never on the order in which
-- rows are made. Times are milliseconds of the day.

CREATE MACRO chance(what, a, b) AS (hash(seed(), what, a, b) >> 11)::DOUBLE / 9007199254740992.0;
CREATE MACRO pick(what, a, b, choices) AS floor(chance(what, a, b) * choices)::INTEGER;

-- Slots end 20 s before midnight, so that every attempt ends within its day.
CREATE MACRO slots_ms() AS 86400000 - 20000;

CREATE TABLE producers AS
SELECT number::INTEGER AS producer,
       format('10.0.{}.{}@{}#{}', number // 200, number % 200 + 1, 1000 + pick('pid', number, 0, 60000),
              100000000000000 + pick('nanos', number, 0, 900000000) * 1000000::BIGINT) AS client_id,
       format('PG_{:03d}', number) AS producer_group,
       ['5.3.3', '4.7.1', '4.9.8', '5.1.3'][number % 4 + 1] AS client_version,
       number % 4 = 0 AS latest_stays
FROM range(producers()) AS numbers(number);

-- A lane is one stream of sends of one producer: slot k of a day begins at k × period_ms.
CREATE TABLE lanes AS
SELECT number::INTEGER AS lane, number::INTEGER AS producer, NULL::INTEGER AS broker, lane_sends() AS slots,
       slots_ms() / lane_sends() AS period_ms
FROM range(producers()) AS numbers(number)
UNION ALL
SELECT producers(), 0, 0, hot_sends(), slots_ms() / hot_sends()
WHERE hot_sends() > 0;

-- Incidents, which every producer meets: a broker that answers late, not at all, refuses or is too busy for a while.
-- Blips: one slow answer to one producer.
CREATE TABLE troubles AS
WITH incidents AS (
    SELECT day::INTEGER AS day, pick('incident broker', day, number, brokers()) AS broker,
           pick('incident start', day, number, slots_ms() - 400000) AS start_ms,
           30000 + pick('incident length', day, number, 270000) AS length_ms,
           ['SEND_OK', 'SEND_OK', 'RemotingTimeoutException', 'RemotingConnectException', 'MQBrokerException']
               [pick('incident kind', day, number, 5) + 1] AS outcome
    FROM range(days()) AS all_days(day), range(incidents()) AS numbers(number)
),
blips AS (
    SELECT day::INTEGER AS day, producer, pick('blip broker', day, producer * 100 + number, brokers()) AS broker,
           pick('blip start', day, producer * 100 + number, slots_ms() - 400000) AS start_ms, 1 AS length_ms,
           'SEND_OK' AS outcome
    FROM range(days()) AS all_days(day), producers, range(10) AS numbers(number)
)
SELECT *, row_number() OVER (ORDER BY day, producer, broker, start_ms, length_ms, outcome) AS trouble,
       -- how long a producer keeps away after a bad send: about what its ladder says
       3000 + CASE WHEN outcome = 'SEND_OK' THEN if(latest_stays, 5000, 120000)
                   ELSE if(latest_stays, 10000, 600000) END AS rest_ms
FROM (
    SELECT day, producer, broker, start_ms, length_ms, outcome FROM incidents, producers
    UNION ALL BY NAME
    SELECT day, producer, broker, start_ms, length_ms, outcome FROM blips
) JOIN producers USING (producer);

-- While the trouble lasts a producer tries again each time that its isolation is over: in the first slot after that.
CREATE TABLE probes AS
SELECT day, lane, slot, arg_min(broker, trouble) AS broker, arg_min(outcome, trouble) AS outcome
FROM (
    SELECT *, ceil(unnest(range(start_ms, start_ms + length_ms, rest_ms)) / period_ms)::BIGINT AS slot
    FROM troubles JOIN lanes USING (producer)
    WHERE lanes.broker IS NULL
)
WHERE slot < slots
GROUP BY day, lane, slot;

-- From when to when the producer keeps away.
CREATE TABLE avoided AS
SELECT day, producer, broker, start_ms, start_ms + length_ms AS trouble_end_ms, outcome,
       start_ms + ceil(length_ms / rest_ms) * rest_ms AS end_ms
FROM troubles;

-- First attempts that begin in one hour: where they went, and how that went.
CREATE MACRO first_attempts(of_day, hour) AS TABLE
WITH slots AS (
    SELECT lane, producer, broker AS only_broker, period_ms, of_day * slots + slot AS number, slot
    FROM (
        SELECT *, unnest(range((slots * hour // 24)::BIGINT, (slots * (hour + 1) // 24)::BIGINT)) AS slot FROM lanes
    )
),
sends AS (
    SELECT *, floor((slot + chance('start', lane, number)) * period_ms)::BIGINT AS begin_ms,
           coalesce(only_broker, pick('broker', lane, number, brokers())) AS picked,
           chance('fate', lane, number) AS fate
    FROM slots
),
probed AS (
    SELECT sends.*, probes.broker AS probed, probes.outcome AS probed_outcome
    FROM sends LEFT JOIN probes ON probes.day = of_day AND probes.lane = sends.lane AND probes.slot = sends.slot
),
met AS (
    SELECT probed.*, begin_ms < end_ms AS is_avoided, begin_ms < trouble_end_ms AS is_troubled, outcome
    FROM probed ASOF LEFT JOIN (FROM avoided WHERE day = of_day) AS avoided
      ON avoided.producer = probed.producer AND avoided.broker = probed.picked AND avoided.start_ms <= probed.begin_ms
),
went AS (
    SELECT *,
           probed IS NULL AND only_broker IS NULL AND coalesce(is_avoided, false) AND fate >= 0.02 AS goes_elsewhere
    FROM met
)
SELECT lane, producer, number, begin_ms, fate, only_broker IS NOT NULL AS is_hot,
       CASE WHEN probed IS NOT NULL THEN probed
            WHEN goes_elsewhere THEN (picked + 1 + pick('elsewhere', lane, number, brokers() - 1)) % brokers()
            ELSE picked END AS broker,
       -- a few are under way when the broker is given up: half of these still get a good answer
       CASE WHEN probed IS NOT NULL THEN probed_outcome
            WHEN goes_elsewhere OR NOT coalesce(is_troubled, false) THEN NULL
            WHEN only_broker IS NULL AND fate < 0.01 THEN NULL
            ELSE outcome END AS trouble
FROM went;

CREATE MACRO latency_ms(trouble, of_lane, of_number) AS
CASE trouble
    WHEN 'RemotingTimeoutException' THEN 3000 + pick('timeout', of_lane, of_number, 8)
    WHEN 'RemotingConnectException' THEN 1 + pick('refused', of_lane, of_number, 30)
    WHEN 'MQBrokerException' THEN 200 + pick('busy', of_lane, of_number, 60)
    WHEN 'SEND_OK' THEN 550 + pick('slow', of_lane, of_number, 3000)
    ELSE 1 + floor(-6 * ln(1 - chance('latency', of_lane, of_number)))::INTEGER
END;

-- So many attempts a lane of so many sends a day makes before the hour, or fewer.
CREATE MACRO at_most(of_day, hour, day_sends) AS 2 * (of_day * day_sends + day_sends * hour // 24);

-- Every attempt that begins in one hour: a send that fails within its time is tried again elsewhere.
CREATE MACRO attempts(of_day, hour) AS TABLE
WITH first_ones AS (
    SELECT *, 1 AS attempt, coalesce(trouble, 'SEND_OK') AS outcome, latency_ms(trouble, lane, number)::BIGINT AS took_ms
    FROM first_attempts(of_day, hour)
),
retries AS (
    SELECT * REPLACE (begin_ms + took_ms AS begin_ms, 2 AS attempt, 'SEND_OK' AS outcome,
                      (broker + 1 + pick('retry', lane, number, brokers() - 1)) % brokers() AS broker,
                      latency_ms(NULL, lane, -number)::BIGINT AS took_ms)
    FROM first_ones WHERE outcome IN ('RemotingConnectException', 'MQBrokerException')
),
numbered AS (
    -- seq counts up in the order in which a producer's attempts end, hour by hour
    SELECT *, day_start_ms(of_day) + begin_ms + took_ms AS ended_at_ms,
           4000000000 + at_most(of_day, hour, lane_sends()) + if(producer = 0, at_most(of_day, hour, hot_sends()), 0)
               + row_number() OVER (PARTITION BY producer ORDER BY ended_at_ms, is_hot, number, attempt) AS seq
    FROM (FROM first_ones UNION ALL BY NAME FROM retries)
)
SELECT client_id, producer_group, client_version, 'JAVA' AS client_language,
       format('topic-{:02d}', producer % 10 * 4 + number % 4) AS topic,
       format('broker-{:02d}', broker) AS broker_name, format('10.1.0.{}:10911', broker + 1) AS broker_addr,
       pick('queue', lane, number, 8) AS queue_id, 'SYNC' AS mode, 2 * number + if(is_hot, 1, 0) AS invoke_id, attempt,
       day_start_ms(of_day) + begin_ms AS started_at_ms, NULL::BIGINT AS submitted_at_ms,
       ended_at_ms, took_ms AS latency_ms, outcome, NULL::VARCHAR AS cause,
       if(outcome = 'MQBrokerException', 2, NULL) AS response_code,
       CASE outcome
           WHEN 'SEND_OK' THEN NULL
           WHEN 'RemotingTimeoutException' THEN format('wait response on the channel <{}> timeout, 3000(ms)', broker_addr)
           WHEN 'RemotingConnectException' THEN format('connect to {} failed', broker_addr)
           ELSE format('CODE: 2  DESC: [TIMEOUT_CLEAN_QUEUE]broker busy, start flow control for a while BROKER: {}', broker_addr)
       END AS error,
       if(outcome = 'SEND_OK', format('0A00{:04X}{:08X}18B4AAC2{:016X}', producer, 2 * producer + 7, seq), NULL) AS msg_id,
       if(outcome = 'SEND_OK', broker_name, NULL) AS result_broker_name,
       seq, format('send-{}', number % 4) AS thread, true AS fault_latency_enabled,
       if(client_version = '4.7.1', NULL, false) AS detector_enabled
FROM numbered JOIN producers USING (producer);

-- The same attempts with the columns that the table `sends` has besides, but for those that say a time once more.
CREATE MACRO table_rows(of_day, hour) AS TABLE
SELECT *, make_date((day_start_ms(of_day) // 86400000)::INTEGER) AS event_date, cluster() AS cluster,
       (hash(client_id, seq) >> 1)::BIGINT AS row_hash
FROM attempts(of_day, hour);
