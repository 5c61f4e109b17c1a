"""The house keeps its shape: each rule is a table or a walk over the syntax tree, each breach names file:line."""

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from jobs.kinds import FindingKind, GroupKind

ROOT = Path(__file__).parents[1]
PACKAGES = ("jobs", "udfs", "conf")
LONGEST_FILE = 400

# Who may import whom: a room is a file at the root of `jobs/`, a folder of it, `udfs` or `conf`; `conf` is data.
# sources -> flow -> lake -> cli: what stands further down is never imported from above.
MAY_IMPORT = {
    "conf": set(),
    "udfs": set(),
    "jobs": set(),
    "jobs.text": set(),
    "jobs.uri": set(),
    "jobs.kinds": set(),
    "jobs.tables": {"jobs.kinds"},
    "jobs.intervals": set(),
    "jobs.errors": {"jobs.text"},
    "jobs.settings": {"jobs.errors", "jobs.uri", "udfs"},
    "jobs.spark": {"jobs.errors", "jobs.settings", "jobs.tables", "jobs.text"},
    "jobs.answers": {"jobs.errors", "jobs.intervals", "jobs.kinds", "jobs.tables", "jobs.text", "jobs.uri", "udfs"},
    "jobs.sources": {"jobs.errors", "jobs.settings", "jobs.spark", "jobs.tables", "jobs.text", "jobs.uri", "udfs"},
    "jobs.check": {"jobs.answers", "jobs.errors", "jobs.settings", "jobs.sources", "jobs.text", "jobs.uri", "udfs"},
    "jobs.lake": {"jobs.errors", "jobs.spark", "jobs.tables", "jobs.text", "jobs.uri"},
    "jobs.doctor": {
        "jobs.answers",
        "jobs.errors",
        "jobs.lake",
        "jobs.settings",
        "jobs.spark",
        "jobs.tables",
        "jobs.text",
        "jobs.uri",
    },
    "jobs.serving": {
        "jobs.answers",
        "jobs.errors",
        "jobs.lake",
        "jobs.settings",
        "jobs.tables",
        "jobs.text",
    },
    "jobs.runs": {
        "jobs.errors",
        "jobs.lake",
        "jobs.settings",
        "jobs.sources",
        "jobs.spark",
        "jobs.tables",
        "jobs.text",
    },
    "jobs.upkeep": {"jobs.errors", "jobs.lake", "jobs.runs", "jobs.settings", "jobs.tables", "jobs.text"},
    "jobs.allocation": {
        "jobs.intervals",
        "jobs.kinds",
        "jobs.runs",
        "jobs.settings",
        "jobs.sources",
        "jobs.spark",
        "jobs.tables",
        "jobs.text",
        "udfs",
    },
    "jobs.fault_latency": {
        "jobs.intervals",
        "jobs.kinds",
        "jobs.lake",
        "jobs.runs",
        "jobs.settings",
        "jobs.sources",
        "jobs.spark",
        "jobs.tables",
        "jobs.text",
        "udfs",
    },
    "jobs.collect": {"jobs.text"},
    "jobs.verify": {
        "jobs.errors",
        "jobs.fault_latency",
        "jobs.intervals",
        "jobs.kinds",
        "jobs.lake",
        "jobs.runs",
        "jobs.settings",
        "jobs.sources",
        "jobs.spark",
        "jobs.tables",
        "jobs.text",
        "udfs",
    },
    "jobs.what_if": {
        "jobs.answers",
        "jobs.errors",
        "jobs.fault_latency",
        "jobs.intervals",
        "jobs.lake",
        "jobs.runs",
        "jobs.settings",
        "jobs.spark",
        "jobs.tables",
        "jobs.text",
        "udfs",
    },
    "jobs.cli": {
        "jobs.allocation",
        "jobs.answers",
        "jobs.check",
        "jobs.collect",
        "jobs.doctor",
        "jobs.errors",
        "jobs.fault_latency",
        "jobs.kinds",
        "jobs.lake",
        "jobs.runs",
        "jobs.serving",
        "jobs.settings",
        "jobs.sources",
        "jobs.spark",
        "jobs.text",
        "jobs.upkeep",
        "jobs.uri",
        "jobs.verify",
        "jobs.what_if",
    },
}
LONGEST_CHAIN = 9
FLOWS = {"jobs.fault_latency", "jobs.allocation", "jobs.what_if", "jobs.verify"}
EDGE_OF_A_FLOW = ("run", "summary")

