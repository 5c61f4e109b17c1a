"""`faultline check`: what the first lines of the input show, and what ends a run before Spark starts."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from jobs.check.before import check_before
from jobs.check.heads import MOST_LINES, some_of
from jobs.cli import main as cli
from jobs.errors import FaultlineError, InputMissingError, InputUnreadableError, SettingValueError
from jobs.settings.load import load_settings
from jobs.sources.local_files import InputFile
from tests.given.foreign_logs import SHAPES, sample_attempts
from tests.given.send_logs import GOOD, NOON_MS, line, write, write_parquet
from udfs.plain_outcome import ANSWERS

pytestmark = pytest.mark.usefixtures("own_folder")

EXAMPLES = Path(__file__).parents[2] / "conf" / "examples"
DAY_MS = 86_400_000


def _check(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, list[str]]:
    code = cli.main(["check", *map(str, words)])
    said = capsys.readouterr()
    return code, [*said.out.splitlines(), *said.err.splitlines()]


def _row(said: list[str], field: str) -> str:
    """The field's line, its columns apart by one blank."""
    (found,) = [" ".join(each.split()) for each in said if each.split()[:1] == [field]]
    return found


def test_each_field_says_where_it_comes_from(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    lines = [
        line(seq=1, own={"a": 1, "b": None}),
        line(seq=2, mode=None, outcome="OK"),
        line(seq="3", ended_at_ms=NOON_MS + DAY_MS, producer_group="PH", client_version="latest"),
        line(seq=4, latency_ms=-1, ended_at_ms=NOON_MS // 1000),
        b"no JSON",
        b"",
        b"[1]",
    ]
    logs = write(tmp_path / "logs", {"a.log": b"\n".join(lines)})
    code, said = _check(
        capsys, "--sends", logs, "--set", "inputs.sends.fields.client_language.value=JAVA", *REPLAYED[2:]
    )
    assert code == 0
    assert said[0] == "sends: 1 file, the first lines of 1 of them: 6 lines"
    assert _row(said, "client_id") == "client_id client_id 0% 0% 10.0.1.1@1"
    assert _row(said, "client_language") == "client_language = JAVA 0% 0% JAVA"
    assert _row(said, "mode") == "mode mode 25.0% 0% SYNC"
    assert _row(said, "outcome") == "outcome outcome 0% 25.0% SEND_OK"
    assert _row(said, "seq") == "seq seq 0% 25.0% 1, 2, 4"
    assert _row(said, "client_version") == "client_version client_version 0% 25.0% 5.1.4"
    assert [each.strip() for each in said if "WARNING" in each] == [
        "WARNING: client_version 'latest' is not a version such as 5.1.4 (1 of 4 lines)",
        f"WARNING: ended_at_ms '{NOON_MS // 1000}' is not a time between 2015 and 2100; check its unit (1 of 4 lines)",
        "WARNING: latency_ms '-1' is not a latency between 0 and a day; check its unit (1 of 4 lines)",
        "WARNING: outcome 'OK' is not an outcome; nearest: SEND_OK (1 of 4 lines)",
        "WARNING: seq '3' is a quoted text; write the number, or translate it with a table of values (1 of 4 lines)",
        f"WARNING: {logs}/a.log line 5 is not JSON",
        f"WARNING: {logs}/a.log line 7 is not a JSON object",
    ]
    assert said[-5:] == [
        "  no field comes from own.a, own.b",
        "  days: 2026-11-21 (2), 2026-11-22 (1)",
        "  versions: 5.1.4 (3), none (1)",
        "  producers: PG 10.0.1.1@1 (3), PH 10.0.1.1@1 (1)",
        "  a run would publish: attempts (1), calls without an attempt (0)",
    ]


@pytest.mark.parametrize("shape", SHAPES)
def test_an_example_and_its_log_leave_nothing_to_say(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, shape: str
) -> None:
    logs = SHAPES[shape][1](tmp_path / "logs", sample_attempts(100))
    code, said = _check(capsys, "--settings", EXAMPLES / f"{shape}.toml", "--sends", logs)
    assert code == 0
    assert not [each for each in said if "WARNING" in each or "WRONG" in each]
    for field in ("client_id", "broker_name", "ended_at_ms", "latency_ms", "outcome", "mode", "seq"):
        assert " 0% 0% " in _row(said, field)
    assert "  days: 2026-11-21 (100)" in said
    assert "  versions: 5.3.3 (100)" in said


EMPTY = 'what an empty value means: [inputs.sends.values.{}] "" = …'


@pytest.mark.parametrize(
    ("outcomes", "said"),
    [
        (["SEND_OK", "SEND_OK"], []),
        (
            ["", "SEND_OK"],
            [f"WARNING: no outcome in 1 of 2 lines, which a run quarantines; map another column, or define {EMPTY}"],
        ),
        (
            ["", ""],
            [f"WRONG: no outcome in 2 of 2 lines, which a run quarantines; map another column, or define {EMPTY}"],
        ),
    ],
    ids=["all", "some", "none"],
)
def test_lines_without_what_each_needs_are_counted(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, outcomes: list[str], said: list[str]
) -> None:
    """Of two fields of which a line needs one, either is enough: name or address, start or end."""
    head = "client_id,broker_name,broker_addr,started_at_ms,ended_at_ms,latency_ms,outcome"
    rows = [f"c,b,,{NOON_MS},,1,{outcomes[0]}", f"c,,10.0.0.1:1,,{NOON_MS},1,{outcomes[1]}"]
    logs = write(tmp_path / "logs", {"a.csv": "\n".join((head, *rows)).encode(), "routes.jsonl": b"{}"})
    code, found = _check(capsys, "--sends", logs / "a.csv", "--routes", logs / "routes.jsonl", *REPLAYED)
    assert code == (2 if "WRONG" in "".join(said) else 0)
    verdicts = [each.strip() for each in found if "WARNING" in each or "WRONG" in each]
    assert verdicts == [each.format("outcome") for each in said]
    translated = ("--set", 'inputs.sends.values.outcome={""="SEND_OK"}')
    assert _check(capsys, "--sends", logs, *REPLAYED, *translated)[0] == 0


REPLAYED = (
    *("--set", "inputs.sends.fields.client_version.value=5.3.3"),
    *("--set", "inputs.sends.fields.fault_latency_enabled.value=true"),
)


def test_a_field_that_no_line_has_right_is_wrong(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    logs = write(tmp_path / "logs", {"a.log": b"\n".join([line(outcome="OK")] * 2)})
    code, said = _check(capsys, "--sends", logs, *REPLAYED)
    assert code == 2
    assert "  WRONG: outcome 'OK' is not an outcome; nearest: SEND_OK (2 of 2 lines)" in said


@pytest.mark.parametrize("over", [0, 1])
def test_of_many_the_first_are_said(capsys: pytest.CaptureFixture[str], tmp_path: Path, over: int) -> None:
    """Five bad lines of a file, three unusable texts of a field, ten producers."""
    lines = [line(client_id=f"c{n}", seq=str(n) if n < 3 + over else n) for n in range(10 + over)]
    logs = write(tmp_path / "logs", {"a.log": b"\n".join([*lines, *[b"no JSON"] * (5 + over)])})
    _, said = _check(capsys, "--sends", logs, *REPLAYED)
    bad = [each.removeprefix(f"  WARNING: {logs}/a.log ") for each in said if "a.log" in each]
    assert bad == [
        *(f"line {len(lines) + n} is not JSON" for n in range(1, 6)),
        *["has 1 more of such lines at its start"] * over,
    ]
    assert f"  WARNING: seq '0', '1', '2'{', …' * over} is a quoted text" in "\n".join(said)
    assert said[-2] == f"  producers: {', '.join(f'PG c{n} (1)' for n in range(10))}{', … 1 more' * over}"


def test_a_share_is_none_or_all_only_where_it_is(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    rows = [f"c,b,{NOON_MS},1,SEND_OK,{'' if n else 't'},{'SYNC' if n else ''}" for n in range(3_000)]
    text = "\n".join(("client_id,broker_name,ended_at_ms,latency_ms,outcome,topic,mode", *rows))
    logs = write(tmp_path / "logs", {"a.csv": text.encode()})
    _, said = _check(capsys, "--sends", logs, "--lines", 5_000)
    assert _row(said, "topic") == "topic topic 99.9% 0% t"
    assert _row(said, "mode") == "mode mode 0.1% 0% SYNC"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((), ["client_version", "fault_latency_enabled"]),
        (REPLAYED, []),
        (REPLAYED[:2], ["fault_latency_enabled"]),
        (("--set", "producers.PG.client_version=5.3.3"), ["fault_latency_enabled"]),
        (("--set", "producers.PG.fault_latency_enabled=true"), ["client_version"]),
    ],
    ids=["nothing", "every line", "one of them", "version by group", "switch by group"],
)
def test_what_no_line_says_and_a_replay_needs_is_a_warning(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, given: tuple[str, ...], said: list[str]
) -> None:
    logs = write(tmp_path / "logs", {"a.log": line(client_version=None, fault_latency_enabled=None)})
    code, found = _check(capsys, "--sends", logs, *given)
    assert code == 0
    assert re.findall(r"WARNING: no line has (\w+), so ", "\n".join(found)) == said


FAILED_NOWHERE = {
    "broker_name": None,
    "broker_addr": None,
    "outcome": "RemotingTooMuchRequestException",
    "latency_ms": 3_001,
}


@pytest.mark.parametrize(
    ("odd", "failures", "looks_like_calls"),
    [
        ([FAILED_NOWHERE], "RemotingTooMuchRequestException without a broker (1)", True),
        ([{"latency_ms": 3_004}], "", True),
        ([{"latency_ms": 3_004, "mode": "ASYNC"}], "", False),  # its time-out may come seconds late
        ([{"latency_ms": 2_999}], "", False),
        ([FAILED_NOWHERE | {"latency_ms": 2}], "RemotingTooMuchRequestException without a broker (1)", False),
        (
            [FAILED_NOWHERE, {"outcome": "RemotingTimeoutException", "latency_ms": 3_001}],
            "RemotingTooMuchRequestException without a broker (1), RemotingTimeoutException with a broker (1)",
            False,
        ),
    ],
    ids=["no broker", "late", "late async", "in time", "no route", "an attempt failed"],
)
def test_lines_that_look_like_calls_are_said_to(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    odd: list[dict[str, object]],
    failures: str,
    *,
    looks_like_calls: bool,
) -> None:
    logs = write(tmp_path / "logs", {"a.log": b"\n".join(line(**each) for each in [{}, *odd])})
    _, said = _check(capsys, "--sends", logs, *REPLAYED)
    assert [each for each in said if "failures:" in each] == ([f"  failures: {failures}"] if failures else [])
    calls = failures.count("without a broker")
    assert said[-1] == f"  a run would publish: attempts ({1 + len(odd) - calls}), calls without an attempt ({calls})"
    hint = 'set one_line_per = "call" in [inputs.sends]'
    assert any(hint in each for each in said) == looks_like_calls
    for known in ("inputs.sends.one_line_per=call", "producers.PG.one_line_per=attempt"):
        assert hint not in "\n".join(_check(capsys, "--sends", logs, *REPLAYED, "--set", known)[1])
    _, proposed = _check(capsys, "--sends", logs, "--propose")
    assert ('one_line_per = "call"' in "\n".join(proposed)) == looks_like_calls


@pytest.mark.parametrize("shape", SHAPES)
def test_more_lines_are_looked_at_when_asked_for(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, shape: str
) -> None:
    attempts = sample_attempts(2_000)
    logs = SHAPES[shape][1](tmp_path / "logs", attempts)
    given = ("--settings", EXAMPLES / f"{shape}.toml", "--sends", logs)
    counted = {}
    for lines in (1, 1_000, 5_000):
        code, said = _check(capsys, *given, "--lines", lines)
        assert code == 0
        (days,) = [each for each in said if each.startswith("  days: ")]
        counted[lines] = days
    assert counted == {
        lines: f"  days: 2026-11-21 ({found})" for lines, found in ((1, 1), (1_000, 1_000), (5_000, 2_000))
    }
    code, said = _check(capsys, *given, "--lines", 0)
    assert (code, said[-1].startswith("faultline: --lines 0 is not in the range 1<=x<=1000000")) == (2, True)


def test_a_log_that_looks_like_csv_is_said_to(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    rows = [f"c,b,{NOON_MS},1,SEND_OK"] * 3
    files = {
        "csv.log": ["client,broker,end,cost,result", *rows],
        "words.log": ["a, b", "c, d"],
        "ragged.log": ["client,broker,end,cost,result", *rows, "c,b,1"],
        "once.log": rows[:1],
    }
    logs = write(tmp_path / "logs", {name: "\n".join(lines).encode() for name, lines in files.items()})
    hints = {
        name: "it looks like CSV: name it .csv" in "\n".join(_check(capsys, "--sends", logs / name)[1])
        for name in files
    }
    assert hints == {"csv.log": True, "words.log": False, "ragged.log": False, "once.log": False}
    _, said = _check(capsys, "--sends", logs / "csv.log", "--propose")
    assert 'set [inputs.sends] format = "csv", or name it .csv, and try again.' in said[2]
    assert "looks like CSV" not in "\n".join(_check(capsys, "--sends", logs / "words.log", "--propose")[1])


LONG = "x" * 140_000
"""Longer than Python's csv takes a field to be."""


def test_one_long_line_is_a_bad_line_and_not_the_end(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    files = {"a.log": f"{LONG},a,b,c".encode(), "header.csv": f"{LONG},b\n1,2\n".encode()}
    logs = write(tmp_path / "logs", files)
    code, said = _check(capsys, "--sends", logs)
    too_long = "field larger than field limit (131072)"
    assert code == 2
    assert [each.strip() for each in said if " line 1 " in each] == [
        f"WARNING: {logs}/a.log line 1 is not JSON",
        f"WARNING: {logs}/header.csv line 1 is not a header: {too_long}",
    ]
    assert "it looks like CSV" not in "\n".join(said)
    assert _before(logs, "inputs.sends.fields.mode=m") == []


def test_a_column_that_no_file_has_is_named_with_the_nearest(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    head = "client_id,broker_name,ended_at_ms,cost_us,result"
    logs = write(tmp_path / "logs", {"a.csv": f"{head}\nc,b,{NOON_MS},1000,late\nc,b,{NOON_MS},1000,ok".encode()})
    code, said = _check(
        capsys,
        *("--sends", logs, "--set", 'inputs.sends.fields.latency_ms={column="costUs", unit="us"}'),
        *("--set", "inputs.sends.fields.outcome=result", "--set", "inputs.sends.fields.cause=zzz"),
        *("--set", "inputs.sends.values.outcome.ok=SEND_OK"),
        *REPLAYED,
    )
    assert code == 2
    assert [each.strip() for each in said if "W" in each and ": " in each] == [
        "WRONG: no column costUs; the header has cost_us (inputs.sends.fields.latency_ms)",
        "WARNING: no column zzz (inputs.sends.fields.cause)",
        (
            f"WARNING: outcome 'late' is not an outcome; known: {', '.join(ANSWERS)}, SENT, exceptions by name"
            " (1 of 2 lines)"
        ),
    ]
    assert "  no field comes from cost_us" in said


@pytest.mark.parametrize(
    ("files", "words", "code", "sentence"),
    [
        ({}, ("--sends", "none"), 3, "sends: WRONG: input {}/none does not exist; give a file, a folder or a glob"),
        ({"a.log": b"x"}, ("--sends", "a.log", "--routes", "none"), 3, "routes: WRONG: input {}/none does not exist"),
        ({"in/.a": b""}, ("--sends", "in"), 3, "sends: WRONG: no file in {}/in (hidden ones are not read)"),
        ({"a.gz": b"no gzip"}, ("--sends", "a.gz"), 3, "sends: WRONG: {}/a.gz is named .gz but is not gzip"),
        ({"a.parquet": b"none"}, ("--sends", "a.parquet"), 3, "{}/a.parquet cannot be read as Parquet ("),
        ({"a.log": b"a,b\n1,2"}, ("--sends", "a.log"), 2, "none of its first lines can be parsed; name"),
        ({"a.csv": b"a,b\n1,2"}, ("--sends", "a.csv"), 2, "WRONG: no column for client_id, which each line needs; map"),
        ({"a.csv": b"a,b\n1,2"}, ("--sends", "a.csv", "--set", "inputs.sends.fields.x=a"), 2, "unknown setting"),
        ({"a.log": line()}, ("--sends", "a.log", "--consumers", "oss://b/c"), 0, "consumers: oss://b/c lies on"),
        ({"a.log": line(), "r/b": b"{}"}, ("--sends", "a.log", "--routes", "r"), 0, "routes: 1 file, 0.0 MB; not"),
        ({}, ("--set", "cluster=a", "--lake", "l"), 2, "no input given; pass --sends PATH or"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_the_input_is_a_sentence(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    files: dict[str, bytes],
    words: tuple[str, ...],
    code: int,
    sentence: str,
) -> None:
    write(tmp_path, files)
    found, said = _check(capsys, *words)
    assert found == code
    assert sentence.format(tmp_path) in "\n".join(said)


def test_packed_nested_and_long_heads_are_read(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    many = b"\r\n".join(line(seq=seq, error="x" * 2_000) for seq in range(1_000))
    write(logs, {"a.log.gz": gzip.compress(many), "b.csv": b'\nclient_id,"error"\nc,"x, y"\nc,"two\nlines"\nc\n'})
    columns = {name: pa.array([value]) for name, value in GOOD.items() if name != "topic"}
    write_parquet(logs, "c.parquet", {**columns, "ctx": pa.array([{"t": {"opic": "o"}}])})
    code, said = _check(capsys, "--sends", logs, "--set", "inputs.sends.fields.topic=ctx.t.opic")
    assert code == 0
    rows = int(said[0].split()[-2])
    assert said[0].startswith("sends: 3 files, the first lines of 3 of them: ")
    assert 100 < rows <= MOST_LINES + 5
    assert f"  WARNING: {logs}/b.csv line 4 has a quote that is not closed" in said
    assert f"  WARNING: {logs}/b.csv line 6 has 1 columns, the header has 2" in said
    assert _row(said, "topic").endswith(" o")


def test_of_many_files_some_are_looked_at_first_and_last_among_them() -> None:
    files = [InputFile(f"{place:03}", place % 50, 0) for place in range(101)]
    names = [file.name for file in some_of(files, 5)]
    assert len(names) == 5
    assert (names[0], names[-1]) == ("001", "099")
    assert some_of(files[:3], 5) == files[1:3]
    assert [file.name for file in some_of(files, 1)] == ["001"]


@pytest.mark.parametrize(("shape", "form"), [("json", "auto"), ("csv", "csv"), ("parquet", "auto")])
def test_a_guessed_mapping_is_settings_to_correct(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, shape: str, form: str
) -> None:
    logs = SHAPES[shape][1](tmp_path / "logs", sample_attempts(100))
    given = ("--sends", logs, "--set", f"inputs.sends.format={form}")
    code, said = _check(capsys, *given, "--propose")
    assert code == 0
    guess = tmp_path / "guess.toml"
    guess.write_text("\n".join(said), encoding="utf-8")
    sends = load_settings([guess], [], {}).inputs.sends
    example = load_settings([EXAMPLES / f"{shape}.toml"], [], {}).inputs.sends
    mapped = {name: source for name, source in example.fields.items() if source.value is None}
    assert sends.fields == mapped
    assert {name: dict(texts) for name, texts in sends.values.items()} == GUESSED[shape]


GUESSED = {
    "json": {
        "outcome": {"OK": "SEND_OK", "TIMEOUT": "RemotingTimeoutException"},
        "mode": {},
        "fault_latency_enabled": {"on": "true"},
    },
    "csv": {
        "mode": {"S": "SYNC", "A": "ASYNC", "O": "ONEWAY"},
        "outcome": {"TIMEOUT": "RemotingTimeoutException"},
    },
    "parquet": {"mode": {}, "outcome": {}},
}


def test_what_cannot_be_guessed_is_a_comment(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    rows = [{"costUs": 1500, "who": "c", "status": "NOK", "Time": 1795262400}, {"costUs": 7, "status": "Success"}]
    logs = write(tmp_path / "logs", {"a.log": "\n".join(map(json.dumps, rows)).encode()})
    code, said = _check(capsys, "--sends", logs, "--propose", "--set", "inputs.sends.fields.mode.value=SYNC")
    assert code == 0
    assert said[2:] == [
        "[inputs.sends.fields]",
        'client_id = "who"  # such as c',
        'ended_at_ms = { column = "Time", unit = "s" }  # such as 1795262400',
        'latency_ms = { column = "costUs", unit = "us" }  # such as 1500',
        'outcome = "status"  # such as NOK',
        'mode = { value = "SYNC" }',
        "# broker_name or broker_addr: each line needs it, and no column looks like it",
        "",
        "[inputs.sends.values.outcome]",
        '# "NOK" = …  # 1 lines',
        '"Success" = "SEND_OK"',
    ]


@pytest.mark.parametrize(
    ("ended", "cost", "guessed"),
    [
        (NOON_MS, "cost_ms", ('"time"', '"cost_ms"')),
        (NOON_MS * 10**3, "costMicros", ('{ column = "time", unit = "us" }', '{ column = "costMicros", unit = "us" }')),
        (NOON_MS * 10**6, "cost_nanos", ('{ column = "time", unit = "ns" }', '{ column = "cost_nanos", unit = "ns" }')),
    ],
    ids=["ms", "us", "ns"],
)
def test_a_unit_is_guessed_from_the_size_of_a_time_and_the_name_of_a_latency(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, ended: int, cost: str, guessed: tuple[str, str]
) -> None:
    logs = write(tmp_path / "logs", {"a.log": json.dumps({"time": ended, cost: 7}).encode()})
    _, said = _check(capsys, "--sends", logs, "--propose")
    assert said[3:5] == [f"ended_at_ms = {guessed[0]}  # such as {ended}", f"latency_ms = {guessed[1]}  # such as 7"]


def test_a_check_imports_no_spark(tmp_path: Path) -> None:
    logs = write(tmp_path / "logs", {"a.log": line()})
    code = (
        "import sys\nfrom jobs.cli.main import main\n"
        f"assert main(['check', '--sends', {str(logs)!r}]) == 0\n"
        "print([name for name in sys.modules if name.split('.')[0] in ('pyspark', 'py4j', 'pyarrow')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.stdout.splitlines()[-1] == "[]", done.stderr


MAPPED = 'inputs.sends.fields.latency_ms={column="costUs", unit="us"}'
HEAD = "client_id,broker_name,ended_at_ms,outcome,cost_us"


def _before(folder: Path, *assignments: str) -> list[str]:
    return check_before(
        load_settings([], [f"inputs.sends.path={folder}", *assignments], {}), ["sends", "routes"], ["sends"]
    )


def test_a_needed_column_that_no_head_has_ends_a_run(tmp_path: Path) -> None:
    logs = write(tmp_path / "logs", {"a.csv": f"{HEAD}\nc,b,1,SEND_OK,1".encode()})
    with pytest.raises(SettingValueError) as caught:
        _before(logs, MAPPED)
    assert str(caught.value) == (
        "no column costUs; the header has cost_us (inputs.sends.fields.latency_ms): each line needs a latency_ms, and"
        " none of the first lines of 1 files has that column; correct its name, faultline check says more"
    )


@pytest.mark.parametrize(
    ("assignments", "warnings"),
    [
        (("inputs.sends.fields.cause=cuase",), ["no column cuase (inputs.sends.fields.cause)"]),
        (
            ("inputs.sends.fields.seq=CostUS",),
            ["no column CostUS; the header has cost_us (inputs.sends.fields.seq)"],
        ),
        # An address is as good as a name, a start as an end, where the log has the one.
        (
            ("inputs.sends.fields.broker_addr=addr", "inputs.sends.fields.broker_name=broker_name"),
            ["no column addr (inputs.sends.fields.broker_addr)"],
        ),
        (("inputs.sends.fields.client_id=client_id",), []),
        (("inputs.sends.fields.mode.value=SYNC",), []),
    ],
)
def test_another_column_that_no_head_has_is_a_warning(
    tmp_path: Path, assignments: tuple[str, ...], warnings: list[str]
) -> None:
    logs = write(tmp_path / "logs", {"a.csv": f"{HEAD}\nc,b,1,SEND_OK,1".encode()})
    assert _before(logs, *assignments) == warnings


def test_a_column_of_one_file_is_there(tmp_path: Path) -> None:
    logs = write(tmp_path / "logs", {"a.log": line(), "b.log": line(costUs=1), "empty.log": b""})
    assert _before(logs, MAPPED) == []
    assert _before(write(tmp_path / "none", {"a.log": b"\n"}), MAPPED) == []
    with pytest.raises(SettingValueError, match=r"of 1 files has that column"):
        _before(write(tmp_path / "one", {"a.log": line()}), MAPPED)


@pytest.mark.parametrize(
    ("files", "path", "error"),
    [
        ({}, "logs", InputMissingError),
        ({"logs/.a": b"x"}, "logs", InputMissingError),
        ({"logs/a.gz": b"none"}, "logs", InputUnreadableError),
    ],
)
def test_missing_input_ends_a_run(
    tmp_path: Path, files: dict[str, bytes], path: str, error: type[FaultlineError]
) -> None:
    write(tmp_path, files)
    with pytest.raises(error):
        _before(tmp_path / path, "inputs.sends.fields.topic=t")


def test_other_stores_are_not_looked_at() -> None:
    settings = load_settings([], ["inputs.sends.path='s3a://bucket/logs'", MAPPED], {})
    assert check_before(settings, ["sends", "routes"], ["sends"]) == []


def test_a_run_ends_before_spark_starts(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr("jobs.spark.session.open_session", never)
    logs = write(tmp_path / "logs", {"a.csv": f"{HEAD}\nc,b,1,SEND_OK,1".encode()})
    given = ("--lake", str(tmp_path / "lake"), "--date", "2026-11-21")
    assert cli.main(["nightly", *given, "--sends", str(tmp_path / "none")]) == 3
    assert "none does not exist; give a file, a folder or a glob that matches" in capsys.readouterr().err
    assert cli.main(["nightly", *given, "--sends", str(logs), "--set", MAPPED]) == 2
    assert "no column costUs; the header has cost_us" in capsys.readouterr().err
    assert cli.main(["fault-latency", *given, "--sends", str(logs), "--routes", str(tmp_path / "r")]) == 3
    capsys.readouterr()
    for named, missing in (((), "sends"), (("--consumers", str(logs)), "routes"), (("--routes", str(logs)), "sends")):
        assert cli.main(["nightly", *given, *named]) == 3
        sentence = f"no {missing} are named; give --{missing} PATH or the setting inputs.{missing}.path"
        assert capsys.readouterr().err == f"faultline: {sentence}\n"
        assert cli.main(["plan", "nightly", *given, *named]) == 0
        assert [line for line in capsys.readouterr().out.splitlines() if "WRONG" in line] == [f"  WRONG    {sentence}"]
    assert cli.main(["allocation", *given, "--routes", str(logs)]) == 3
    assert "no consumers are named; give --consumers PATH" in capsys.readouterr().err
    assert not (tmp_path / "lake").exists()
