import java.io.PrintWriter;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.rocketmq.client.latency.LatencyFaultTolerance;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.remoting.protocol.RemotingCommand;

/**
 * Another hand than the recorder's. A wrapper in place of each producer's {@code LatencyFaultTolerance} writes what the
 * client calls to {@code truth_updates.jsonl}, with the item read back and at the client's own clock where the item
 * shows it, and what it picks to {@code truth_picks.jsonl}. A sampler writes each change of an item that it sees to
 * {@code truth_item_states.jsonl}. What a client asks of its network for an async send, once for each try, may be written
 * to {@code truth_tries.jsonl}.
 */
final class Watcher {
    /** Request codes: a message, the same with a short header, a batch. */
    private static final List<Integer> SENDS = Arrays.asList(10, 310, 320);
    private final PrintWriter calls;
    private final PrintWriter picks;
    private final PrintWriter states;
    private final PrintWriter tries;
    private final AtomicLong seq = new AtomicLong();
    private final List<Wrapper> wrappers = new ArrayList<>();
    private final Thread sampler = new Thread(this::sample, "sampler");
    private volatile boolean isClosed;

    Watcher(Path folder) throws Exception {
        calls = new PrintWriter(Files.newBufferedWriter(folder.resolve("truth_updates.jsonl")), true);
        picks = new PrintWriter(Files.newBufferedWriter(folder.resolve("truth_picks.jsonl")));
        states = new PrintWriter(Files.newBufferedWriter(folder.resolve("truth_item_states.jsonl")));
        tries = new PrintWriter(Files.newBufferedWriter(folder.resolve("truth_tries.jsonl")));
        sampler.setDaemon(true);
        sampler.start();
    }

    /** Call it before {@code producer.start()}. */
    void watch(DefaultMQProducer producer) throws Exception {
        Object strategy = strategy(producer);
        Field tolerance = field(strategy.getClass(), "latencyFaultTolerance");
        Wrapper wrapper = new Wrapper(producer, tolerance.get(strategy));
        tolerance.set(strategy, Proxy.newProxyInstance(
            Watcher.class.getClassLoader(), new Class<?>[] {LatencyFaultTolerance.class}, wrapper));
        synchronized (wrappers) {
            wrappers.add(wrapper);
        }
    }

    /** The client's own {@code LatencyFaultToleranceImpl}. */
    Object tolerance(DefaultMQProducer producer) throws Exception {
        Object strategy = strategy(producer);
        return unwrapped(field(strategy.getClass(), "latencyFaultTolerance").get(strategy));
    }

    /** What the wrappers stand before, this one's and the recorder's: each calls it its own. */
    static Object unwrapped(Object tolerance) throws ReflectiveOperationException {
        Object inner = tolerance;
        while (Proxy.isProxyClass(inner.getClass())) {
            Object wrapper = Proxy.getInvocationHandler(inner);
            inner = field(wrapper.getClass(), "own").get(wrapper);
        }
        return inner;
    }

    /** Writes each try of an async send to {@code truth_tries.jsonl}. Call it after {@code producer.start()}. */
    void watchTries(DefaultMQProducer producer) throws Exception {
        Object factory = field(implementation(producer).getClass(), "mQClientFactory").get(implementation(producer));
        Object api = field(factory.getClass(), "mQClientAPIImpl").get(factory);
        Field remoting = field(api.getClass(), "remotingClient");
        Object own = remoting.get(api);
        String clientId = producer.buildMQClientId();
        remoting.set(api, Proxy.newProxyInstance(
            Watcher.class.getClassLoader(), new Class<?>[] {remoting.getType()}, (proxy, method, args) -> {
                boolean isSend = method.getName().equals("invokeAsync") && SENDS.contains(((RemotingCommand) args[1]).getCode());
                String thrown = null;
                try {
                    return method.invoke(own, args);
                } catch (InvocationTargetException e) {
                    thrown = e.getCause().getClass().getSimpleName();
                    throw e.getCause();
                } finally {
                    if (isSend) {
                        synchronized (tries) {
                            print(tries, "client_id", clientId, "broker_addr", args[0], "thrown", thrown);
                        }
                    }
                }
            }));
    }

    private static Object strategy(DefaultMQProducer producer) throws Exception {
        Object implementation = implementation(producer);
        return field(implementation.getClass(), "mqFaultStrategy").get(implementation);
    }

