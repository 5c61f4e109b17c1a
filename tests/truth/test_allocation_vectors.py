"""Every recorded result of the real strategy classes, 4.7.1 to 5.5.0: 100 %."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from allocation_vectors import VECTORS, agreement, number, vectors
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from jobs.serving.functions import duckdb_functions
from udfs.hash_ring import ring_hash
from udfs.queue_by_hash import index_by_hash
from udfs.queue_by_hash import string_hash as string_hash_of
from udfs.shares import shares
from udfs.strategy import Strategy
from udfs.version import version_number

RESULTS = {
    "vectors_4.7.1_shared": 154_727,
    "vectors_4.9.8_shared": 155_527,
    "vectors_5.1.4_shared": 155_789,
    "vectors_5.3.3_shared": 158_181,
    "vectors_5.5.0_shared": 156_668,
    "vectors_common_5.3.3": 102_274,
    "vectors_hashcollision_5.3.3_shared": 1_540,
    "vectors_pop_5.3.3_shared": 59_620,
}
"""The recorded results of each file."""
FILES = [VECTORS / f"{name}.jsonl.gz" for name in RESULTS]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name.removesuffix(".jsonl.gz"))
def test_every_result_is_the_java_classes_own(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    matched, total, differences = agreement(file)
    with capsys.disabled():
        print(f"\n{file.name}: {sum(matched.values())} / {sum(total.values())}")
        for strategy, count in sorted(total.items()):
            print(f"  {strategy:<36}{matched[strategy]} / {count}")
    assert not differences
    assert matched == total
    assert sum(total.values()) == RESULTS[file.name.removesuffix(".jsonl.gz")]


def test_the_page_states_how_many_results_there_are() -> None:
    assert sorted(FILES) == sorted(VECTORS.glob("vectors_*.jsonl.gz"))
    page = (Path(__file__).parents[2] / "docs/exactness.md").read_text(encoding="utf-8")
    assert f"Every one of {sum(RESULTS.values()):,} recorded results of the real strategy classes" in page


def test_the_hash_of_the_ring(capsys: pytest.CaptureFixture[str]) -> None:
    matched = [
        ring_hash(vector["string"], vector["file_encoding"] if number(vector["version"]) < 50_000 else "UTF-8")
        == vector["md5_ring_hash"]
        for vector in vectors(VECTORS / "hash_vectors_shared.jsonl.gz")
        if "string" in vector
    ]
    with capsys.disabled():
        print(f"\n  {'ring hash':<20}{sum(matched)} / {len(matched)}")
    assert all(matched)
    assert len(matched) > 1_000


def test_hash_codes_in_duckdb() -> None:
    """But for halves of a pair of units, which no text of DuckDB has."""
    codes = {
        vector["string"]: vector["java_string_hash"]
        for vector in vectors(VECTORS / "hash_vectors_shared.jsonl.gz")
        if "string" in vector and not re.search("[\ud800-\udfff]", vector["string"])
    }
    with duckdb.connect() as connection:
        connection.execute(f"CREATE MACRO java_hash_code(s) AS {duckdb_functions()['java_hash_code(s)'][1]}")
        texts = pa.table({"s": list(codes)})
        found = connection.from_arrow(texts).project("s, java_hash_code(s)").fetchall()
    assert dict(found) == codes
    assert len(codes) > 1_000
    assert any(char > "\uffff" for text in codes for char in text)


def test_the_selector_by_hash(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        (key, code, int(queues), number(vector["version"]), vector["version"], expected)
        for vector in vectors(VECTORS / "hash_vectors_shared.jsonl.gz")
        for key, code in [(vector.get("string"), vector.get("java_string_hash", vector.get("java_hash")))]
        for queues, told in vector["select_by_hash"].items()
        for expected in [told if isinstance(told, int) else None]  # an exception: the client sends nothing
    ]
    schema = "order_key string, code bigint, queues int, number int, version string, expected int"
    compared = (
        spark.createDataFrame(rows, schema)
        .withColumn("hash", F.coalesce(string_hash_of(F.col("order_key")), "code"))
        .withColumn("found", index_by_hash(F.col("hash"), F.col("queues"), version_number(F.col("version"))))
    )
    total, wrong = compared.count(), compared.where("hash <> code OR NOT (found <=> expected)").count()
    with capsys.disabled():
        print(f"\n  {'select by hash':<20}{total - wrong} / {total}")
    assert wrong == 0
    assert compared.where("expected IS NULL").select("number").distinct().collect() == [(40701,)]
    assert total > 10_000


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name.removesuffix(".jsonl.gz"))
def test_a_whole_group_is_shared_out_as_its_clients_are_one_by_one(file: Path) -> None:
    compared = 0
    for vector in vectors(file):
        if vector["mq_all"] is None or vector["cid_all"] is None:  # no group sees that
            continue
        strategy = strategy_of(vector)
        queues = [(broker_name, queue_id) for broker_name, queue_id in vector["mq_all"]]
        found = {share.client_id: share for share in shares(strategy, vector["topic"], queues, vector["cid_all"])}
        for result in vector["results"]:
            share = found.get(result["cid"])
            if share is None:  # a stranger to the group
                continue
            compared += 1
            told, thrown = result["queues"], result["exception"]
            assert share.outcome == ("UNCHANGED" if thrown else "EMPTY" if told is None else "RESULT"), (vector, share)
            assert [list(queue) for queue in share.queues] == (told or []), (vector, share)
    assert compared > 1_000


def strategy_of(vector: dict[str, Any]) -> Strategy:
    """The strategy as a site's settings would carry it."""
    given = vector["params"]
    rooms, queues = given.get("consumeridcs"), given.get("messageQueueList")
    return Strategy(
        vector["strategy"],
        machine_rooms=None if rooms is None else tuple(rooms),
        queues=None if queues is None else tuple((broker_name, queue_id) for broker_name, queue_id in queues),
        virtual_nodes=given.get("virtualNodeCnt", 10),
        version=number(vector["version"]),
        charset=given.get("charset", "UTF-8"),
        pop_share_queue_num=given.get("popShareQueueNum", -1),
    )
