package faultline.recorder;

import java.lang.reflect.Field;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;

/**
 * A proxy between a producer and its {@code LatencyFaultTolerance}, without the agent, that writes the client's calls.
 *
 * <p>The detector (5.1.4 and later) is inside the implementation and bypasses the proxy: the two objects that it asks
 * are wrapped, for a broker's address and whether the broker answers. Its actions follow from their answers.
 */
final class WatchedTolerance implements InvocationHandler {
    private final Object own;
    private final FaultItems items;

    private WatchedTolerance(Object own, FaultItems items) {
        this.own = own;
        this.items = items;
    }

    /**
     * Installs the proxy in the producer, or changes nothing.
     *
     * @throws ReflectiveOperationException or RuntimeException when the producer differs from releases 4.3.0 to 5.5.0
     *     or the JVM does not allow changing its fields
     */
    static void watch(Object producerImpl, ProducerLog log) throws ReflectiveOperationException {
        Object strategy = FaultItems.field(producerImpl, "mqFaultStrategy");
        List<Place> places = new ArrayList<>();
        Place tolerance = new Place(strategy, "latencyFaultTolerance");
        FaultItems items = new FaultItems(tolerance.held, log);
        if (items.haveFlag()) {
            Detector detector = new Detector(items);
            places.add(new Place(tolerance.held, "resolver").around(detector::resolved, items));
            places.add(new Place(tolerance.held, "serviceDetector").around(detector::detected, items));
        }
        places.add(tolerance.by(new WatchedTolerance(tolerance.held, items)));
        tolerance.field.getType().getMethod("isAvailable", Object.class).invoke(tolerance.proxy, ""); // can it be called?
        int taken = 0;
        try {
            for (Place place : places) {
                place.set(place.proxy);
                taken++;
            }
        } catch (ReflectiveOperationException | RuntimeException e) {
            for (Place place : places.subList(0, taken)) {
                place.set(place.held);
            }
            throw e;
        }
    }

    @Override
    public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
        Object result = call(own, method, arguments);
        try {
            switch (method.getName()) {
                case "updateFaultItem":
                    items.updated(arguments);
                    break;
                case "remove":
                    items.removed((String) arguments[0]);
                    break;
                case "pickOneAtLeast":
                    if (result != null) {
                        items.picked((String) result);
                    }
                    break;
                default: // changes nothing
            }
        } catch (Throwable e) {
            items.notStamped();
        }
        return result;
    }

    private static Object call(Object own, Method method, Object[] arguments) throws Throwable {
        try {
            return method.invoke(own, arguments);
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }

    /** Receives the result of a wrapped call. */
    private interface Answered {
        void by(Object[] arguments, Object result);
    }

    /** The detector's round, seen by its questions: an item's address, and then whether the broker answers there. */
    private static final class Detector {
        private final FaultItems items;
        private final ThreadLocal<String> broker = new ThreadLocal<>();

        Detector(FaultItems items) {
            this.items = items;
        }

        /** An item without a known broker address is removed from the table next. */
        void resolved(Object[] arguments, Object address) {
            String name = (String) arguments[0];
            if (address == null && items.has(name)) {
                items.dropped(name);
            }
            broker.set(address == null ? null : name);
        }

        /** An unreachable item whose broker answers is made reachable next. */
        void detected(Object[] arguments, Object answers) {
            String name = broker.get();
            broker.remove();
            if (Boolean.TRUE.equals(answers) && name != null && items.isUnreachable(name)) {
                items.becameReachable(name);
            }
        }
    }

    /** A field of the client, its old value, and its new one. */
    private static final class Place {
        final Object held;
        private final Object owner;
        private final Field field;
        private Object proxy;

        Place(Object owner, String name) throws ReflectiveOperationException {
            this.owner = owner;
            this.field = owner.getClass().getDeclaredField(name);
            field.setAccessible(true); // also for final fields
            this.held = field.get(owner);
        }

        /** Forwards every call, and reports its result. */
        Place around(Answered answered, FaultItems items) {
            Object asked = held;
            return by((proxy, method, arguments) -> {
                Object result = call(asked, method, arguments);
                if (method.getDeclaringClass() != Object.class) {
                    try {
                        answered.by(arguments, result);
                    } catch (Throwable e) {
                        items.notStamped();
                    }
                }
                return result;
            });
        }

        Place by(InvocationHandler handler) {
            Class<?> type = field.getType();
            proxy = held == null ? null : Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, handler);
            return this;
        }

        void set(Object value) throws IllegalAccessException {
            field.set(owner, value);
        }
    }
}
