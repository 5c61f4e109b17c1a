"""A day of an odd shape, for memory: many producers and topics, and a share of attempts that fail all day.

`python -m bench.shapes --help`. It writes send attempts alone, an hour at a time, so that it needs little memory
itself. Nobody avoids a broker in it: what is measured is how much the driver holds, not what the tables say.
"""

from __future__ import annotations

import argparse
import datetime as dt
from pathlib import Path

import duckdb

from bench.sends import CLUSTER, FIRST_DAY

_HOUR = """
COPY (
    SELECT format('10.{{}}.{{}}.{{}}@1', p // 40000, p // 200 % 200, p % 200 + 1) AS client_id,
           format('PG_{{:06d}}', p) AS producer_group, '5.3.3' AS client_version, 'JAVA' AS client_language,
           format('topic-{{:05d}}', hash(n, 't') % {topics}) AS topic, format('broker-{{:02d}}', b) AS broker_name,
           format('10.99.0.{{}}:10911', b + 1) AS broker_addr, (hash(n, 'q') % 8)::INTEGER AS queue_id,
           if(n % 3 = 0, 'ASYNC', 'SYNC') AS mode, n AS invoke_id, 1 AS attempt, at_ms AS started_at_ms,
           if(n % 3 = 0, at_ms + 1, NULL) AS submitted_at_ms, at_ms + took_ms AS ended_at_ms, took_ms AS latency_ms,
           if(fails, 'RemotingTimeoutException', 'SEND_OK') AS outcome, n AS seq, true AS fault_latency_enabled,
           false AS detector_enabled
    FROM (
        SELECT n, n % {producers} AS p, hash(n, 'b') % {brokers} AS b, hash(n, 'f') % 1000 < {failed} * 1000 AS fails,
               {start_ms} + (n - {first}) * 3590000 // {sends} AS at_ms,
               if(fails, 3000, 1 + hash(n, 'l') % 20) AS took_ms
        FROM range({first}, {first} + {sends}) AS numbers(n)
    )
    ORDER BY ended_at_ms
) TO '{file}' (FORMAT json, COMPRESSION gzip)
"""


def main() -> None:
    """Write the day requested on the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.shapes", description="Write a day of an odd shape.")
    parser.add_argument("folder", type=Path, help="to write 00.jsonl.gz … 23.jsonl.gz to")
    parser.add_argument("--sends", type=int, default=2_400_000, metavar="N", help="attempts; default %(default)s")
    parser.add_argument("--producers", type=int, default=200_000, metavar="N", help="default %(default)s")
    parser.add_argument("--topics", type=int, default=10_000, metavar="N", help="default %(default)s")
    parser.add_argument("--brokers", type=int, default=24, metavar="N", help="default %(default)s")
    parser.add_argument("--failed", type=float, default=0.1, metavar="SHARE", help="default %(default)s")
    asked = vars(parser.parse_args())
    folder, sends = asked.pop("folder"), asked.pop("sends") // 24
    folder.mkdir(parents=True)
    start_ms = (FIRST_DAY - dt.date(1970, 1, 1)).days * 86_400_000
    database = duckdb.connect()
    for hour in range(24):
        hours = {"file": folder / f"{hour:02}.jsonl.gz", "sends": sends, "first": hour * sends}
        database.execute(_HOUR.format(**asked, **hours, start_ms=start_ms + hour * 3_600_000))
    (folder / "_site.toml").write_text(f'cluster = "{CLUSTER}"\n', encoding="utf-8")


if __name__ == "__main__":
    main()
