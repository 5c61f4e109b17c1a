"""A run of any flow, step by step over a lake of literals: its order, and what it leaves when it fails."""

from __future__ import annotations

import contextlib
import datetime as dt
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.errors import PySparkException

from jobs.errors import InputMissingError, LakeBusyError, LakeError, ReconciliationError
from jobs.lake.commits import Commit
from jobs.runs import context as run_context
from jobs.runs import recompute, runner
from jobs.runs.context import RunContext
from jobs.runs.flow import Flow, Opening
from jobs.runs.midnight import opening_of
from jobs.runs.recompute import recompute_days
from jobs.runs.run import DayResult, PublishedDay, Run, RunResult
from jobs.runs.run_log import failure_text, log_run
from jobs.runs.runner import check_rows, run_flow
from jobs.settings.load import load_settings
from jobs.sources.staged import Counts
from jobs.spark.interruption import Interrupted
from jobs.tables import FAULT_ITEM_STATE, PRODUCER_DAYS, RUN_LOG, SENDS, Table
from jobs.tables.day import Day
from jobs.text.progress import Progress

D1, D2, D3 = (dt.date(2026, 3, day) for day in (1, 2, 3))
N1, N2, N3 = (Day(date, "north") for date in (D1, D2, D3))
S1 = Day(D1, "south")
COUNTS = Counts(5, 4, 1, 0, 0, 0)
NIGHT = dt.datetime(2026, 3, 4, tzinfo=dt.UTC)
NOTHING: Any = None
SETTINGS = load_settings([], [], {"lake": "/lake", "cluster": "north"})
AS_NOW, OLD = (
    PublishedDay("PREVIOUS_DAY", "old", settings, "as read")
    for settings in (SETTINGS.content_hash("FLOW"), "of last week")
)


def words(day: Day) -> str:
    return f"{day.cluster} {day.date.day}"


