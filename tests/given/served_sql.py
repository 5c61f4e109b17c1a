"""What the SQL server is asked in tests: what it answers, and what it refuses."""

from __future__ import annotations

from jobs.serving.views import VIEWS

QUESTIONS = [
    *(f"SELECT count(*) FROM {view}" for view in VIEWS),
    "SELECT extract(HOUR FROM started_at), date_trunc('DAY', started_at), count(*) FROM sends GROUP BY ALL",
    "SELECT event_date + INTERVAL '1' DAY, started_at - INTERVAL '1' MONTH, event_date - DATE '2026-01-01' FROM sends",
    "SELECT timestampdiff(HOUR, started_at, now()), datediff(DAY, started_at, now()), current_date FROM sends",
    (
        "SELECT rank() OVER w, lag(latency_ms) OVER w, first_value(topic) IGNORE NULLS OVER w FROM sends"
        " WINDOW w AS (PARTITION BY topic ORDER BY started_at)"
    ),
    "SELECT sum(1) OVER (ORDER BY started_at RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW) FROM sends",
    (
        "SELECT percentile(latency_ms, 0.5), approx_percentile(latency_ms, array(0.5, 0.9)), count(DISTINCT topic),"
        " percentile_disc(0.5) WITHIN GROUP (ORDER BY latency_ms), count(*) FILTER (WHERE latency_ms > 1) FROM sends"
    ),
    "SELECT get_json_object('{\"a\": 1}', '$.a'), from_json('{\"a\": 1}', 'a INT').a, to_json(named_struct('a', 1))",
    "SELECT transform(array(1, 2), x -> x + 1)[0], map('a', 1)['a'], aggregate(array(1), 0, (a, x) -> a + x)",
    (
        "SELECT CASE WHEN NOT 3 BETWEEN 4 AND 5 THEN 1 END, 'ab' LIKE ALL ('a%', '%b'), 'a' RLIKE 'a', 1 <=> NULL,"
        " 1 IN (1, 2), 'a' || 'b', 5 DIV 2, -1, 'a' COLLATE UTF8_LCASE = 'A'"
    ),
    "SELECT try_divide(1, 0), try_cast('a' AS INT), try_to_timestamp('x'), '1'::INT, 1.5BD / 3, nullif(1, 2)",
    "SELECT topic, grouping(topic), grouping_id(), count(*) FROM sends GROUP BY GROUPING SETS ((topic), ())",
    "SELECT * FROM (SELECT topic, client_id, latency_ms FROM sends) PIVOT (sum(latency_ms) FOR client_id IN ('p1'))",
    "SELECT * FROM VALUES (1, 2, 3) AS t(a, b, c) UNPIVOT (v FOR n IN (b, c))",
    "SELECT a, b, x FROM VALUES (1), (2) AS t(a), LATERAL (SELECT a + 1 AS b) LATERAL VIEW explode(array(3)) AS x",
    "SELECT (SELECT max(topic) FROM sends) FROM range(2) WHERE id IN (SELECT 1) AND EXISTS (SELECT 1 FROM sends)",
    "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT sum(n) FROM r",
    "FROM sends |> WHERE latency_ms >= 0 |> AGGREGATE count(*) GROUP BY topic",
    "SELECT window.start, count(*) FROM sends GROUP BY window(started_at, '1 hour')",
    "SELECT faultline.java_hash_code(topic), not_available_duration(latency_ms, 'P1') FROM sends",
    "SELECT * FROM sends VERSION AS OF 0 JOIN run_log USING (event_date) ORDER BY 1 LIMIT 1",
]

REFUSED = [
    "INSERT INTO run_log SELECT * FROM run_log",
    "DELETE FROM sends",
    "UPDATE sends SET topic = 'x'",
    "TRUNCATE TABLE sends",
    "DROP TABLE sends",
    "DROP DATABASE faultline CASCADE",
    "ALTER TABLE sends SET TBLPROPERTIES ('a' = 'b')",
    "CREATE TABLE t (x INT) USING parquet",
    "CREATE TABLE t USING text LOCATION '{secret}'",
    "CREATE TEMPORARY VIEW t USING text OPTIONS (path '{secret}')",
    "CREATE TEMPORARY VIEW t AS SELECT 1",
    "INSERT OVERWRITE LOCAL DIRECTORY '{lake}' USING text SELECT 'x'",
    "LOAD DATA LOCAL INPATH '{secret}' INTO TABLE sends",
    "SELECT * FROM text.`{secret}`",
    "SELECT * FROM delta.`{lake}/sends`",
    "SELECT (SELECT max(value) FROM text.`{secret}`)",
    "SELECT * FROM table_changes_by_path('{lake}/sends', 0)",
    "DESCRIBE HISTORY '{lake}/sends'",
    "VACUUM sends",
    "OPTIMIZE sends",
    "SELECT TRANSFORM (1) USING 'cat {secret}'",
    "SELECT count(*) FROM (SELECT TRANSFORM (1) USING 'cat {secret}')",
    "SELECT 1 WHERE 1 IN (SELECT TRANSFORM (1) USING 'cat {secret}')",
    "SELECT reflect('java.lang.System', 'getProperty', 'user.home')",
    "SELECT java_method('java.lang.System', 'exit', 1)",
    "SELECT try_reflect('java.lang.System', 'getProperty', 'user.home')",
    "SELECT from_xml('<a/>', 'x INT')",
    "SELECT system.builtin.from_xml('<a/>', 'x INT')",
    "SELECT IDENTIFIER('from_xml')('<a/>', 'x INT')",
    "SELECT schema_of_xml('<a/>', map('rowValidationXSDPath', '{secret}'))",
    "SELECT 1 WHERE EXISTS (SELECT xpath('<a/>', 'a'))",
    "SELECT transform(array('<a/>'), x -> xpath_string(x, 'a'))",
    "EXECUTE IMMEDIATE 'SELECT schema_of_xml(''<a/>'')'",
    "FROM sends |> SELECT from_avro(encode(client_id, 'UTF-8'), 'x', map('avroSchemaUrl', '{secret}'))",
    "SELECT from_protobuf(encode(client_id, 'UTF-8'), 'x', '{secret}') FROM sends",
    "SELECT input_file_name() FROM sends",
    "SELECT * FROM python_worker_logs()",
    "SELECT * FROM table_changes_by_path('/nowhere', 0)",
    "SET spark.sql.runSQLOnFiles = true",
    "RESET",
    "ADD JAR '{secret}'",
    "ADD FILE '{secret}'",
    "CREATE FUNCTION f AS 'java.lang.String'",
    "CREATE FUNCTION f() RETURNS INT RETURN 1",
    "CACHE TABLE sends",
    "EXECUTE IMMEDIATE 'DELETE FROM sends'",
    "BEGIN DELETE FROM sends; END",
    "WITH q AS (SELECT 1) INSERT INTO run_log SELECT * FROM run_log",
]