# Where these rules do not hold, because it is that module's task.
WRITES_DELTA = (
    "jobs/lake/tables_io.py",
    "jobs/lake/definitions.py",
    "jobs/lake/explained.py",
    "jobs/lake/maintenance.py",
)
STAGES_PARQUET = ("jobs/sources/staging.py", "jobs/spark/materialize.py")
READS_THE_CLOCK = "jobs/cli/main.py"
READS_WITHOUT_SPARK = ("jobs/answers/delta_table.py", "jobs/check/elsewhere.py")
KINDS = "jobs/kinds.py"

WRITERS = {"writeTo", "saveAsTable", "insertInto", "mergeInto", "writeStream"}
CLOCKS = {"now", "today", "utcnow", "current_date", "current_timestamp", "localtimestamp", "time_ns", "curdate"}
# Spark gives these their own frame and takes no other; everything else over an ordered window needs `rowsBetween`.
OWN_FRAME = {"lag", "lead", "row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile"}
FRAMES = {"rowsBetween", "rangeBetween"}

Breach = tuple[int, str]


@dataclass(frozen=True)
class Module:
    """One source file, parsed."""

    path: str
    source: str

    @property
    def name(self) -> str:
        return self.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    @property
    def tree(self) -> ast.Module:
        return ast.parse(self.source)


@cache
def modules() -> tuple[Module, ...]:
    paths = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
    return tuple(Module(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")) for path in paths)


def imports(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and full dotted name of each imported module or thing."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.lineno, f"{'.' * node.level}{node.module or ''}.{alias.name}") for alias in node.names)


def within(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def room_of(name: str) -> str:
    """`jobs.lake` of `jobs.lake.lock.hold`."""
    parts = name.split(".")
    return ".".join(parts[:2]) if parts[0] == "jobs" else parts[0]


def imports_against_the_direction(module: Module) -> Iterator[Breach]:
    room = room_of(module.name)
    if room not in MAY_IMPORT:
        yield 1, f"stands in {room}, which has no rule; say in MAY_IMPORT what it may import"
        return
    allowed = MAY_IMPORT[room] | {room}
    for line, name in imports(module.tree):
        if name.startswith("."):
            yield line, f"imports {name} relatively; write the full name"
        elif name.split(".")[0] in PACKAGES and room_of(name) not in allowed:
            yield line, f"imports {name}; it may import {', '.join(sorted(allowed))} (MAY_IMPORT)"


def transforms_with_the_lake(module: Module) -> Iterator[Breach]:
    """In a flow only the run and its summary read and write; everything else takes and gives frames."""
    if room_of(module.name) in FLOWS and module.name.rpartition(".")[2] not in EDGE_OF_A_FLOW:
        for line, name in imports(module.tree):
            if room_of(name) in {"jobs.lake", "jobs.runs"}:
                yield line, f"imports {name}; in a flow only {' and '.join(EDGE_OF_A_FLOW)} touch the lake"


def tables_import_more_than_spark(module: Module) -> Iterator[Breach]:
    if within(module.name, "jobs.tables"):
        for line, name in imports(module.tree):
            top = name.split(".")[0]
            if top not in {"pyspark", *PACKAGES} and top not in sys.stdlib_module_names:
                yield line, f"imports {name}; a table imports only pyspark and the standard library"


def writes_delta_outside_the_lake(module: Module) -> Iterator[Breach]:
    if module.path in WRITES_DELTA:
        return
    tree = module.tree
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr=name) if name in WRITERS or (name == "write" and id(node) not in called):
                if module.path not in STAGES_PARQUET or name != "write":
                    yield (
                        node.lineno,
                        f".{name}; only {WRITES_DELTA[0]} writes, and {STAGES_PARQUET[0]} what is not yet published",
                    )
            case ast.Call(func=ast.Attribute(attr="format"), args=[ast.Constant(value="delta"), *_]):
                yield node.lineno, f'.format("delta"); only {WRITES_DELTA[0]} reads and writes Delta'
    for line, name in imports(tree):
        if within(name, "delta"):
            yield line, f"imports {name}; only {WRITES_DELTA[0]} touches Delta"


def answers_with_spark(module: Module) -> Iterator[Breach]:
    """`jobs.answers` takes the tables' columns from pyspark and nothing else, so that an answer takes no JVM."""
    for line, name in imports(module.tree):
        if within(name, "deltalake") and module.path not in READS_WITHOUT_SPARK:
            yield line, f"imports {name}; only {' and '.join(READS_WITHOUT_SPARK)} use delta-rs"
        if within(module.name, "jobs.answers") and within(name, "pyspark") and not within(name, "pyspark.sql.types"):
            yield line, f"imports {name}; an answer starts no Spark"


def reads_the_clock(module: Module) -> Iterator[Breach]:
    if module.path == READS_THE_CLOCK:
        return
    for node in ast.walk(module.tree):
        match node:
            case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)) if name in CLOCKS:
                yield node.lineno, f"{name}(); the clock and the day are arguments, read once in {READS_THE_CLOCK}"
            case ast.Call(func=ast.Attribute(value=ast.Name(id="time"), attr="time")):
                yield node.lineno, f"time.time(); the clock is an argument, read once in {READS_THE_CLOCK}"


def shadows_the_standard_library(module: Module) -> Iterator[Breach]:
    name = module.name.rpartition(".")[2]
    if name in sys.stdlib_module_names:
        yield 1, f"is called {name} like a module of the standard library; spark-submit could import it instead"


def reads_files_beside_itself(module: Module) -> Iterator[Breach]:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Name) and node.id == "__file__":
            yield node.lineno, '__file__ is not a file inside a .zip; use importlib.resources.files("conf")'