class Steps:
    """A run of a flow that does nothing but write down its steps.

    Attributes:
        steps: each step, in order.
        fails_at: step, or the beginning of one, to the error that it ends with.
        taken_from: whose lock it takes.
        staged_days: the days that the lines are of.
        published: days in the lake, each with what it started from.
        gone: days whose lines the lake no longer has.
        quarantined: how many rows the lake says that it got.
        means: failure to what has ended the run in truth.
    """

    def __init__(self) -> None:
        self.steps: list[str] = []
        self.fails_at: dict[str, BaseException] = {}
        self.taken_from: str | None = None
        self.staged_days = [N1]
        self.published: dict[Day, PublishedDay] = {}
        self.gone: set[Day] = set()
        self.quarantined = 1
        self.means: dict[BaseException, BaseException] = {}
        self.said = io.StringIO()
        self.root, self.staging = "/lake", "/lake/_staging"

    def step(self, what: str) -> None:
        self.steps.append(what)
        for begin, error in self.fails_at.items():
            if what.startswith(begin):
                raise error

    # The lake.

    @contextlib.contextmanager
    def locked(self, run_id: str, _: object, *, break_lock: bool, **_how: object) -> Iterator[str | None]:
        self.step(f"lock {run_id}, break {break_lock}")
        try:
            yield self.taken_from
        finally:
            self.steps.append("let go")

    def create_tables(self, tables: Sequence[Table]) -> None:
        self.step(f"tables {', '.join(table.name for table in tables)}")

    def clear_staging(self, run_id: str) -> None:
        self.step(f"clear {run_id}")

    def publish_day(
        self, table: Table, rows: str, cluster: str, day: dt.date, metadata: Mapping[str, str], **only: Any
    ) -> Commit:
        self.step(f"{table.name} of {cluster} {day.day}: {rows}, {only['only']}, by {metadata['run_id']}")
        return Commit(table.name, 7, self.quarantined)

    def publish_day_of_each(
        self, frames: Sequence[tuple[Table, str]], cluster: str, day: dt.date, _: Mapping[str, str]
    ) -> list[Commit]:
        self.step(f"publish {', '.join(f'{table.name}={rows}' for table, rows in frames)} of {cluster} {day.day}")
        return [Commit(table.name, 9, 3) for table, _ in frames]

    def forget_before(self, table: Table, cluster: str, day: dt.date) -> None:
        self.step(f"forget {table.name} of {cluster} before {day}")

    # The input.

    def stage(self, _: object, __: object, days: tuple[dt.date, dt.date], folder: str) -> Any:
        self.step(f"stage {days[0].day} to {days[1].day} in {folder}")
        return SimpleNamespace(
            days=lambda *_: list(self.staged_days),
            rows_read=5,
            warnings=lambda now, _: [f"a time at {now:%H:%M} to come"],
            other_days={D3: 2},
            hidden_files=("/l/.a",),
            read=(SimpleNamespace(name="routes"), SimpleNamespace(name="sends")),
            quarantine=lambda day, run_id: f"bad lines of {words(day)} in {run_id}",
            rows_quarantined=lambda _: 1,
            counts=lambda _: COUNTS,
            log_files=lambda _: (),
        )

    # The flow.

    def publish(self, _: RunContext, day: Day, __: Any) -> list[Commit]:
        self.step(f"lines of {words(day)}")
        return [Commit("sends", 5, 4)]

    def derive(self, _: RunContext, day: Day, opening: Opening, staged: Any) -> Mapping[str, Any]:
        self.step(f"derive {words(day)} from {opening.state}{'' if staged else ', from the lake'}")
        return {"producer_days": "p", "fault_item_state": "s"}

    # What it is told.

    def log(
        self,
        _: object,
        flow: str,
        days: Sequence[Day],
        status: str,
        *,
        done: DayResult | None = None,
        message: str | None = None,
        cascading: Day | None = None,
    ) -> None:
        said = f": {message}" if message else ""
        named = [f"{words(day)}{', again' if day == cascading else ''}" for day in days]
        self.step(f"{flow} {status} {', '.join(named) or 'of no day'}{said}")
        assert (done is not None) == (status == "SUCCEEDED")

    def __call__(
        self, *dates: dt.date, sends_days: str = "", allow_empty: bool = False, break_lock: bool = False
    ) -> RunResult:
        given = [sends_days] if sends_days else []
        settings = load_settings([], given, {"lake": "/lake", "cluster": "north"})
        run = Run("r", "nightly", dates, allow_empty, cascade=True, clock=lambda: NIGHT, break_lock=break_lock)
        return run_flow(self.flow(), NOTHING, settings, run, Progress(self.said))

    def recompute(self, *dates: dt.date, cluster: str | None = None) -> RunResult:
        run = Run("r", "fault-latency", dates, allow_empty=False, cascade=True, clock=lambda: NIGHT)
        return recompute_days(self.flow(), NOTHING, SETTINGS, run, Progress(self.said), cluster=cluster)

    def flow(self) -> Flow[Any]:
        return Flow(
            name="FLOW", reads="sends", derives="replaying", sources=("sends", "client_logs"), needed=("sends",),
            published=(SENDS,), derived=(PRODUCER_DAYS, FAULT_ITEM_STATE), carried=(FAULT_ITEM_STATE,),
            stage=self.stage, derive=self.derive, forgotten=(SENDS,), publish=self.publish,
            can_recompute=lambda _, day: day not in self.gone,
        )  # fmt: skip


class Closing:
    """The state of a day, known from what its writes were given and what they say."""

    def __init__(self, day: Day) -> None:
        self.day = day

    def watched(self, _: Table, rows: str) -> str:
        return f"{rows} watched"

    def state(self, commits: Sequence[Commit]) -> str:
        assert [commit.table for commit in commits] == ["producer_days", "fault_item_state"]
        return f"{words(self.day)} 24:00"


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Steps:
    made = Steps()
    for module in (runner, recompute):
        monkeypatch.setattr(module, "Lake", lambda *_: made)
        monkeypatch.setattr(module, "log_run", made.log)
        monkeypatch.setattr(module, "known_days", lambda *_: made.published)
    monkeypatch.setattr(runner, "small_input_conf", lambda *_: contextlib.nullcontext())  # there is no session
    monkeypatch.setattr(runner, "give_back", lambda: made.step("give back"))
    monkeypatch.setattr(runner, "what_ended", lambda error: made.means.get(error, error))
    monkeypatch.setattr(runner, "opening_of", lambda _, __, day: Opening(day != N1, {}, f"{words(day)} 00:00"))
    monkeypatch.setattr(runner, "ClosingState", lambda _, __, day: Closing(day))
    monkeypatch.setattr(
        runner,
        "check_fit_to_publish",
        lambda _, days, __, needed, allow_empty: made.step(
            f"fit {', '.join(map(words, days))}, of {', '.join(needed)}, empty {allow_empty}"
        ),
    )
    return made


