import faultline.recorder.Recorder;
import java.lang.reflect.Method;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.message.Message;

/**
 * {@code Load NAME_SERVER FOLDER SECONDS [RECORDED]}: producers of every kind send for a while, watched by another hand than
 * the recorder's, which is an agent that nobody here knows of, or a library that writes to the folder RECORDED.
 */
public final class Load {
    private static long endMs;
    private static Recorder recorder;

    private interface Send {
        void once(DefaultMQProducer producer, int number) throws Exception;
    }

    public static void main(String[] args) throws Exception {
        Watcher watcher = new Watcher(Paths.get(args[1]));
        recorder = args.length > 3 ? Recorder.start(args[3]) : null;
        List<DefaultMQProducer> producers = new ArrayList<>();
        List<Thread> threads = new ArrayList<>();
        endMs = System.currentTimeMillis() + Long.parseLong(args[2]) * 1_000;
        start(watcher, args[0], "sync-on", 3_000, producers, threads, 1, Load::sync);
        start(watcher, args[0], "sync-off", 3_000, producers, threads, 1, Load::sync);
        start(watcher, args[0], "async-on", 3_000, producers, threads, 1, Load::async);
        start(watcher, args[0], "oneway-on", 3_000, producers, threads, 1, (producer, number) -> producer.sendOneway(message()));
        start(watcher, args[0], "selector-on", 3_000, producers, threads, 1, (producer, number) ->
            producer.send(message(), (queues, message, key) -> queues.get((int) key % queues.size()), number));
        start(watcher, args[0], "short-on", 500, producers, threads, 1, Load::sync);
        start(watcher, args[0], "shared-on", 3_000, producers, threads, 2, Load::sync);
        start(watcher, args[0], "detector-on", 3_000, producers, threads, 1, Load::sync);
        for (Thread thread : threads) {
            thread.join();
        }
        Thread.sleep(3_500); // time-outs of async sends come this late
        for (DefaultMQProducer producer : producers) {
            producer.shutdown();
        }
        watcher.close();
        if (recorder != null) {
            recorder.close();
        }
    }

    private static Message message() {
        return new Message("load", "body".getBytes());
    }

    private static void sync(DefaultMQProducer producer, int number) throws Exception {
        producer.send(message());
    }

    private static void async(DefaultMQProducer producer, int number) throws Exception {
        producer.send(message(), new SendCallback() {
            @Override
            public void onSuccess(SendResult result) {
                // only the log counts
            }

            @Override
            public void onException(Throwable e) {
                // only the log counts
            }
        });
    }

    private static void start(Watcher watcher, String nameServer, String kind, int timeoutMs,
            List<DefaultMQProducer> producers, List<Thread> threads, int count, Send send) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer("PG_" + kind);
        producer.setNamesrvAddr(nameServer);
        producer.setVipChannelEnabled(false);
        producer.setClientIP("127.0.0.1");
        producer.setInstanceName(kind);
        producer.setSendMsgTimeout(timeoutMs);
        producer.setSendLatencyFaultEnable(kind.endsWith("-on"));
        if (kind.equals("detector-on")) {
            detect(producer);
        }
        if (recorder != null) {
            recorder.record(producer, kind.startsWith("selector") ? "CALLER" : "CLIENT");
        }
        watcher.watch(producer);
        producer.start();
        watcher.watchTries(producer);
        producers.add(producer);
        for (int i = 0; i < count; i++) {
            Thread thread = new Thread(() -> sending(producer, send), kind + "-" + i);
            threads.add(thread);
            thread.start();
        }
    }

    private static void sending(DefaultMQProducer producer, Send send) {
        for (int number = 0; System.currentTimeMillis() < endMs; number++) {
            try {
                send.once(producer, number);
            } catch (Exception e) {
                // only the log counts
            }
            try {
                Thread.sleep(10);
            } catch (InterruptedException e) {
                return;
            }
        }
    }

    /** 5.1.4 and later: by the strategy, as 5.1.4 does not pass the producer's setting on to it. */
    @SuppressWarnings("deprecation")
    private static void detect(DefaultMQProducer producer) throws Exception {
        Object implementation = producer.getDefaultMQProducerImpl();
        java.lang.reflect.Field field = implementation.getClass().getDeclaredField("mqFaultStrategy");
        field.setAccessible(true);
        Object strategy = field.get(implementation);
        for (Method method : strategy.getClass().getMethods()) {
            if (method.getName().equals("setStartDetectorEnable")) {
                method.invoke(strategy, true);
                strategy.getClass().getMethod("startDetector").invoke(strategy);
            }
        }
    }
}
