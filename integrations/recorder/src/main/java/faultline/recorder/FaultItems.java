package faultline.recorder;

import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.Map;

/**
 * The fault items of one producer in its {@code LatencyFaultToleranceImpl}: each change by the client
 * is a line.
 *
 * <p>The number is taken before the item is read back, and the clock after. So when two threads update an item at
 * once, the line with the later number has the item's final state; and a line's state of the item was true
 * at its time, however long the thread was paused before it.
 */
final class FaultItems {
    private final ProducerLog log;
    private final Map<?, ?> table;
    private final Class<?> itemType;
    private final Method availableAt;
    private final Method reachable;

    /**
     * @param tolerance a {@code LatencyFaultToleranceImpl}
     * @throws ReflectiveOperationException when it differs from releases 4.3.0 to 5.5.0
     */
    FaultItems(Object tolerance, ProducerLog log) throws ReflectiveOperationException {
        this.log = log;
        Class<?> type = tolerance.getClass();
        Field items = type.getDeclaredField("faultItemTable");
        items.setAccessible(true);
        this.table = (Map<?, ?>) items.get(tolerance);
        this.itemType = Class.forName(type.getName() + "$FaultItem", false, type.getClassLoader());
        this.availableAt = itemType.getMethod("getStartTimestamp");
        this.availableAt.setAccessible(true);
        this.reachable = reachable(itemType);
    }

    /** {@code isReachable}, from 5.1.4; null before. */
    private static Method reachable(Class<?> itemType) {
        try {
            Method method = itemType.getMethod("isReachable");
            method.setAccessible(true);
            return method;
        } catch (NoSuchMethodException e) {
            return null;
        }
    }

    /** The producer's {@code LatencyFaultToleranceImpl}. */
    static Object toleranceOf(Object producerImpl) throws ReflectiveOperationException {
        Object strategy = field(producerImpl, "mqFaultStrategy");
        return field(strategy, "latencyFaultTolerance");
    }

    static Object field(Object owner, String name) throws ReflectiveOperationException {
        Field field = owner.getClass().getDeclaredField(name);
        field.setAccessible(true);
        return field.get(owner);
    }

    /** Whether items have a reachable flag: from 5.1.4, with the detector that sets it. */
    boolean haveFlag() {
        return reachable != null;
    }

    boolean has(String broker) {
        return table.containsKey(broker);
    }

    boolean isUnreachable(String broker) {
        return Boolean.FALSE.equals(of(table.get(broker), reachable));
    }

    /** {@code updateFaultItem} returned. Up to 5.1.3 it takes three arguments, then the flag too. */
    void updated(Object[] arguments) {
        Boolean flag = arguments.length > 3 ? (Boolean) arguments[3] : null;
        write("UPDATE", (String) arguments[0], (Long) arguments[1], (Long) arguments[2], flag, true);
    }

    /** {@code remove} returned. */
    void removed(String broker) {
        write("REMOVE", broker, null, null, null, false);
    }

    /** The detector set the flag. */
    void becameReachable(String broker) {
        write("REACHABLE", broker, null, null, true, true);
    }

    /** The detector removed the item. */
    void dropped(String broker) {
        write("DROPPED", broker, null, null, null, false);
    }

    /** No broker was available, and {@code pickOneAtLeast} chose this one. */
    void picked(String broker) {
        write("PICKED", broker, null, null, null, true);
    }

    /** Counts a change without a line. */
    void notStamped() {
        log.notStamped();
    }

    private void write(
        String op, String broker, Long currentLatencyMs, Long notAvailableMs, Boolean isReachable, boolean readBack) {
        long seq = log.nextSeq();
        if (!log.wants()) {
            return;
        }
        Object item = readBack && broker != null ? table.get(broker) : null;
        Object end = of(item, availableAt);
        Object flag = isReachable == null ? of(item, reachable) : isReachable;
        long nowMs = System.currentTimeMillis();
        log.write(Kind.FAULT_ITEM_UPDATES, log.line()
            .add("broker_name", Texts.cut(broker))
            .add("op", op)
            .add("at_ms", nowMs)
            .add("current_latency_ms", currentLatencyMs)
            .add("not_available_ms", notAvailableMs)
            .add("reachable", flag)
            .add("available_at_ms", end)
            .add("thread", Texts.cut(Thread.currentThread().getName()))
            .add("seq", seq));
    }

    private static Object of(Object item, Method getter) {
        try {
            return item == null || getter == null ? null : getter.invoke(item);
        } catch (ReflectiveOperationException e) {
            return null;
        }
    }
}