BEGIN = ["lock r, break False", "tables sends, producer_days, fault_item_state, quarantine, run_log", "clear r"]
END = ["clear r", "let go"]


def published(day: str) -> list[str]:
    """The steps of a day that is published from its lines."""
    only = "{'source': ['sends', 'client_logs', 'routes']}"
    return [
        f"lines of {day}",
        f"quarantine of {day}: bad lines of {day} in r, {only}, by r",
        f"derive {day} from {day} 00:00",
        f"publish producer_days=p watched, fault_item_state=s watched of {day}",
        f"FLOW SUCCEEDED {day}",
    ]


def test_the_steps_of_a_run(run: Steps) -> None:
    run.staged_days = [N1, N2, S1]
    result = run(D1, D2)
    assert run.steps == [
        *BEGIN,
        "stage 1 to 2 in /lake/_staging/r",
        "FLOW STARTED north 1, north 2, south 1",
        "fit north 1, north 2, south 1, of sends, empty False",
        *published("north 1"),
        *published("north 2"),
        *published("south 1"),
        *END,
    ]
    assert result.days[0] == DayResult(
        N1,
        COUNTS,
        PublishedDay(
            "EMPTY",
            "north 1 00:00",
            SETTINGS.content_hash("FLOW"),
            SETTINGS.input_hash("FLOW"),
            lines=4,
            closing_state="north 1 24:00",
        ),
        {"sends": 5, "quarantine": 7, "producer_days": 9, "fault_item_state": 9},
    )
    assert result.read_otherwise(SETTINGS.input_hash("FLOW")) == []  # fmt: skip
    assert {done.day: done.made.started_from for done in result.days[1:]} == dict.fromkeys((N2, S1), "PREVIOUS_DAY")
    assert (result.clusters, result.other_days) == (["north", "south"], {D3: 2})
    assert result.hidden_files == ("/l/.a",)
    said = run.said.getvalue().splitlines()
    assert said.pop(2) == f"warning: a time at {NIGHT:%H:%M} to come"
    assert result.warnings == [f"a time at {NIGHT:%H:%M} to come"]
    assert [line.partition(":")[0] for line in said[:4]] == [
        "opening the lake", "reading sends", "publishing lines of 2026-03-01", "replaying of 2026-03-01",
    ]  # fmt: skip


def test_options_go_where_they_are_asked(run: Steps) -> None:
    run(D1, allow_empty=True, break_lock=True)
    assert run.steps[0] == "lock r, break True"
    assert "fit north 1, of sends, empty True" in run.steps


def test_later_days_follow_the_last_one_of_a_cluster_only(run: Steps) -> None:
    run.staged_days = [N1, N2]
    run.published = dict.fromkeys((N1, N2, N3), AS_NOW)
    result = run(D1, D2)
    assert run.steps[-6:] == [
        "FLOW STARTED north 3, again", "derive north 3 from north 3 00:00, from the lake",
        "publish producer_days=p watched, fault_item_state=s watched of north 3", "FLOW SUCCEEDED north 3", *END,
    ]  # fmt: skip
    assert [(done.day, done.cascaded) for done in result.days] == [(N1, False), (N2, False), (N3, True)]
    assert run.steps.count("FLOW SUCCEEDED north 2") == 1


@pytest.mark.parametrize(
    ("sends_days", "before"), [("", None), ("1", "2026-03-02"), ("2", "2026-03-01"), ("10", "2026-02-21")]
)
def test_sends_are_kept_for_as_many_days_as_are_named(run: Steps, sends_days: str, before: str | None) -> None:
    """The last published day is one of them."""
    run.staged_days = [N1, N2]
    run(D1, D2, sends_days=f"retention.sends_days={sends_days}" if sends_days else "")
    forgotten = [step for step in run.steps if step.startswith("forget")]
    assert forgotten == ([f"forget sends of north before {before}"] if before else [])


def test_whose_lock_was_taken_is_on_record_before_anything_is_read(run: Steps) -> None:
    run.taken_from = "taken from run q"
    run.staged_days = [N1, S1]
    run(D1)
    assert run.steps[3:6] == [
        "FLOW STARTED north 1: taken from run q", "stage 1 to 1 in /lake/_staging/r", "FLOW STARTED south 1",
    ]  # fmt: skip
    assert run.said.getvalue().startswith("taken from run q\n")


