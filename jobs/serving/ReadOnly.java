// Refuses whatever is not a question. Compiled at start by the Janino that ships with Spark (jobs/serving/read_only.py),
// as Spark takes a check of its plans only from the JVM; written in the Java that Janino reads: no generics.

/** Spark asks it once per session, and gets the check of that session's plans. */
public class ReadOnly extends scala.runtime.AbstractFunction1 {
    private final Check check = new Check();

    public void allow(
            java.util.Set questions, java.util.Set commands, java.util.Map settings, java.util.Set freeSettings) {
        check.questions = questions;
        check.commands = commands;
        check.settings = settings;
        check.freeSettings = freeSettings;
    }

    public Object apply(Object session) {
        return check;
    }
}

/** Looks at each analyzed plan before it runs. */
class Check extends scala.runtime.AbstractFunction1 {
    java.util.Set questions;
    java.util.Set commands;
    java.util.Map settings;
    java.util.Set freeSettings;

    public Object apply(Object plan) {
        org.apache.spark.sql.catalyst.plans.logical.LogicalPlan whole =
            (org.apache.spark.sql.catalyst.plans.logical.LogicalPlan) plan;
        checkSettings();
        if (whole instanceof org.apache.spark.sql.catalyst.plans.logical.Command) {
            refuseUnless(commands, whole);
            return null;
        }
        checkTree(whole);
        scala.collection.Iterator inner = whole.subqueriesAll().iterator();
        while (inner.hasNext()) {
            checkTree((org.apache.spark.sql.catalyst.plans.logical.LogicalPlan) inner.next());
        }
        return null;
    }

    private void checkTree(org.apache.spark.sql.catalyst.plans.logical.LogicalPlan node) {
        refuseUnless(questions, node);
        if (node instanceof org.apache.spark.sql.execution.datasources.LogicalRelation) {
            Object relation = ((org.apache.spark.sql.execution.datasources.LogicalRelation) node).relation();
            if (!(relation instanceof org.apache.spark.sql.execution.datasources.HadoopFsRelation)) {
                throw refusal(relation); // such as Delta's table_changes_by_path
            }
        }
        scala.collection.Iterator children = node.children().iterator();
        while (children.hasNext()) {
            checkTree((org.apache.spark.sql.catalyst.plans.logical.LogicalPlan) children.next());
        }
    }

    private void refuseUnless(java.util.Set allowed, Object node) {
        if (!allowed.contains(node.getClass().getSimpleName())) {
            throw refusal(node);
        }
    }

    private SecurityException refusal(Object what) {
        String name = what.getClass().getName();
        return new SecurityException("this server answers SELECT, SHOW, DESCRIBE, EXPLAIN and USE; "
            + name.substring(name.lastIndexOf('.') + 1) + " is refused");
    }

    /** A client may bring settings when it connects; one that differs from the server's could open files to it. */
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
