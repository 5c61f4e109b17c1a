// Refuses whatever is not a question. Compiled at start by the Janino that ships with Spark (jobs/serving/read_only.py),
// as Spark takes a check of its plans only from the JVM; written in the Java that Janino reads: no generics.

import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.InheritAnalysisRules;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;

/** Spark asks it once per session, and gets the check of that session's plans. */
public class ReadOnly extends scala.runtime.AbstractFunction1 {
    private final Check check = new Check();

    public void allow(
            java.util.Set questions, java.util.Set internal, java.util.Set expressions, java.util.Set commands,
            java.util.Map settings, java.util.Set freeSettings) {
        check.questions = questions;
        check.internal = internal;
        check.expressions = expressions;
        check.commands = commands;
        check.settings = settings;
        check.freeSettings = freeSettings;
    }

    public Object apply(Object session) {
        return check;
    }

    /** What stands in Spark's registries in the place of a function that is refused. */
    public Object refusing(String name, String reason) {
        return new Refused(name + " is refused on this server: " + reason);
    }
}

/** Builds no expression, so nothing of the function runs, not even while Spark resolves the names of a question. */
class Refused extends scala.runtime.AbstractFunction1 {
    private final String sentence;

    Refused(String sentence) {
        this.sentence = sentence;
    }

    public Object apply(Object arguments) {
        throw new SecurityException(sentence);
    }
}

/** Looks at each analyzed plan before it runs. */
class Check extends scala.runtime.AbstractFunction1 {
    java.util.Set questions;
    java.util.Set internal;
    java.util.Set expressions;
    java.util.Set commands;
    java.util.Map settings;
    java.util.Set freeSettings;

    public Object apply(Object plan) {
        nameThread();
        checkSettings();
        if (plan instanceof Command) {
            refuseUnless(commands.contains(simpleName(plan)), plan);
        } else {
            checkNode((LogicalPlan) plan);
        }
        return null;
    }

    /** A thread that plans a question is named after it (Door.work). */
    private static void nameThread() {
        String question = org.apache.spark.sql.classic.SparkSession.active().sparkContext()
            .getLocalProperty("spark.jobGroup.id");
        if (question != null) {
            Thread.currentThread().setName("question " + question);
        }
    }

    private void checkNode(LogicalPlan node) {
        boolean isInternal = internal.contains(simpleName(node));
        refuseUnless(isInternal || questions.contains(simpleName(node)), node);
        if (node instanceof LogicalRelation) {
            Object relation = ((LogicalRelation) node).relation();
            refuseUnless(relation instanceof HadoopFsRelation, relation); // no table_changes_by_path
        }
        if (!isInternal) {
            checkEach(node.expressions().iterator());
        }
        scala.collection.Iterator children = node.children().iterator();
        while (children.hasNext()) {
            checkNode((LogicalPlan) children.next());
        }
    }

    private void checkEach(scala.collection.Iterator several) {
        while (several.hasNext()) {
            checkExpression((Expression) several.next());
        }
    }

    private void checkExpression(Expression expression) {
        refuseUnless(expressions.contains(simpleName(expression)), expression);
        if (expression instanceof PlanExpression) {
            checkNode((LogicalPlan) ((PlanExpression) expression).plan());
        }
        if (expression instanceof InheritAnalysisRules) { // what a client wrote, not what Spark will run instead
            checkEach(((InheritAnalysisRules) expression).parameters().iterator());
        } else {
            checkEach(expression.children().iterator());
        }
    }

    private static String simpleName(Object what) {
        return what.getClass().getSimpleName();
    }

    private static void refuseUnless(boolean isAllowed, Object what) {
        if (!isAllowed) {
            String name = what instanceof Expression ? ((Expression) what).prettyName() + ", " : "";
            throw new SecurityException("this server answers SELECT, SHOW, DESCRIBE, EXPLAIN and USE; "
                + name + simpleName(what) + " is refused");
        }
    }

    /** A session has the server's settings; one that differs could open files to its client. */
    private void checkSettings() {
        java.util.Set foreign = new java.util.TreeSet();
        scala.collection.Iterator present = org.apache.spark.sql.internal.SQLConf.get().getAllConfs().iterator();
        while (present.hasNext()) {
            scala.Tuple2 setting = (scala.Tuple2) present.next();
            String key = (String) setting._1();
            // hive.…: clients say how they fetch; with a catalog in memory Spark reads none of them
            if (!key.startsWith("hive.") && !freeSettings.contains(key) && !setting._2().equals(settings.get(key))) {
                foreign.add(key);
            }
        }
        if (!foreign.isEmpty()) {
            throw new SecurityException("this server keeps its own settings; connect without " + foreign);
        }
    }
}