@pytest.mark.parametrize(
    ("at", "error", "failed"),
    [
        pytest.param("stage", LakeError("no room"), "north 1, north 2: no room", id="before its days are known"),
        pytest.param("fit", LakeError("too bad"), "north 1, south 1: too bad", id="before a day is published"),
        pytest.param("derive south 1", LakeError("lost"), "south 1: lost", id="after a day was published"),
        pytest.param("derive south 1", Interrupted(15), "south 1: interrupted by SIGTERM;", id="a signal"),
        pytest.param(
            "derive north 2", LakeError("late"), "south 1, north 2, again: late", id="a later day, recomputed"
        ),
    ],
)
def test_the_days_that_a_failed_run_left_undone_are_on_record(
    run: Steps, at: str, error: BaseException, failed: str
) -> None:
    run.staged_days = [N1, S1]
    run.fails_at = {at: error}
    run.published = {N2: AS_NOW} if at == "derive north 2" else {}
    with pytest.raises(type(error)) as raised:
        run(D1, D2)
    assert raised.value is error
    *_, gave_back, last, cleared, let_go = run.steps
    assert (gave_back, cleared, let_go) == ("give back", *END)
    assert last.startswith(f"FLOW FAILED {failed}")


@pytest.mark.parametrize("error", [OSError("disk full"), LakeError("disk full"), PySparkException("disk full")])
def test_a_failure_that_cannot_be_recorded_is_still_the_one_that_is_raised(run: Steps, error: Exception) -> None:
    run.fails_at = {"stage": LakeError("no room"), "FLOW FAILED": error}
    with pytest.raises(LakeError, match="no room"):
        run(D1)
    assert run.steps[-2:] == END


def test_a_failure_that_a_signal_caused_is_on_record_as_the_signal(run: Steps) -> None:
    """A job that was cancelled fails; why, its error does not say."""
    cancelled = PySparkException("Job 7 cancelled")
    run.fails_at, run.means = {"derive": cancelled}, {cancelled: Interrupted(15)}
    with pytest.raises(PySparkException):
        run(D1)
    assert "FLOW FAILED north 1: interrupted by SIGTERM; run it again, other days stay whole" in run.steps


def test_a_lake_that_another_run_holds_is_left_alone(run: Steps) -> None:
    run.fails_at = {"lock": LakeBusyError("held")}
    with pytest.raises(LakeBusyError):
        run(D1)
    assert run.steps == ["lock r, break False"]


def test_the_steps_of_a_recompute(run: Steps) -> None:
    """No input is staged, nothing that lines say is published; the day after the last one follows as after a run."""
    run.published = {N1: OLD, N2: AS_NOW, S1: OLD, N3: AS_NOW}
    result = run.recompute(D1, D2)
    assert run.steps == [
        *BEGIN, "FLOW STARTED north 1, north 2, south 1",
        *derived("north 1"), *derived("north 2"), "FLOW STARTED north 3, again", *derived("north 3"),
        *derived("south 1"), *END,
    ]  # fmt: skip
    assert [(done.day, done.counts, done.cascaded) for done in result.days] == [
        (N1, None, False), (N2, None, False), (N3, None, True), (S1, None, False),
    ]  # fmt: skip
    assert {done.made.input_settings for done in result.days} == {"as read"}
    assert result.read_otherwise(SETTINGS.input_hash("FLOW")) == [D1, D2, D3, D1]
    assert result.read_otherwise("as read") == []
    assert (result.clusters, result.forgotten_days) == (["north", "south"], [])


def derived(day: str) -> list[str]:
    """The steps of a day that is recomputed."""
    return [
        f"derive {day} from {day} 00:00, from the lake",
        f"publish producer_days=p watched, fault_item_state=s watched of {day}",
        f"FLOW SUCCEEDED {day}",
    ]


def test_a_recompute_leaves_other_clusters_and_days_without_sends(run: Steps) -> None:
    run.published, run.gone = {N1: OLD, N2: OLD, S1: OLD}, {N1}
    result = run.recompute(D1, D2, D3, cluster="north")
    assert run.steps[3:-2] == ["FLOW STARTED north 2", *derived("north 2")]
    assert (result.clusters, result.forgotten_days) == (["north"], [D1])


