import faultline.recorder.Recorder;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Arrays;
import org.apache.rocketmq.client.latency.LatencyFaultTolerance;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.message.Message;

/**
 * {@code Decisions NAME_SERVER FOLDER agent|library|wrapped}: a producer's fault items change, one by one, in the same way
 * each time. An agent records it, or a recorder of its own that finds the producer as it is, or wrapped by somebody else.
 */
public final class Decisions {
    private static final String[] BROKERS = {"broker-a", "broker-b"};
    private static Object implementation;
    private static boolean hasFlag;

    public static void main(String[] args) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer("PG_decisions");
        producer.setNamesrvAddr(args[0]);
        producer.setClientIP("127.0.0.1");
        producer.setInstanceName("decisions");
        producer.setVipChannelEnabled(false);
        producer.setSendLatencyFaultEnable(true);
        producer.setRetryTimesWhenSendFailed(0);
        implementation = implementationOf(producer);
        Recorder recorder = null;
        if (!args[2].equals("agent")) {
            if (args[2].equals("wrapped")) {
                wrap();
            }
            recorder = Recorder.start(args[1]);
            recorder.record(producer);
            recorder.record(producer); // changes nothing
        }
        producer.start();
        decide(producer);
        producer.shutdown();
        if (recorder != null) {
            recorder.close();
        }
        System.exit(0);
    }

    private static void decide(DefaultMQProducer producer) throws Exception {
        Object factory = value(implementation, "mQClientFactory");
        factory.getClass().getMethod("updateTopicRouteInfoFromNameServer", String.class).invoke(factory, "decisions");
        LatencyFaultTolerance<String> tolerance = tolerance();
        for (Method method : implementation.getClass().getMethods()) {
            hasFlag |= method.getName().equals("updateFaultItem") && method.getParameterCount() == 4;
        }
        System.out.println("picked " + tolerance.pickOneAtLeast()); // of none
        for (long latencyMs : new long[] {10, 700, 2_500, 5, 20_000, 60}) {
            update("broker-a", latencyMs, false, true);
        }
        System.out.println("picked " + tolerance.pickOneAtLeast()); // of one
        System.out.println("available " + tolerance.isAvailable("broker-a") + " " + tolerance.isAvailable("broker-b"));
        tolerance.remove("broker-a");
        tolerance.remove("broker-a"); // which is gone
        for (String broker : BROKERS) {
            update(broker, 3, true, false);
            update(broker, 4, true, true);
        }
        update("broker-gone", 2, true, false);
        update("broker-b", 5, true, false);
        try {
            update(null, 5, false, true);
        } catch (InvocationTargetException e) {
            System.out.println("thrown " + e.getCause().getClass().getSimpleName());
        }
        if (hasFlag) {
            rounds();
        }
        producer.send(new Message("decisions", "body".getBytes())); // whatever the client itself makes of all that
    }

    /** The detector's rounds, as its thread would run them. */
    private static void rounds() throws Exception {
        Object own = Watcher.unwrapped(tolerance());
        for (int i = 0; i < 2; i++) {
            Thread.sleep(2_500); // an item is looked at two seconds after the last look
            own.getClass().getMethod("detectByOneRound").invoke(own);
        }
    }

    private static void update(String broker, long latencyMs, boolean isolates, boolean isReachable) throws Exception {
        for (Method method : implementation.getClass().getMethods()) {
            if (method.getName().equals("updateFaultItem")) {
                Object[] all = {broker, latencyMs, isolates, isReachable};
                method.invoke(implementation, Arrays.copyOf(all, method.getParameterCount()));
            }
        }
    }

    @SuppressWarnings("deprecation")
    private static Object implementationOf(DefaultMQProducer producer) {
        return producer.getDefaultMQProducerImpl();
    }

    private static Field strategyField() throws Exception {
        Field field = value(implementation, "mqFaultStrategy").getClass().getDeclaredField("latencyFaultTolerance");
        field.setAccessible(true);
        return field;
    }

    @SuppressWarnings("unchecked")
    private static LatencyFaultTolerance<String> tolerance() throws Exception {
        return (LatencyFaultTolerance<String>) strategyField().get(value(implementation, "mqFaultStrategy"));
    }

    private static Object value(Object owner, String name) throws Exception {
        Field field = owner.getClass().getDeclaredField(name);
        field.setAccessible(true);
        return field.get(owner);
    }

    /** Somebody else's wrapper, which passes every call on. */
    private static void wrap() throws Exception {
        Object own = tolerance();
        strategyField().set(value(implementation, "mqFaultStrategy"), Proxy.newProxyInstance(
            Decisions.class.getClassLoader(), new Class<?>[] {LatencyFaultTolerance.class}, new Passing(own)));
    }

    private static final class Passing implements InvocationHandler {
        private final Object own;

        Passing(Object own) {
            this.own = own;
        }

        @Override
        public Object invoke(Object proxy, Method method, Object[] args) throws Throwable {
            try {
                return method.invoke(own, args);
            } catch (InvocationTargetException e) {
                throw e.getCause();
            }
        }
    }
}
