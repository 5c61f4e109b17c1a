"""Sessions that answer questions and do nothing else: what `faultline serve` hands to its clients."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files
from typing import Any

from pyspark.sql import SparkSession

# Nodes of an analyzed plan that a question may consist of. What is not listed is refused: TRANSFORM starts programs,
# table functions read by path, and a later Spark may bring more.
_QUESTIONS = (
    "Aggregate", "CTERelationDef", "CTERelationRef", "CommandResult", "DataSourceV2Relation", "Deduplicate",
    "Distinct", "Except", "Expand", "Filter", "Generate", "GlobalLimit", "Intersect", "Join",
    "LateralJoin", "LocalLimit", "LocalRelation", "LogicalRelation", "Offset", "OneRowRelation", "Pivot", "Project",
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
    "ShowDeltaTableColumnsCommand", "ShowFunctions", "ShowFunctionsCommand", "ShowNamespaces",
    "ShowNamespacesCommand", "ShowPartitions", "ShowPartitionsCommand", "ShowTableProperties",
    "ShowTablePropertiesCommand", "ShowTables", "ShowTablesCommand", "ShowViews", "ShowViewsCommand",
)  # fmt: skip
_FREE_SETTINGS = (
    "spark.sql.hive.version",  # the Thrift server sets these in each session itself
    "spark.sql.datetime.java8API.enabled",
    "spark.sql.binaryOutputStyle",
    "spark.sql.parquet.fieldId.read.enabled",  # Delta sets these when it reads
    "spark.sql.parquet.fieldId.write.enabled",
)
_STATIC_METHODS = ("reflect", "java_method", "try_reflect")  # functions that call any static method of the JVM


def read_only_session(spark: SparkSession, functions: Iterable[str]) -> Any:
    """A JVM session that only answers questions, as do all that are made from it; `spark` itself stays as it is.

    It changes the whole JVM (its built-in functions), so nothing else should run in this process.

    Args:
        spark: a session in which everything has been registered.
        functions: names of its temporary functions that the new sessions shall have too.
    """
    jvm: Any = spark._jvm
    session: Any = spark._jsparkSession
    registry = session.sessionState().functionRegistry()
    analysis = jvm.org.apache.spark.sql.catalyst.analysis
    builtin = analysis.FunctionRegistry.builtin()
    for name in _STATIC_METHODS:
        builtin.dropFunction(_identifier(jvm, "builtin", name))
    for name in functions:
        known = _identifier(jvm, "session", name)
        how, what = registry.lookupFunctionBuilder(known).get(), registry.lookupFunction(known).get()
        builtin.registerFunction(_identifier(jvm, "builtin", name), what, how)
    session.extensions().injectCheckRule(_check(jvm, _settings(session)))
    return session.newSession()


def _identifier(jvm: Any, schema: str, name: str) -> Any:
    some = jvm.scala.Option.apply
    return jvm.org.apache.spark.sql.catalyst.FunctionIdentifier(name, some(schema), some("system"))


def _settings(session: Any) -> dict[str, str]:
    """Every setting of a new session."""
    told = session.newSession().sessionState().conf().getAllConfs().toSeq()
    pairs = [told.apply(index) for index in range(told.size())]
    return {pair._1(): pair._2() for pair in pairs}  # noqa: SLF001 - Scala's names of a pair's halves


def _check(jvm: Any, settings: dict[str, str]) -> Any:
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.cook(files("jobs").joinpath("serving", "ReadOnly.java").read_text(encoding="utf-8"))
    check = compiler.getClassLoader().loadClass("ReadOnly").newInstance()
    check.allow({*_QUESTIONS, *_INTERNAL}, set(_COMMANDS), settings, set(_FREE_SETTINGS))
    return check
