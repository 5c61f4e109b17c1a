"""What a log can have wrong with it: every line is published, quarantined with its reason, or counted away."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from jobs.errors import InputMissingError, InputUnreadableError, TooManyBadLinesError
from jobs.settings.model import Settings
from jobs.sources.csv_lines import CSV_DAMAGE
from jobs.sources.fit_to_publish import check_fit_to_publish
from jobs.sources.matched_lines import MISMATCH
from jobs.sources.staged import Counts
from jobs.sources.staged_sends import StagedSends
from jobs.tables.day import DAY_MS
from jobs.tables.quarantine import SEND_REASONS
from tests.given.send_logs import DATE, DAY, GOOD, MODES, NOON_MS, OUTCOMES, bad_lines, fates, line, stage, write

LONG_MAX, LONG_MIN = 2**63 - 1, -(2**63)
GOOD_TEXT = json.dumps(GOOD).encode()


def _without(*names: str) -> bytes:
    return json.dumps({name: value for name, value in GOOD.items() if name not in names}).encode()


def _nested(depth: int) -> dict[str, object]:
    value: dict[str, object] = {}
    for _ in range(depth):
        value = {"a": value}
    return value


DEEP = _nested(900)  # Python's own JSON goes no deeper


def _padded_to(size: int) -> bytes:
    return line(error="x" * (size - len(line(error=""))))


# Each line with its first reason and detail; the published ones differ in `seq`, so that none is a duplicate.
BAD_LINES: list[tuple[bytes, str, str | None]] = [
    (b'{"client_id":"10.0.1.1@1","latency_ms":1', "not_json", None),
    (GOOD_TEXT[:40] + GOOD_TEXT, "not_json", None),  # half a line, then the next without a break
    (line(seq=501) + line(seq=502), "not_json", None),  # two objects: the second must not be lost
    (line(seq=503) + b"," + line(seq=504), "not_json", None),
    (line(seq=505) + b"],[" + line(seq=506), "not_json", None),
    (line(seq=507) + b"]rest", "not_json", None),
    (line(seq=508, own={"a": 1}) + b"],[" + line(seq=509), "not_json", None),
    (GOOD_TEXT + b"\x00\x00\x00", "not_json", None),  # a tail that a crash left behind
    (b"2026-11-21 12:00:00 INFO sent", "not_json", None),
    (GOOD_TEXT.replace(b"orders", b"or\tders"), "not_json", None),
    (GOOD_TEXT.replace(b'"latency_ms": 10', b'"latency_ms": NaN'), "not_json", None),
    (GOOD_TEXT.replace(b'"', b"'"), "not_json", None),
    (line(seq=510)[:-1] + b", 'own': 1}", "not_json", None),
    (line(seq=511)[:-1] + b", \"own\": {'a': 1}}", "not_json", None),
    (line(seq=512)[:-1] + b', "own": NaN}', "not_json", None),
    (line(seq=513)[:-1] + b', "own": [-INF, {}]}', "not_json", None),
    (line(seq=514)[:-1] + b", own: 1}", "not_json", None),
    (line(seq=515)[:-1] + b', "own": 007}', "not_json", None),
    (line(seq=516)[:-1] + b', "own": 1,}', "not_json", None),
    (line(seq=517)[:-1] + b" /* own */}", "not_json", None),
    (b"[1] [2]", "not_json", None),
    (b"NaN", "not_json", None),
    (b'{"a":' * 110_000 + b"1" + b"}" * 110_000, "not_json", None),  # too deep
    (b'{"a":' * 3_000 + b"1" + b"}" * 3_000, "client_id_missing", None),
    (b'["a", "b"]', "not_an_object", None),
    (b"[" + GOOD_TEXT + b"]", "not_an_object", None),
    (b"7", "not_an_object", None),
    (b"null", "not_an_object", None),
    (b'"text"', "not_an_object", None),
    (line(latency_ms="7"), "wrong_type", "latency_ms=7"),
    (line(latency_ms=1.5), "wrong_type", "latency_ms=1.5"),
    (line(latency_ms=2**63), "wrong_type", "latency_ms=9223372036854775808"),
    (line(queue_id=2**31), "wrong_type", "queue_id=2147483648"),
    (line(fault_latency_enabled="on"), "wrong_type", "fault_latency_enabled=on"),
    (line(detector_enabled=2), "wrong_type", "detector_enabled=2"),
    (line(detector_enabled=[True]), "wrong_type", "detector_enabled=[true]"),
    (line(seq="a", attempt=[1]), "wrong_type", "attempt=[1], seq=a"),
    (line(latency_ms="7", own=DEEP), "wrong_type", "latency_ms=7"),
    (line(latency_ms="7")[:-1] + b', "own": 1, "own": 2}', "wrong_type", "latency_ms=7"),
    (line(latency_ms=int("9" * 2_000)), "wrong_type", f"latency_ms={'9' * 189}"),
    (GOOD_TEXT.replace(b"broker-a", b"broker-\xff"), "invalid_utf8", None),
    (b"\xff\xfe{\x00}\x00", "invalid_utf8", None),
    (b"{}", "client_id_missing", None),
    (_without("client_id"), "client_id_missing", None),
    (line(client_id=None), "client_id_missing", None),
    (line(client_id=" "), "client_id_missing", None),
    (GOOD_TEXT.replace(b"client_id", b"Client_ID"), "client_id_missing", None),
    (_without("broker_name", "broker_addr"), "broker_missing", None),
    (line(broker_name="", broker_addr=None), "broker_missing", None),
    (line(broker_name=None), "broker_unresolved", "broker_addr=10.0.0.1:10911"),
    (line(broker_name=""), "broker_unresolved", "broker_addr=10.0.0.1:10911"),
    (line(latency_ms=None), "latency_missing", None),
    (line(outcome=None), "outcome_missing", None),
    (line(outcome=""), "outcome_missing", None),
    (line(ended_at_ms=None), "ended_at_missing", None),
    # The sum has no long.
    (line(ended_at_ms=None, started_at_ms=LONG_MAX), "ended_at_missing", "started_at_ms=9223372036854775807"),
    (
        line(ended_at_ms=1_795_262_400),
        "time_out_of_range",
        'ended_at_ms=1795262400 looks like seconds; map it with unit = "s"',
    ),
    (line(ended_at_ms=0), "time_out_of_range", "ended_at_ms=0"),
    (line(ended_at_ms=LONG_MAX), "time_out_of_range", "ended_at_ms=9223372036854775807"),
    (line(ended_at_ms=LONG_MIN), "time_out_of_range", "ended_at_ms=-9223372036854775808"),
    (line(started_at_ms=LONG_MIN), "time_out_of_range", "started_at_ms=-9223372036854775808"),
    (line(submitted_at_ms=LONG_MAX), "time_out_of_range", "submitted_at_ms=9223372036854775807"),
    (line(latency_ms=-1), "latency_out_of_range", "latency_ms=-1"),
    (line(latency_ms=86_400_001), "latency_out_of_range", "latency_ms=86400001"),
    (line(latency_ms=LONG_MAX), "latency_out_of_range", "latency_ms=9223372036854775807"),
    (
        line(started_at_ms=NOON_MS - 10, submitted_at_ms=NOON_MS + 3 * DAY_MS),
        "times_contradict",
        f"started_at_ms={NOON_MS - 10}, submitted_at_ms={3 * DAY_MS + NOON_MS}, ended_at_ms={NOON_MS}, latency_ms=10",
    ),
    (
        line(submitted_at_ms=NOON_MS - 1_000_011),
        "times_contradict",
        f"submitted_at_ms={NOON_MS - 1_000_011}, ended_at_ms={NOON_MS}, latency_ms=10",
    ),
    (
        line(submitted_at_ms=NOON_MS + 1_000_001),
        "times_contradict",
        f"submitted_at_ms={NOON_MS + 1_000_001}, ended_at_ms={NOON_MS}, latency_ms=10",
    ),
    (
        line(started_at_ms=NOON_MS - 1_000_011),
        "times_contradict",
        f"started_at_ms={NOON_MS - 1_000_011}, ended_at_ms={NOON_MS}, latency_ms=10",
    ),
    (
        line(started_at_ms=NOON_MS + 999_991),
        "times_contradict",
        f"started_at_ms={NOON_MS + 999_991}, ended_at_ms={NOON_MS}, latency_ms=10",
    ),
    (line(outcome="OK"), "outcome_unknown", f"outcome=OK{OUTCOMES}"),
    (line(outcome="send_ok"), "outcome_unknown", f"outcome=send_ok{OUTCOMES}"),
    (line(mode="sync"), "mode_unknown", f"mode=sync{MODES}"),
    (line(queue_chosen_by="ME"), "queue_chosen_by_unknown", "queue_chosen_by=ME (allowed: CLIENT, CALLER)"),
    (line(one_line_per="try"), "one_line_per_unknown", "one_line_per=try (allowed: TRY, CALL)"),
    (line(client_version="latest"), "client_version_unknown", "client_version=latest"),
    (line(client_id="10.0.1.1\u0000@1"), "control_character", "client_id=10.0.1.1\ufffd@1"),
    (line(topic="orders\r\nforged"), "control_character", "topic=orders\ufffd\ufffdforged"),
    (line(broker_name="\u001b[31mbroker-a"), "control_character", "broker_name=\ufffd[31mbroker-a"),
    (line(outcome="RemotingTimeoutException\n"), "control_character", "outcome=RemotingTimeoutException\ufffd"),
    # JSON need not escape it.
    (line(topic="orders\x7f").replace(b"\\u007f", b"\x7f"), "control_character", "topic=orders\ufffd"),
    (_padded_to(1_048_577), "line_too_long", "1048577 bytes"),
    (_padded_to(10_000_000), "line_too_long", "10000000 bytes"),
]

GOOD_LINES = [
    line(seq=1, latency_ms=0),
    b"\xef\xbb\xbf" + line(seq=2),  # a byte order mark, as after joining files
    line(seq=3) + b"\r",
    b"  " + line(seq=4) + b" \t",
    line(seq=30, client_version=""),  # an empty text says nothing
    line(seq=5, error="a } in { a text }{ and a\nline break"),
    line(seq=6, unheard_of={"deep": [1, 2]}),
    line(seq=7, outcome="SomethingNewException", cause=None),
    line(seq=8, latency_ms=86_400_000),
    line(seq=9, ended_at_ms=None, started_at_ms=NOON_MS),
    line(seq=10, client_version=None, mode=None, producer_group=None),
    line(seq=11, broker_addr=None),
    line(seq=12, topic="Bestellungen-ü-集群-😀"),
    b'{"latency_ms":1,' + line(seq=13)[1:],  # a key twice: the last one counts, as in most parsers
    b"\t" + line(seq=14),
    line(seq=15, own=DEEP),
    line(seq=16, own=[[[]]])[:-1] + b', "deep": ' + b"[" * 1_000 + b"]" * 1_000 + b"}",
    line(seq=17)[:-1] + b', "own": {"digits": ' + b"9" * 10_000 + b"}}",
    line(seq=18)[:-1] + b', "own": 0.' + b"9" * 10_000 + b"}",
    line(seq=19)[:-1] + b', "own": ' + b"9" * 900_000 + b"}",
    line(seq=20, own="x" * 900_000),
    line(seq=21, own={"text": "it's \\ a 'quote'"}),
    # A clock that was set by less than 1,000 s within the attempt, or a process that stood.
    line(seq=22, started_at_ms=NOON_MS - 1_000_010),
    line(seq=23, started_at_ms=NOON_MS + 999_990, submitted_at_ms=NOON_MS),
    line(seq=24, submitted_at_ms=NOON_MS + 1_000_000),
    line(seq=25, submitted_at_ms=NOON_MS - 1_000_010),
    line(seq=26, started_at_ms=NOON_MS, submitted_at_ms=NOON_MS + 5_000, ended_at_ms=NOON_MS + 9_000, latency_ms=9_000),
    *(line(seq=seq, cluster=cluster) for seq, cluster in enumerate(("", " ", " main "), start=27)),  # all the same one
    _padded_to(1_048_576),  # exactly as long as a line may be
]


@pytest.fixture(scope="module")
def spoilt(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, StagedSends]:
    folder = write(
        tmp_path_factory.mktemp("spoilt") / "logs",
        {
            "bad.jsonl": b"\n".join(each for each, _, _ in BAD_LINES),
            "good.jsonl": b"\n\n".join(GOOD_LINES) + b"\n \n\t\r\n",
        },
    )
    return folder, stage(spark, folder)


@pytest.mark.fault(7, 8, 9, 10, 12, 13, 17)
def test_every_bad_line_has_its_reason_and_its_number(spoilt: tuple[Path, StagedSends]) -> None:
    folder, staged = spoilt
    expected = {
        ("bad.jsonl", number): (reason, detail) for number, (_, reason, detail) in enumerate(BAD_LINES, start=1)
    }
    assert bad_lines(staged, folder) == expected


@pytest.mark.fault(9, 10, 17)
def test_every_good_line_is_published(spoilt: tuple[Path, StagedSends]) -> None:
    _, staged = spoilt
    assert fates(staged) == {"PUBLISHED": len(GOOD_LINES), "QUARANTINED": len(BAD_LINES)}
    sends = {row["seq"]: row for row in staged.sends(DAY).collect()}
    assert sorted(sends, key=str) == sorted([*range(1, 31), None], key=str)
    assert sends[9]["ended_at_ms"] == NOON_MS + 10  # start and latency
    assert (sends[10]["mode"], sends[10]["producer_group"], sends[10]["client_version"]) == ("SYNC", "", None)
    assert sends[12]["topic"] == "Bestellungen-ü-集群-😀"
    assert sends[13]["latency_ms"] == 10
    assert sends[5]["error"] == "a } in { a text }{ and a\nline break"


def test_every_reason_is_met() -> None:
    assert {reason for _, reason, _ in BAD_LINES} == set(SEND_REASONS) - {*CSV_DAMAGE, MISMATCH}


@pytest.mark.fault(7, 10, 20)
def test_the_raw_line_is_kept_bounded_and_printable(spoilt: tuple[Path, StagedSends]) -> None:
    folder, staged = spoilt
    rows = staged.quarantine(DAY, "run-1").collect()
    raw = {row["line"]: row["raw"] for row in rows}
    assert raw[1] == '{"client_id":"10.0.1.1@1","latency_ms":1'
    assert len(raw[len(BAD_LINES)]) == 1_000
    assert [number for number, text in raw.items() if any(ord(char) < 32 and char not in "\t\n" for char in text)] == []
    assert {(row["source"], row["cluster"], row["event_date"], row["run_id"]) for row in rows} == {
        ("sends", "main", DATE, "run-1")
    }
    assert {row["file"] for row in rows} == {f"{folder}/bad.jsonl"}


@pytest.mark.fault(15)
def test_duplicates_are_exact(spark: SparkSession, tmp_path: Path) -> None:
    again = line(seq=1)
    folder = write(
        tmp_path / "logs",
        {
            "a.jsonl": b"\n".join([again, line(seq=2), again, line(seq=1, thread="t")]),
            "b.jsonl.gz": gzip.compress(
                b"\n".join(
                    [
                        json.dumps(dict(reversed(list({**GOOD, "seq": 1}.items())))).encode(),  # other order of keys
                        line(seq=1, unheard_of=1),  # no typed field differs
                        line(seq=1, msg_id=""),  # empty is not null
                        line(seq=1, cluster="main"),  # nor is what is said the same as what is assumed
                        line(seq=1, latency_ms=11),
                        line(seq=1, thread=None, cause=""),
                    ]
                )
            ),
            "c/d/e.jsonl": again,
        },
    )
    staged = stage(spark, folder)
    assert fates(staged) == {"PUBLISHED": 7, "DUPLICATE": 4}
    assert staged.counts(DAY) == Counts(11, 7, 0, 4, 0, 0)


@pytest.mark.fault(14, 22)
def test_lines_of_other_days_are_counted_and_left_alone(spark: SparkSession, tmp_path: Path) -> None:
    midnight = DAY.start_ms
    lines = [
        line(seq=1, ended_at_ms=midnight - 1),
        line(seq=2, ended_at_ms=midnight),
        line(seq=3, ended_at_ms=DAY.end_ms - 1),
        line(seq=4, ended_at_ms=DAY.end_ms),
        line(seq=4, ended_at_ms=DAY.end_ms),
        line(seq=5, ended_at_ms=DAY.end_ms, latency_ms=-1),  # bad, but of a day that was not asked for
        line(seq=6, latency_ms=-1),
        b"no JSON, of no day",
    ]
    staged = stage(spark, write(tmp_path / "logs", {"a.jsonl": b"\n".join(lines)}))
    assert staged.counts(DAY) == Counts(8, 2, 2, 0, 4, 0)
    assert {str(day): count for day, count in staged.other_days.items()} == {"2026-11-20": 1, "2026-11-22": 3}


@pytest.mark.parametrize(("fraction", "passes"), [(0.0, False), (0.19, False), (0.2, True), (1.0, True)])
def test_more_bad_lines_than_allowed_stop_the_run(
    two_of_ten: tuple[Path, StagedSends],
    fraction: float,
    passes: bool,  # noqa: FBT001
    tmp_path: Path,
) -> None:
    _, staged = two_of_ten
    settings = Settings(max_bad_fraction=fraction, lake=str(tmp_path))
    if passes:
        check_fit_to_publish(staged, [DAY], settings, needed=["sends"], allow_empty=False)
        return
    with pytest.raises(TooManyBadLinesError) as caught:
        check_fit_to_publish(staged, [DAY], settings, needed=["sends"], allow_empty=False)
    assert caught.value.exit_code == 4
    assert str(caught.value).startswith(
        f"2 of 10 lines are bad (latency_missing 1, not_json 1), more than max_bad_fraction {fraction};"
        " nothing of this flow was published; correct the log or raise --set max_bad_fraction="
    )


def test_too_many_bad_lines_are_named_with_what_may_stand_there(spark: SparkSession, tmp_path: Path) -> None:
    both = line(seq=2, outcome="OK", mode="sync")
    bad = [line(seq=1, outcome="OK"), both, line(seq=3, mode="sync"), line(seq="x"), b"{"]
    staged = stage(spark, write(tmp_path / "logs", {"a.jsonl": b"\n".join([line(), *bad])}))
    lake = tmp_path / "lake"
    lake.mkdir()
    (lake / "_rejected.jsonl").write_text("of an earlier run")
    with pytest.raises(TooManyBadLinesError) as caught:
        check_fit_to_publish(staged, [DAY], Settings(lake=str(lake)), needed=["sends"], allow_empty=False)
    assert str(caught.value).endswith(f"max_bad_fraction=…; bad lines are in {lake}/_rejected.jsonl")
    rejected = [json.loads(each) for each in (lake / "_rejected.jsonl").read_text().splitlines()]
    assert [(each["line"], each["reason"], each["detail"]) for each in rejected] == [
        (2, "outcome_unknown", f"outcome=OK{OUTCOMES}"),
        (3, "outcome_unknown", f"outcome=OK{OUTCOMES}; mode=sync{MODES}"),
        (4, "mode_unknown", f"mode=sync{MODES}"),
        (5, "wrong_type", "seq=x"),
        (6, "not_json", None),
    ]
    assert rejected[-1] == {
        "source": "sends",
        "file": f"{tmp_path}/logs/a.jsonl",
        "line": 6,
        "reason": "not_json",
        "reasons": ["not_json"],
        "detail": None,
        "raw": "{",
    }
    assert rejected[1]["reasons"] == ["outcome_unknown", "mode_unknown"]
    (lake / "_rejected.jsonl").unlink()
    (lake / "_rejected.jsonl").mkdir()  # what cannot be written hides nothing
    with pytest.raises(TooManyBadLinesError, match=r"max_bad_fraction=…$"):
        check_fit_to_publish(staged, [DAY], Settings(lake=str(lake)), needed=["sends"], allow_empty=False)
    assert str(caught.value).startswith(
        "5 of 6 lines are bad (mode_unknown 2: mode=sync is not one of SYNC, ASYNC, ONEWAY,"
        " outcome_unknown 2: outcome=OK is not an outcome (nearest: SEND_OK), not_json 1,"
        " wrong_type 1: seq=x is not a whole number; a line counts under each of its reasons),"
        " more than max_bad_fraction"
    )


@pytest.fixture(scope="module")
def two_of_ten(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, StagedSends]:
    lines = [*(line(seq=seq) for seq in range(8)), b"{", line(latency_ms=None)]
    folder = write(tmp_path_factory.mktemp("ten") / "logs", {"a.jsonl": b"\n".join(lines)})
    return folder, stage(spark, folder)


@pytest.mark.fault(4)
@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        (
            {"a.jsonl": b"", "b.jsonl.gz": b"", "c.jsonl.gz": gzip.compress(b""), "d.jsonl": b"\n\r\n \n"},
            (
                "no good line of 2026-11-21 in 0 lines of sends; they hold no line of another day;"
                " give another --date, or --allow-empty"
            ),
        ),
        (
            {"a.jsonl": line(ended_at_ms=DAY.end_ms) + b"\n" + line(ended_at_ms=DAY.start_ms - 1)},
            (
                "no good line of 2026-11-21 in 2 lines of sends; they hold 2026-11-20 (1 lines), 2026-11-22 (1 lines);"
                " give another --date, or --allow-empty"
            ),
        ),
    ],
    ids=["nothing in the files", "other days only"],
)
def test_a_day_without_a_line_is_not_an_empty_day(
    spark: SparkSession, tmp_path: Path, files: dict[str, bytes], sentence: str
) -> None:
    staged = stage(spark, write(tmp_path / "logs", files))
    with pytest.raises(InputMissingError) as caught:
        check_fit_to_publish(staged, [DAY], Settings(), needed=["sends"], allow_empty=False)
    assert (caught.value.exit_code, str(caught.value)) == (3, sentence)
    check_fit_to_publish(staged, [DAY], Settings(), needed=["sends"], allow_empty=True)


ZIPPED = gzip.compress(b"\n".join(line(seq=seq) for seq in range(5_000)), mtime=0)


@pytest.mark.fault(1, 2, 3)
@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("half.jsonl.gz", ZIPPED[: len(ZIPPED) // 2], "cannot be read to its end"),
        ("head.jsonl.gz", ZIPPED[:12], "cannot be read to its end"),
        ("a b+ü%=[1].jsonl.gz", ZIPPED[:-4], "cannot be read to its end"),
        ("sum.jsonl.gz", ZIPPED[:-8] + b"\0" * 8, "cannot be read to its end"),  # wrong checksum
        ("rot.jsonl.gz", ZIPPED[:5_000] + b"\xff" * 50 + ZIPPED[5_050:], "cannot be read to its end"),
        ("tail.jsonl.gz", ZIPPED + b"no gzip", "cannot be read to its end"),
        ("zipped.jsonl", ZIPPED, "is gzip but its name does not end in .gz; rename it"),
        ("text.jsonl.gz", GOOD_TEXT, "is named .gz but is not gzip; rename or replace it"),
    ],
)
def test_a_file_that_cannot_be_read_whole_is_named(
    spark: SparkSession, tmp_path: Path, name: str, content: bytes, sentence: str
) -> None:
    folder = write(tmp_path / "logs", {"fine.jsonl": GOOD_TEXT, name: content})
    with pytest.raises(InputUnreadableError) as caught:
        stage(spark, folder)
    assert caught.value.exit_code == 3
    assert str(caught.value).startswith(f"{folder}/{name} {sentence}")


@pytest.mark.fault(2)
def test_gzip_members_are_read_one_after_the_other(spark: SparkSession, tmp_path: Path) -> None:
    parts = gzip.compress(line(seq=1) + b"\n") + gzip.compress(line(seq=2) + b"\n") + gzip.compress(b"")
    assert fates(stage(spark, write(tmp_path / "logs", {"a.gz": parts}))) == {"PUBLISHED": 2}