def import_time_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """What runs when the module is imported: all but the bodies of functions and lambdas."""
    for child in ast.iter_child_nodes(node):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and child in node.body:
            continue
        if isinstance(node, ast.Lambda) and child is node.body:
            continue
        yield child
        yield from import_time_nodes(child)


def needs_a_session_at_import(module: Module) -> Iterator[Breach]:
    functions = {"Window"}
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ImportFrom) and node.module in {"pyspark.sql", "pyspark.sql.functions"}:
            for alias in node.names:
                if alias.name == "functions" or node.module.endswith("functions"):
                    functions.add(alias.asname or alias.name)
    for node in import_time_nodes(module.tree):
        if isinstance(node, ast.Call) and (root := root_name(node.func)) in functions:
            yield node.lineno, f"{root}… is called at import, before there is a session; put it into a function"


def root_name(node: ast.expr) -> str:
    """`F` of `F.col("x").alias("y")`."""
    while isinstance(node, ast.Attribute | ast.Call | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def methods_of(node: ast.expr) -> list[str]:
    """The names called along a chain, last first: `["rowsBetween", "orderBy", "partitionBy"]`."""
    found = []
    while isinstance(node, ast.Attribute | ast.Call | ast.Subscript):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            found.append(node.func.attr)
        node = node.func if isinstance(node, ast.Call) else node.value
    return found


def leaves_the_frame_to_spark(module: Module) -> Iterator[Breach]:
    """An ordered window without a frame is RANGE: two rows of the same millisecond see each other."""
    for function in (node for node in ast.walk(module.tree) if isinstance(node, ast.FunctionDef | ast.Module)):
        unframed = {"in_order"}  # by custom, what a parameter without a frame is called
        for node in own_nodes(function):
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    (unframed.add if is_unframed(value, unframed) else unframed.discard)(name)
                case ast.Call(func=ast.Attribute(value=what, attr="over"), args=[window]):
                    if is_unframed(window, unframed) and not OWN_FRAME & set(methods_of(what)):
                        yield node.lineno, f"over({ast.unparse(window)}) is ordered and has no rowsBetween"


def is_unframed(window: ast.expr, unframed: set[str]) -> bool:
    """Whether this is an ordered window without a frame; `unframed` are the names known to hold one."""
    methods = set(methods_of(window))
    ordered = root_name(window) in unframed or "orderBy" in methods
    return ordered and not FRAMES & methods


def own_nodes(function: ast.AST) -> Iterator[ast.AST]:
    """In source order, without those of functions inside."""
    for child in ast.iter_child_nodes(function):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield child
            yield from own_nodes(child)


def repeats_a_kind(module: Module) -> Iterator[Breach]:
    if module.path != KINDS:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Constant) and node.value in {*FindingKind, *GroupKind}:
                yield node.lineno, f"{node.value!r} is a kind of finding; take the member of {KINDS}"


def knows_a_release(module: Module) -> Iterator[Breach]:
    """40903 is a release: what changed with it stands in conf/releases.toml or conf/profiles.toml."""
    for node in ast.walk(module.tree):
        match node:
            case ast.Constant(value=int(number)) if re.fullmatch(r"[45]0[0-9]0[0-9]", str(number)) and number > 40000:
                yield node.lineno, f"{number} is a client release; name the fact in conf/releases.toml"


def is_too_long(module: Module) -> Iterator[Breach]:
    lines = module.source.count("\n")
    if lines > LONGEST_FILE:
        yield lines, f"has {lines} lines, more than {LONGEST_FILE}: it probably holds two rooms"