@pytest.mark.parametrize(
    ("published", "cluster", "sentence"),
    [
        ([], None, "the lake has no day of 2026-03-01 to 2026-03-02 to recompute; it has none, name one of them"),
        ([N3], None, "of 2026-03-01 to 2026-03-02 to recompute; its days are 2026-03-03 to 2026-03-03, name one"),
        ([S1], "north", "of 2026-03-01 to 2026-03-02 of cluster north to recompute; it has none"),
        ([N1], None, "no longer has the lines of 2026-03-01 to 2026-03-01 (retention.sends_days); publish the days"),
    ],
)
def test_a_recompute_of_nothing_is_refused(
    run: Steps, published: list[Day], cluster: str | None, sentence: str
) -> None:
    run.published, run.gone = dict.fromkeys(published, OLD), {N1}
    with pytest.raises(InputMissingError, match=re.escape(sentence)):
        run.recompute(D1, D2, cluster=cluster)
    assert not [step for step in run.steps if step.startswith(("derive", "FLOW SUCCEEDED", "FLOW STARTED north"))]
    assert run.steps[-2:] == END


@pytest.mark.parametrize(
    ("published", "others"),
    [
        ({N1: AS_NOW, N3: AS_NOW}, []),
        ({N1: OLD}, [D1]),
        ({N3: OLD}, [D3]),
        ({N1: PublishedDay("EMPTY", "")}, []),  # by what, it does not say
        ({Day(D1 - dt.timedelta(days=1), "north"): OLD}, []),  # not beside the day of the run
        ({Day(D1 - dt.timedelta(days=1), "north"): OLD, N1: OLD}, [D1 - dt.timedelta(days=1), D1]),
        ({S1: OLD}, []),  # of a cluster that the run does not publish
    ],
    ids=["as now", "before", "after", "unknown", "far", "far and before", "other cluster"],
)
def test_days_beside_the_runs_own_that_other_settings_made(
    run: Steps, published: dict[Day, PublishedDay], others: list[dt.date]
) -> None:
    run.published, run.staged_days, run.gone = published, [N2], {N3}
    assert run(D2).other_settings == others


@pytest.mark.parametrize("got", [0, 2])
def test_a_line_too_few_or_too_many_in_quarantine_ends_the_run(run: Steps, got: int) -> None:
    run.quarantined = got
    with pytest.raises(ReconciliationError, match=rf"^quarantine of 2026-03-01 got {got} rows, 1 were counted; run"):
        run(D1)
    assert not [step for step in run.steps if step.startswith(("derive", "FLOW SUCCEEDED"))]


def test_rows_that_were_counted_are_the_rows_that_a_table_got() -> None:
    check_rows(Commit("sends", 1, 3), 3, N1)
    for got in (2, 4):
        with pytest.raises(ReconciliationError):
            check_rows(Commit("sends", 1, got), 3, N1)


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (LakeError("no room; make some"), "no room; make some"),
        (ValueError("a bug\nin two lines"), "a bug"),
        (PySparkException("write: No space left on device"), "the disk is full; free some space and run it again"),
        (Interrupted(2), "interrupted by SIGINT; run it again, other days stay whole"),
    ],
)
def test_a_failure_in_the_run_log_is_a_sentence(error: BaseException, sentence: str) -> None:
    said = failure_text(error, "/lake")
    assert sentence in said
    assert "two lines" not in said


def context(run_id: str = "r", *settings: str, appended: Callable[[Any], None] = print) -> RunContext:
    spark: Any = SimpleNamespace(createDataFrame=lambda rows, schema: (rows, schema))
    lake: Any = SimpleNamespace(
        root="/lake",
        staging="/lake/_staging",
        newest=lambda _: SimpleNamespace(version=lambda: 41),
        append=lambda table, frame: appended((table, *frame)),
    )
    run = Run(run_id, "nightly", (D1,), allow_empty=False, cascade=True, clock=lambda: NIGHT)
    return RunContext(spark, lake, load_settings([], list(settings), {"lake": "/lake"}), run, Progress())


def logged(
    context_of: Callable[..., RunContext], *days: Day, status: str = "STARTED", **more: Any
) -> list[dict[str, Any]]:
    """What was appended to the run log."""
    found: list[Any] = []
    log_run(context_of(appended=found.append), "FLOW", days, status, **more)
    names = RUN_LOG.schema.fieldNames()
    assert [(table, schema) for table, _, schema in found] == [(RUN_LOG, RUN_LOG.schema)] * bool(days)
    return [dict(zip(names, row, strict=True)) for _, rows, _ in found for row in rows]