    @SuppressWarnings("deprecation")
    private static Object implementation(DefaultMQProducer producer) {
        return producer.getDefaultMQProducerImpl();
    }

    private static Field field(Class<?> type, String name) throws NoSuchFieldException {
        Field field = type.getDeclaredField(name);
        field.setAccessible(true);
        return field;
    }

    private void sample() {
        while (!isClosed) {
            synchronized (wrappers) {
                for (Wrapper wrapper : wrappers) {
                    try {
                        wrapper.sample();
                    } catch (ReflectiveOperationException e) {
                        throw new IllegalStateException(e);
                    }
                }
            }
            try {
                Thread.sleep(10);
            } catch (InterruptedException e) {
                return;
            }
        }
    }

    void close() throws InterruptedException {
        isClosed = true;
        sampler.join();
        calls.close();
        picks.close();
        states.close();
        tries.close();
    }

    private static String json(Object value) {
        return value instanceof String ? '"' + (String) value + '"' : String.valueOf(value);
    }

    private static void print(PrintWriter out, Object... pairs) {
        StringBuilder line = new StringBuilder("{");
        for (int i = 0; i < pairs.length; i += 2) {
            line.append(i == 0 ? "" : ",").append(json(pairs[i])).append(':').append(json(pairs[i + 1]));
        }
        out.println(line.append('}'));
    }

    /** Passes every call on, and writes those that change an item or choose one. */
    private final class Wrapper implements InvocationHandler {
        final Object own;
        private final DefaultMQProducer producer;
        private final Map<?, ?> table;
        private final Map<Object, String> seen = new java.util.HashMap<>();

        Wrapper(DefaultMQProducer producer, Object own) throws ReflectiveOperationException {
            this.producer = producer;
            this.own = own;
            Object items = unwrapped(own);
            this.table = (Map<?, ?>) field(items.getClass(), "faultItemTable").get(items);
        }

        @Override
        public Object invoke(Object proxy, Method method, Object[] args) throws Throwable {
            String op = method.getName().equals("updateFaultItem") ? "update"
                : method.getName().equals("pickOneAtLeast") ? "pick" : method.getName();
            long before = System.currentTimeMillis();
            Object result;
            try {
                result = method.invoke(own, args);
            } catch (InvocationTargetException e) {
                throw e.getCause();
            }
            long after = System.currentTimeMillis();
            boolean isUpdate = op.equals("update");
            if (isUpdate || op.equals("remove") || (op.equals("pick") && result != null)) {
                Object broker = args == null ? result : args[0];
                Object end = isUpdate ? endOf(broker) : null;
                long own = isUpdate ? (Long) end - (Long) args[2] : before;
                synchronized (calls) {
                    print(op.equals("pick") ? picks : calls, "client_id", producer.buildMQClientId(), "producer_group", producer.getProducerGroup(),
                        "op", op, "broker_name", broker,
                        "updated_at_ms", before <= own && own <= after ? own : before, "done_at_ms", after, "current_latency_ms", isUpdate ? args[1] : null,
                        "not_available_ms", isUpdate ? args[2] : null,
                        "reachable", isUpdate && args.length > 3 ? args[3] : null,
                        "available_at_ms", end,
                        "item_reachable", isUpdate ? of(broker, "reachableFlag") : null, "seq", seq.incrementAndGet());
                }
            }
            return result;
        }

        void sample() throws ReflectiveOperationException {
            for (Object broker : table.keySet()) {
                Object start = of(broker, "startTimestamp");
                String state = String.format(Locale.ROOT, "reachable=%s", of(broker, "reachableFlag"));
                if (!(state + start).equals(seen.put(broker, state + start))) {
                    print(states, "sampled_at_ms", System.currentTimeMillis(), "client_id", producer.buildMQClientId(),
                        "broker_name", broker, "state", state, "available_at_ms", start);
                }
            }
        }

        /** 0 when another thread has removed the item meanwhile. */
        private Object endOf(Object broker) throws ReflectiveOperationException {
            Object end = of(broker, "startTimestamp");
            return end == null ? 0L : end;
        }

        private Object of(Object broker, String name) throws ReflectiveOperationException {
            Object item = table.get(broker);
            try {
                return item == null ? null : field(item.getClass(), name).get(item);
            } catch (NoSuchFieldException e) {
                return null; // the flag is there from 5.1.4 on
            }
        }
    }
}
