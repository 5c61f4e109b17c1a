"""`python -m bench.peers.duckdb_night SENDS OUT`: a day of sends as gz JSON lines → Parquet, by DuckDB.

`sends`, `isolation_intervals` and `broker_windows` of a day like those of bench/sends.py: all sends SYNC, no restart,
nothing carried over midnight, every producer's switch on.
"""

from __future__ import annotations

import sys
from pathlib import Path

import duckdb

FIELDS = {
    "client_id": "VARCHAR", "producer_group": "VARCHAR", "process_id": "VARCHAR", "cluster": "VARCHAR",
    "topic": "VARCHAR", "broker_name": "VARCHAR", "broker_addr": "VARCHAR", "queue_id": "INTEGER",
    "client_version": "VARCHAR", "client_language": "VARCHAR", "mode": "VARCHAR", "invoke_id": "BIGINT",
    "attempt": "INTEGER", "started_at_ms": "BIGINT", "ended_at_ms": "BIGINT", "latency_ms": "BIGINT",
    "submitted_at_ms": "BIGINT", "result_broker_name": "VARCHAR", "outcome": "VARCHAR", "cause": "VARCHAR",
    "response_code": "INTEGER", "error": "VARCHAR", "msg_id": "VARCHAR", "thread": "VARCHAR",
    "queue_chosen_by": "VARCHAR", "seq": "BIGINT", "fault_latency_enabled": "BOOLEAN",
    "detector_enabled": "BOOLEAN", "order_key": "VARCHAR",
}  # fmt: skip

SENDS = """
SELECT * REPLACE (coalesce(cluster, 'main') AS cluster), make_timestamp(ended_at_ms * 1000)::DATE AS event_date
FROM read_json($files, format = 'newline_delimited', columns = $fields)
"""

# 5.3.3 keeps the latest end, and a failure counts as 10 s; up to 5.1.3 the last write wins, and it counts as 30 s.
ISOLATIONS = """
WITH writes AS (
    SELECT cluster, client_id, producer_group, broker_name, ended_at_ms AS at_ms, seq,
           client_version >= '5.1.4' AS latest_stays,
           if(outcome = 'SEND_OK', latency_ms, if(latest_stays, 10000, 30000)) AS counted_ms,
           CASE WHEN latest_stays THEN
                    CASE WHEN counted_ms >= 15000 THEN 30000 WHEN counted_ms >= 5000 THEN 10000
                         WHEN counted_ms >= 3000 THEN 6000 WHEN counted_ms >= 1800 THEN 5000
                         WHEN counted_ms >= 550 THEN 2000 ELSE 0 END
                ELSE
                    CASE WHEN counted_ms >= 15000 THEN 600000 WHEN counted_ms >= 3000 THEN 180000
                         WHEN counted_ms >= 2000 THEN 120000 WHEN counted_ms >= 1000 THEN 60000
                         WHEN counted_ms >= 550 THEN 30000 ELSE 0 END
           END AS isolated_ms
    FROM sends
),
states AS (
    SELECT *, lead(at_ms) OVER so_far AS next_at_ms,
           at_ms + isolated_ms AS written_until_ms,
           if(latest_stays, max(if(isolated_ms > 0, written_until_ms, 0)) OVER so_far, written_until_ms) AS until_ms
    FROM writes
    WINDOW so_far AS (
        PARTITION BY cluster, client_id, producer_group, broker_name ORDER BY at_ms, seq
        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    )
),
known AS (
    SELECT *, until_ms > at_ms AS is_isolated, coalesce(lag(until_ms) OVER in_order > at_ms, false) AS was_isolated
    FROM states
    WINDOW in_order AS (PARTITION BY cluster, client_id, producer_group, broker_name ORDER BY at_ms, seq)
),
numbered AS (
    SELECT *, sum((is_isolated AND NOT was_isolated)::INTEGER) OVER so_far AS isolation
    FROM known
    WINDOW so_far AS (
        PARTITION BY cluster, client_id, producer_group, broker_name ORDER BY at_ms, seq
        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    )
),
stretches AS (
    SELECT cluster, client_id, producer_group, broker_name, isolation, min(at_ms) AS start_ms,
           max(least(until_ms, coalesce(next_at_ms, until_ms))) AS end_ms,
           arg_max(until_ms, (at_ms, seq)) AS last_until_ms,
           (min(at_ms) // 86400000 + 1) * 86400000 AS midnight_ms
    FROM numbered WHERE is_isolated
    GROUP BY ALL
)
SELECT * EXCLUDE (isolation, last_until_ms, midnight_ms) REPLACE (least(end_ms, midnight_ms) AS end_ms),
       true AS enforced,
       CASE WHEN end_ms > midnight_ms THEN 'DAY_END' WHEN last_until_ms > end_ms THEN 'CLEARED' ELSE 'EXPIRED' END
           AS ended_by
FROM stretches
"""

WINDOWS = """
WITH attempts AS (
    SELECT cluster, broker_name, ended_at_ms // 60000 * 60000 AS window_start_ms, count(*) AS sends,
           count(*) FILTER (outcome <> 'SEND_OK') AS failures,
           quantile_disc(latency_ms, [0.5, 0.95, 0.99]) FILTER (outcome = 'SEND_OK') AS latencies_ms,
           max(latency_ms) FILTER (outcome = 'SEND_OK') AS latency_max_ms,
           count(DISTINCT (client_id, producer_group)) AS producers
    FROM sends GROUP BY ALL
),
minutes AS (
    SELECT *, unnest(range(start_ms // 60000 * 60000, end_ms, 60000)) AS window_start_ms FROM isolations
),
isolated AS (
    SELECT cluster, broker_name, window_start_ms,
           sum(least(end_ms, window_start_ms + 60000) - greatest(start_ms, window_start_ms))::BIGINT AS isolated_ms,
           count(DISTINCT (client_id, producer_group)) AS isolating_producers
    FROM minutes GROUP BY ALL
)
SELECT cluster, broker_name, window_start_ms, coalesce(sends, 0) AS sends, coalesce(failures, 0) AS failures,
       latencies_ms[1] AS latency_p50_ms, latencies_ms[2] AS latency_p95_ms, latencies_ms[3] AS latency_p99_ms,
       latency_max_ms, coalesce(producers, 0) AS producers, coalesce(isolating_producers, 0) AS isolating_producers,
       coalesce(isolated_ms, 0) AS isolated_ms
FROM attempts FULL JOIN isolated USING (cluster, broker_name, window_start_ms)
"""


def main(sends: Path, out: Path) -> None:
    """Read the folder of sends, write the three tables as Parquet."""
    out.mkdir(parents=True)
    database = duckdb.connect(config={"temp_directory": f"{out}/spilled"})
    database.execute(
        f"COPY ({SENDS}) TO '{out}/sends.parquet' (COMPRESSION zstd)",
        {"files": f"{sends}/**/*.jsonl.gz", "fields": FIELDS},
    )
    database.execute(f"CREATE VIEW sends AS FROM '{out}/sends.parquet'")
    database.execute(f"CREATE TABLE isolations AS {ISOLATIONS}")
    database.execute(f"COPY isolations TO '{out}/isolation_intervals.parquet' (COMPRESSION zstd)")
    database.execute(f"COPY ({WINDOWS}) TO '{out}/broker_windows.parquet' (COMPRESSION zstd)")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