RULES: tuple[Callable[[Module], Iterator[Breach]], ...] = (
    imports_against_the_direction,
    transforms_with_the_lake,
    tables_import_more_than_spark,
    writes_delta_outside_the_lake,
    answers_with_spark,
    reads_the_clock,
    shadows_the_standard_library,
    reads_files_beside_itself,
    needs_a_session_at_import,
    leaves_the_frame_to_spark,
    repeats_a_kind,
    knows_a_release,
    is_too_long,
)


def longest_chain(may_import: dict[str, set[str]]) -> list[str]:
    """The longest way along the arrows.

    Raises:
        RecursionError: it goes in a circle.
    """

    def from_room(room: str) -> list[str]:
        return [room, *max((from_room(other) for other in may_import[room]), key=len, default=[])]

    return max((from_room(room) for room in may_import), key=len)


def test_the_rooms_stand_on_few_floors_and_no_chain_of_imports_is_a_circle() -> None:
    chain = longest_chain(MAY_IMPORT)
    assert len(chain) <= LONGEST_CHAIN, " -> ".join(chain)


def test_a_circle_is_found() -> None:
    with pytest.raises(RecursionError):
        longest_chain({"a": {"b"}, "b": {"a"}})


def circles(arrows: Iterable[tuple[str, str]]) -> list[set[str]]:
    """The groups of rooms that can all be reached from each other."""
    reached: dict[str, set[str]] = defaultdict(set)
    pairs = set(arrows)
    for start in {start for start, _ in pairs}:
        front = {start}
        while front := {end for begin, end in pairs if begin in front} - reached[start]:
            reached[start] |= front
    found = [{other for other in ends if start in reached[other]} for start, ends in sorted(reached.items())]
    return [circle for number, circle in enumerate(found) if circle and circle not in found[:number]]


def folder_of(name: str, flow: str) -> str:
    """`jobs.fault_latency.effects` of `jobs.fault_latency.effects.calls.X`; a module of the flow itself for itself."""
    return f"{flow}.{name.removeprefix(flow).removeprefix('.').partition('.')[0]}"


@pytest.mark.parametrize("flow", sorted(FLOWS))
def test_no_folders_of_a_flow_import_each_other(flow: str) -> None:
    arrows = [
        (folder_of(module.name, flow), folder_of(name, flow))
        for module in modules()
        if within(module.name, flow)
        for _, name in imports(module.tree)
        if within(name, flow)
    ]
    found = circles((start, end) for start, end in arrows if start != end)
    assert found == []


def test_folders_that_reach_each_other_are_a_circle() -> None:
    assert circles([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("e", "a")]) == [{"a", "b", "c"}]


def test_a_rule_allows_nothing_that_no_module_does() -> None:
    """An arrow that nobody needs any more goes from the table."""
    used = {(room_of(module.name), room_of(name)) for module in modules() for _, name in imports(module.tree)}
    unused = [(room, other) for room, others in MAY_IMPORT.items() for other in others if (room, other) not in used]
    assert unused == []


def test_little_stands_at_the_root() -> None:
    assert sorted(path.name for path in (ROOT / "jobs").iterdir() if path.suffix) == [
        "__init__.py",
        "errors.py",
        "kinds.py",
        "uri.py",
    ]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_no_module(rule: Callable[[Module], Iterator[Breach]]) -> None:
    breaches = [f"{module.path}:{line} {what}" for module in modules() for line, what in rule(module)]
    assert not breaches, "\n" + "\n".join(breaches)


