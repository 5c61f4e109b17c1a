"""Sessions that answer questions and do nothing else: what `faultline serve` hands to its clients."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from importlib.resources import files
from typing import Any

from pyspark.sql import SparkSession

from jobs.serving.words import read_words

# Nodes of an analyzed plan that a question may consist of; its expressions and functions stand in `words.toml`. What is
# not listed is refused: TRANSFORM starts programs, and a later Spark may bring more.
_QUESTIONS = (
    "Aggregate", "CTERelationDef", "CTERelationRef", "CommandResult", "DataSourceV2Relation", "Deduplicate",
    "Distinct", "Except", "Expand", "Filter", "Generate", "GlobalLimit", "Intersect", "Join", "LateralJoin",
    "LocalLimit", "LocalRelation", "LogicalRelation", "Offset", "OneRowRelation", "PipeOperator", "Pivot", "Project",
    "Range", "Repartition", "RepartitionByExpression", "ResolvedHint", "Sample", "Sort", "SubqueryAlias", "Union",
    "UnionLoop", "UnionLoopRef", "View", "Window", "WithCTE",
)  # fmt: skip
# What Spark and Delta build for themselves on the way to an answer; no SQL text leads to these.
_INTERNAL = (
    "AppendColumns", "CollectMetrics", "DeserializeToObject", "LogicalRDD", "MapElements", "MapGroups", "MapPartitions",
    "SerializeFromObject", "TypedFilter",
)  # fmt: skip
_COMMANDS = (
    "DescribeColumn", "DescribeColumnCommand", "DescribeDatabaseCommand", "DescribeFunction",
    "DescribeFunctionCommand", "DescribeNamespace", "DescribeQueryCommand", "DescribeRelation",
    "DescribeTableCommand", "ExplainCommand", "SetCatalogAndNamespace", "SetNamespaceCommand", "ShowCatalogsCommand",
    "ShowColumns", "ShowColumnsCommand", "ShowCreateTable", "ShowCreateTableCommand", "ShowCurrentNamespaceCommand",
    "ShowDeltaPartitionsCommand", "ShowDeltaTableColumnsCommand", "ShowFunctions", "ShowFunctionsCommand",
    "ShowNamespaces", "ShowNamespacesCommand", "ShowPartitions", "ShowPartitionsCommand", "ShowTableProperties",
    "ShowTablePropertiesCommand", "ShowTables", "ShowTablesCommand", "ShowViews", "ShowViewsCommand",
)  # fmt: skip
_FREE_SETTINGS = (
    "spark.sql.hive.version",  # the Thrift server sets these in each session itself
    "spark.sql.datetime.java8API.enabled",
    "spark.sql.binaryOutputStyle",
    "spark.sql.parquet.fieldId.read.enabled",  # Delta sets these when it reads
    "spark.sql.parquet.fieldId.write.enabled",
)


def read_only_session(spark: SparkSession, functions: Iterable[str]) -> Any:
    """A JVM session that only answers questions, as do all that are made from it; `spark` itself stays as it is.

    It changes the whole JVM (its built-in functions), so nothing else should run in this process.

    Args:
        spark: a session in which everything has been registered.
        functions: names of its temporary functions that the new sessions shall have too.
    """
    jvm: Any = spark._jvm
    session: Any = spark._jsparkSession
    analysis = jvm.org.apache.spark.sql.catalyst.analysis
    check = compiled(jvm, "ReadOnly").newInstance()
    fresh, extensions = session.newSession().sessionState(), session.extensions()
    scalar, table = analysis.FunctionRegistry.builtin(), analysis.TableFunctionRegistry.builtin()
    classes = _keep_allowed(jvm, check, scalar, fresh.functionRegistry(), extensions.injectFunction)
    classes |= _keep_allowed(jvm, check, table, fresh.tableFunctionRegistry(), extensions.injectTableFunction)
    registry = session.sessionState().functionRegistry()
    for name in functions:
        known = _identifier(jvm, "session", name)
        how, what = registry.lookupFunctionBuilder(known).get(), registry.lookupFunction(known).get()
        scalar.registerFunction(_identifier(jvm, "builtin", name), what, how)
    check.allow(
        set(_QUESTIONS),
        set(_INTERNAL),
        {*classes, *read_words().expressions},
        set(_COMMANDS),
        _settings(session),
        set(_FREE_SETTINGS),
    )
    extensions.injectCheckRule(check)
    return session.newSession()


def compiled(jvm: Any, name: str) -> Any:
    """The class of `jobs/serving/<name>.java`."""
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.cook(files("jobs").joinpath("serving", f"{name}.java").read_text(encoding="utf-8"))
    return compiler.getClassLoader().loadClass(name)


def _keep_allowed(jvm: Any, check: Any, builtin: Any, of_session: Any, inject: Callable[[Any], None]) -> set[str]:
    """Put a refusal in the place of each function that is not allowed; the classes that the others are named after."""
    words = read_words()
    classes = set()
    for identifier in _each(of_session.listFunction()):
        name, about = identifier.funcName(), of_session.lookupFunction(identifier).get()
        reason = words.why_not(name)
        if reason is None:
            classes.add(about.getClassName().rsplit(".", 1)[1])
        else:
            refusal = check.refusing(name, reason)
            builtin.registerFunction(identifier, about, refusal)
            # again for each session, in the place of those that Delta brings to it
            inject(jvm.scala.Tuple3(jvm.org.apache.spark.sql.catalyst.FunctionIdentifier(name), about, refusal))
    return classes


def _each(values: Any) -> Iterator[Any]:
    """The values of a sequence of Scala."""
    yield from (values.apply(index) for index in range(values.size()))


def _identifier(jvm: Any, schema: str, name: str) -> Any:
    some = jvm.scala.Option.apply
    return jvm.org.apache.spark.sql.catalyst.FunctionIdentifier(name, some(schema), some("system"))


def _settings(session: Any) -> dict[str, str]:
    """Every setting of a new session."""
    pairs = _each(session.newSession().sessionState().conf().getAllConfs().toSeq())
    return {pair._1(): pair._2() for pair in pairs}  # noqa: SLF001 - Scala's names of a pair's halves