def test_an_event_of_the_run_log() -> None:
    first, second = logged(context, N1, S1)
    assert (first["event_date"], first["cluster"]) == (D1, "north")
    assert second == first | {"cluster": "south"}
    assert {name: first[name] for name in ("run_id", "command", "flow", "status", "logged_at", "event_seq")} == {
        "run_id": "r", "command": "nightly", "flow": "FLOW", "status": "STARTED", "logged_at": NIGHT, "event_seq": 42,
    }  # fmt: skip
    assert {first[name] for name in (*Counts.__dataclass_fields__, "started_from", "table_versions", "message")} == {
        None
    }
    assert first["settings_hash"] == load_settings([], [], {}).content_hash("FLOW")
    assert first["input_settings_hash"] == load_settings([], [], {}).input_hash("FLOW")
    assert logged(context) == []


def test_a_day_that_follows_from_the_one_before_is_logged_as_such() -> None:
    """In the same call as another when both fail."""
    assert [row["command"] for row in logged(context, N1, N2, status="FAILED", cascading=N2)] == ["nightly", "cascade"]


def test_a_success_in_the_run_log_says_from_what_to_what_and_where() -> None:
    done = DayResult(N1, COUNTS, PublishedDay("EMPTY", "opened", closing_state="closed"), {"sends": 5, "findings": 2})
    (row,) = logged(context, N1, status="SUCCEEDED", done=done)
    assert [row[name] for name in Counts.__dataclass_fields__] == [5, 4, 1, 0, 0, 0]
    assert (row["started_from"], row["opening_state"], row["closing_state"]) == ("EMPTY", "opened", "closed")
    assert json.loads(row["table_versions"]) == {"sends": 5, "findings": 2}
    assert row["command"] == "nightly"
    for command, cascaded in (("cascade", True), ("recompute", False)):
        later = DayResult(N1, None, PublishedDay("PREVIOUS_DAY", "opened", input_settings="as read"), {}, cascaded)
        (row,) = logged(context, N1, status="SUCCEEDED", done=later)
        assert (row["command"], row["rows_read"], row["input_settings_hash"]) == (command, None, "as read")


@pytest.mark.fault(42)
def test_no_secret_stands_in_the_run_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SITE_API_KEY", "variable-canary")

    def with_secret(**more: Any) -> RunContext:
        return context("r", "spark.site.token=setting-canary", **more)

    message = "403 for variable-canary and setting-canary at s3a://AKIA:uri-canary@bucket"
    (row,) = logged(with_secret, N1, status="FAILED", message=message)
    assert row["message"] == "403 for … and … at s3a://AKIA:…@bucket"


def test_a_run_stages_each_day_of_each_cluster_in_a_folder_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_context, "materializer", lambda _, folder: folder)
    of_run = context("run-1")
    names = ("north", "a/b c", "a", "c" * 300, "集" * 300)  # a file system takes 255 bytes of a name
    folders: list[Any] = [of_run.materializer(Day(day, name)) for name in names for day in (D1, D2)]
    assert folders[:2] == [f"/lake/_staging/run-1/dc365e79d41cfae1-2026-03-0{day}" for day in (1, 2)]  # sha256sum
    assert len(set(folders)) == len(folders)
    assert {len(folder) for folder in folders} == {len(folders[0])}


def test_a_flow_that_carries_nothing_starts_from_nothing_after_a_published_day_too() -> None:
    """`verify`, night after night."""
    of_run = context()
    of_run.published["FLOW"] = {N1: AS_NOW}
    flow = replace(Steps().flow(), carried=())
    assert [opening_of(flow, of_run, day) for day in (N1, N2)] == [Opening(False, {}, "0:0"), Opening(True, {}, "0:0")]


def test_a_commit_says_which_run_made_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_context, "code_version", lambda: "1.2")
    for flow in ("FAULT_LATENCY", "ALLOCATION"):
        assert context("run-1").metadata(flow) == {
            "run_id": "run-1", "code_version": "1.2", "settings_hash": load_settings([], [], {}).content_hash(flow),
        }  # fmt: skip