BREACHES = [
    (imports_against_the_direction, "udfs/a.py", "from jobs.errors import X", 1),
    (imports_against_the_direction, "jobs/sources/a.py", "import jobs.lake.tables_io", 1),
    (imports_against_the_direction, "jobs/sources/a.py", "from jobs import lake", 1),
    (imports_against_the_direction, "jobs/sources/a.py", "from jobs.settings.model import X", 0),
    (imports_against_the_direction, "jobs/nobody/a.py", "import json", 1),
    (imports_against_the_direction, "jobs/fault_latency/effects/a.py", "from jobs.cli import X", 1),
    (transforms_with_the_lake, "jobs/fault_latency/effects/a.py", "from jobs.lake.tables_io import X", 1),
    (transforms_with_the_lake, "jobs/fault_latency/run.py", "from jobs.lake.tables_io import X", 0),
    (imports_against_the_direction, "jobs/lake/tables_io.py", "from jobs.fault_latency.job import X", 1),
    (imports_against_the_direction, "jobs/fault_latency/run.py", "from jobs.lake.tables_io import X", 0),
    (imports_against_the_direction, "jobs/fault_latency/run.py", "from jobs.cli.main import main", 1),
    (imports_against_the_direction, "jobs/fault_latency/run.py", "from . import lake", 1),
    (tables_import_more_than_spark, "jobs/tables/a.py", "import delta", 1),
    (tables_import_more_than_spark, "jobs/tables/a.py", "import json, pyspark.sql", 0),
    (writes_delta_outside_the_lake, "jobs/a.py", "rows.write.mode('x').save(p)", 1),
    (writes_delta_outside_the_lake, "jobs/a.py", "spark.read.format('delta')", 1),
    (writes_delta_outside_the_lake, "jobs/a.py", "from delta.tables import DeltaTable", 1),
    (writes_delta_outside_the_lake, "jobs/a.py", "stream.write('text')", 0),
    (answers_with_spark, "jobs/answers/a.py", "from pyspark.sql import SparkSession", 1),
    (answers_with_spark, "jobs/answers/a.py", "from pyspark.sql.types import DataType", 0),
    (answers_with_spark, "jobs/answers/a.py", "from deltalake import DeltaTable", 1),
    (answers_with_spark, "jobs/answers/delta_table.py", "from deltalake import DeltaTable", 0),
    (imports_against_the_direction, "jobs/answers/a.py", "from jobs.lake.tables_io import Lake", 1),
    (reads_the_clock, "jobs/a.py", "dt.datetime.now(dt.UTC)", 1),
    (reads_the_clock, "jobs/a.py", "F.current_timestamp()", 1),
    (reads_the_clock, "jobs/a.py", "time.time()", 1),
    (reads_the_clock, "jobs/a.py", "time.monotonic()", 0),
    (shadows_the_standard_library, "jobs/queue.py", "", 1),
    (reads_files_beside_itself, "udfs/a.py", "open(__file__)", 1),
    (needs_a_session_at_import, "udfs/a.py", "from pyspark.sql import functions as F\nX = F.col('x')", 1),
    (needs_a_session_at_import, "udfs/a.py", "from pyspark.sql.functions import col\ndef f(x=col('x')): ...", 1),
    (needs_a_session_at_import, "udfs/a.py", "from pyspark.sql import functions as F\ndef f(): F.col('x')", 0),
    (needs_a_session_at_import, "udfs/a.py", "class A:\n    w = Window.partitionBy('x')", 1),
    (needs_a_session_at_import, "udfs/a.py", "X = Window.unboundedPreceding", 0),
    (leaves_the_frame_to_spark, "udfs/a.py", "F.sum('x').over(Window.partitionBy('a').orderBy('b'))", 1),
    (leaves_the_frame_to_spark, "udfs/a.py", "w = Window.orderBy('b')\nF.sum('x').over(w)", 1),
    (leaves_the_frame_to_spark, "udfs/a.py", "p = Window.partitionBy('a')\nw = p.orderBy('b')\nF.sum('x').over(w)", 1),
    (leaves_the_frame_to_spark, "udfs/a.py", "w = Window.orderBy('b')\nF.lag('x').over(w)", 0),
    (leaves_the_frame_to_spark, "udfs/a.py", "w = Window.orderBy('b')\nv = w.rowsBetween(0, 1)\nF.sum('x').over(v)", 0),
    (leaves_the_frame_to_spark, "udfs/a.py", "w = Window.orderBy('b')\nF.sum('x').over(w.rowsBetween(0, 1))", 0),
    (leaves_the_frame_to_spark, "udfs/a.py", "F.sum('x').over(Window.partitionBy('a'))", 0),
    (leaves_the_frame_to_spark, "udfs/a.py", "def f(in_order):\n    return F.sum('x').over(in_order)", 1),
    (repeats_a_kind, "jobs/a.py", "x = 'CLOCK_STEP'", 1),
    (repeats_a_kind, "jobs/a.py", "x = 'a CLOCK_STEP'", 0),
    (repeats_a_kind, "jobs/kinds.py", "x = 'CLOCK_STEP'", 0),
    (knows_a_release, "udfs/a.py", "x = 40903", 1),
    (knows_a_release, "udfs/a.py", "x = 40000", 0),
    (is_too_long, "jobs/a.py", "x = 1\n" * 401, 1),
]


@pytest.mark.parametrize(("rule", "path", "source", "count"), BREACHES)
def test_a_rule_finds_its_breach(
    rule: Callable[[Module], Iterator[Breach]], path: str, source: str, count: int
) -> None:
    assert len(list(rule(Module(path, source)))) == count
