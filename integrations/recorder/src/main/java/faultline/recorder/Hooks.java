package faultline.recorder;

import java.lang.ref.WeakReference;
import java.util.Collections;
import java.util.Map;
import java.util.WeakHashMap;

/**
 * Called by the agent's advice from the client's methods. Public, as these calls are in the client's classes.
 *
 * <p>Nothing is thrown from here: the client continues as without the agent.
 */
public final class Hooks {
    private static volatile Recorder recorder;
    /** By {@code LatencyFaultToleranceImpl}; weak on both sides, as the producer's own hook holds its log. */
    private static final Map<Object, WeakReference<ProducerLog>> LOGS = Collections.synchronizedMap(new WeakHashMap<>());
    /** The detector's round that this thread is in. */
    private static final ThreadLocal<FaultItems> ROUND = new ThreadLocal<>();

    /** By the class of a send's context. */
    private static final ClassValue<ClientSide> SIDES = new ClassValue<ClientSide>() {
        @Override
        protected ClientSide computeValue(Class<?> type) {
            try {
                return ClientSide.of(type.getClassLoader());
            } catch (ReflectiveOperationException e) {
                throw new IllegalStateException(e);
            }
        }
    };

    private Hooks() {
    }

    static void use(Recorder agents) {
        recorder = agents;
    }

    /** A {@code DefaultMQProducerImpl} was created. */
    public static void producerMade(Object producerImpl) {
        try {
            ClientSide side = ClientSide.of(producerImpl.getClass().getClassLoader());
            ProducerLog log = recorder.attach(side, producerImpl, null, true);
            if (log != null) {
                Object tolerance = FaultItems.toleranceOf(producerImpl);
                log.keep(new FaultItems(tolerance, log));
                LOGS.put(tolerance, new WeakReference<>(log));
            }
        } catch (Throwable e) {
            System.err.println("faultline-recorder: cannot record a producer: " + e);
        }
    }

    /** Null for a producer that is not recorded. */
    private static FaultItems itemsOf(Object tolerance) {
        WeakReference<ProducerLog> reference = LOGS.get(tolerance);
        ProducerLog log = reference == null ? null : reference.get();
        return log == null ? null : log.items();
    }

    /** {@code sendDefaultImpl} was entered: the client chooses the queues of this message. */
    public static void sendBegins(Object message) {
        Invocation.begin(message);
    }

    public static void sendEnds() {
        Invocation.end();
    }

    /** A selector is about to choose a queue for this message by this argument. */
    public static void selectorGiven(Object message, Object argument) {
        if (recorder.options.orderKeys) {
            Invocation.keep(message, argument);
        }
    }

    /** {@code sendMessageAsync} was entered; {@link #tryLeft} is given what this returns. */
    public static SubmitCall tryBegins(Object context, String brokerName, String brokerAddr) {
        try {
            return context == null ? null : SIDES.get(context.getClass()).tryBegins(context, brokerName, brokerAddr);
        } catch (Throwable e) {
            recorder.counts.notStamped();
            return null;
        }
    }

    public static void tryLeft(SubmitCall call, Throwable thrown) {
        try {
            if (call != null) {
                call.returned(thrown);
            }
        } catch (Throwable e) {
            recorder.counts.notStamped();
        }
    }

    /** {@code onExceptionImpl} was entered. */
    public static void tryFails(Object context, String brokerName, Exception failure) {
        long nowMs = System.currentTimeMillis();
        try {
            if (context != null) {
                SIDES.get(context.getClass()).tryFails(context, brokerName, failure, nowMs);
            }
        } catch (Throwable e) {
            recorder.counts.notStamped();
        }
    }

    /** {@code updateFaultItem} returned. */
    public static void itemUpdated(Object tolerance, Object[] arguments) {
        try {
            FaultItems items = itemsOf(tolerance);
            if (items != null) {
                items.updated(arguments);
            }
        } catch (Throwable e) {
            recorder.counts.notStamped();
        }
    }

    /** {@code remove} returned. */
    public static void itemRemoved(Object tolerance, String broker) {
        try {
            FaultItems items = itemsOf(tolerance);
            if (items != null) {
                items.removed(broker);
            }
        } catch (Throwable e) {
            recorder.counts.notStamped();
        }
    }

    /** {@code pickOneAtLeast} returned. */
    public static void brokerPicked(Object tolerance, String broker) {
        try {
            FaultItems items = itemsOf(tolerance);
            if (items != null && broker != null) {
                items.picked(broker);
            }
        } catch (Throwable e) {
            recorder.counts.notStamped();
        }
    }

    /** {@code detectByOneRound} was entered on this thread. */
    public static void roundBegins(Object tolerance) {
        ROUND.set(itemsOf(tolerance));
    }

    public static void roundEnds() {
        ROUND.remove();
    }

    /** Replaces the table's {@code remove} in {@code detectByOneRound}, with the same effect. */
    public static Object drop(Map<Object, Object> table, Object broker) {
        Object item = table.remove(broker);
        try {
            FaultItems items = ROUND.get();
            if (items != null && item != null) {
                items.dropped((String) broker);
            }
        } catch (Throwable e) {
            recorder.counts.notStamped();
        }
        return item;
    }

    /** The flag of this item was set, by the detector when a round is under way on this thread. */
    public static void flagSet(Object item, boolean reachable) {
        try {
            FaultItems items = ROUND.get();
            if (items != null && reachable) {
                items.becameReachable((String) item.getClass().getMethod("getName").invoke(item));
            }
        } catch (Throwable e) {
            recorder.counts.notStamped();
        }
    }
}
