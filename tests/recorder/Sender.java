import java.lang.management.ManagementFactory;
import java.lang.ref.WeakReference;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import javax.management.Attribute;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageQueue;

/**
 * An application that knows nothing of the recorder: real producers that send to a name server's brokers.
 *
 * <p>{@code Sender NAME_SERVER FOLDER SCENARIO}. A {@link Watcher} writes to the folder what the client calls on its
 * {@code LatencyFaultTolerance}.
 */
public final class Sender {
    private static Watcher watcher;

    public static void main(String[] args) throws Exception {
        watcher = new Watcher(Paths.get(args[1]));
        DefaultMQProducer producer = started(new DefaultMQProducer("PG_plain"), args[0], true);
        DefaultMQProducer off = started(new DefaultMQProducer("PG_off"), args[0], false);
        switch (args[2]) {
            case "kinds":
                kinds(producer, off);
                transaction(args[0]);
                break;
            case "sync":
                for (int i = 0; i < 40; i++) {
                    send(producer, new Message("sync", "body".getBytes()));
                }
                break;
            case "tries":
                tries(producer);
                break;
            case "detector":
                detector(producer);
                break;
            case "switched":
                switched(producer);
                break;
            case "forgotten":
                forgotten();
                break;
            default:
                forever(producer);
        }
        producer.shutdown();
        off.shutdown();
        watcher.close();
    }

    /** One send of each kind, to a topic named after it. */
    private static void kinds(DefaultMQProducer producer, DefaultMQProducer off) throws Exception {
        send(producer, message("sync"));
        producer.send(message("selector"), (queues, message, key) -> queues.get((int) key), 3);
        producer.send(message("object-key"), (queues, message, key) -> queues.get(0), new Object());
        MessageQueue queue = producer.fetchPublishMessageQueues("given").get(0);
        producer.send(message("given"), queue);
        producer.send(Arrays.asList(message("batch"), message("batch")));
        producer.sendOneway(message("oneway"));
        producer.sendOneway(message("oneway-selector"), (queues, message, key) -> queues.get(0), "order-7");
        async(done -> producer.send(message("async"), done));
        async(done -> producer.send(message("async-selector"), (queues, message, key) -> queues.get(0), 9L, done));
        MessageQueue other = producer.fetchPublishMessageQueues("async-given").get(0);
        async(done -> producer.send(message("async-given"), other, done));
        send(off, message("off"));
    }

    private static void transaction(String nameServer) throws Exception {
        TransactionMQProducer producer = new TransactionMQProducer("PG_transaction");
        producer.setTransactionListener(new Commit());
        started(producer, nameServer, true);
        producer.sendMessageInTransaction(message("transaction"), null);
        producer.shutdown();
    }

    /** Async sends one by one, most by a queue of the client's choice; what a callback throws changes nothing. */
    private static void tries(DefaultMQProducer producer) throws Exception {
        send(producer, message("tries")); // the route is known, so no async send runs out of time before its first try
        watcher.watchTries(producer);
        producer.setSendMsgTimeout(1_500);
        for (int i = 0; i < 30; i++) {
            int number = i;
            try {
                if (i % 5 == 4) {
                    async(done -> producer.send(
                        message("tries"), (queues, message, key) -> queues.get(number % queues.size()), number, thrower(done)));
                } else {
                    async(done -> producer.send(message("tries"), thrower(done)));
                }
            } catch (Exception e) {
                System.out.println("thrown " + e.getClass().getSimpleName()); // up to 4.9.2, of a selector's send
            }
        }
    }

    private static SendCallback thrower(SendCallback done) {
        return new SendCallback() {
            @Override
            public void onSuccess(SendResult result) {
                done.onSuccess(result);
                throw new IllegalStateException("the application's own");
            }

            @Override
            public void onException(Throwable e) {
                done.onException(e);
                throw new IllegalStateException("the application's own");
            }
        };
    }

    /** The detector's round, as its thread would run it, over items that a wrapper has made unreachable. */
    private static void detector(DefaultMQProducer producer) throws Exception {
        send(producer, message("sync"));
        Object own = watcher.tolerance(producer);
        java.lang.reflect.Method update = own.getClass().getMethod(
            "updateFaultItem", String.class, long.class, long.class, boolean.class);
        update.invoke(own, "broker-a", 10L, 60_000L, false);
        update.invoke(own, "broker-gone", 10L, 60_000L, false);
        Thread.sleep(2_500); // an item is looked at two seconds after its last change at the earliest
        own.getClass().getMethod("detectByOneRound").invoke(own);
        own.getClass().getMethod("detectByOneRound").invoke(own);
    }

    /** Ten sends recorded, ten not, ten recorded: by the switch of the recorder's bean, whose counts are printed. */
    private static void switched(DefaultMQProducer producer) throws Exception {
        MBeanServer server = ManagementFactory.getPlatformMBeanServer();
        ObjectName bean = server.queryNames(new ObjectName("faultline:type=Recorder,*"), null).iterator().next();
        for (boolean recording : new boolean[] {true, false, true}) {
            server.setAttribute(bean, new Attribute("Recording", recording));
            for (int i = 0; i < 10; i++) {
                send(producer, message("sync"));
            }
        }
        Thread.sleep(1_000); // the writing thread is done
        for (String name : new String[] {"Recording", "Producers", "Sends", "FaultItemUpdates", "SwitchedOff", "LostOnDisk"}) {
            System.out.println(name + " " + server.getAttribute(bean, name));
        }
    }

    /** Producers that nobody uses any more are not held by the recorder. */
    private static void forgotten() throws Exception {
        List<WeakReference<Object>> made = new ArrayList<>();
        for (int i = 0; i < 50; i++) {
            made.add(new WeakReference<>(new DefaultMQProducer("PG_" + i)));
        }
        for (int i = 0; i < 20 && made.stream().anyMatch(each -> each.get() != null); i++) {
            System.gc();
            Thread.sleep(100);
        }
        System.out.println(made.stream().filter(each -> each.get() != null).count() + " are held");
    }

    private static void forever(DefaultMQProducer producer) throws Exception {
        System.out.println("started");
        for (int i = 0; ; i++) {
            send(producer, message("forever"));
        }
    }

    private static void send(DefaultMQProducer producer, Message message) {
        try {
            producer.send(message);
        } catch (Exception e) {
            System.out.println(e.getClass().getSimpleName());
        }
    }

    private interface Async {
        void send(SendCallback done) throws Exception;
    }

    private static void async(Async send) throws Exception {
        CountDownLatch done = new CountDownLatch(1);
        send.send(new SendCallback() {
            @Override
            public void onSuccess(SendResult result) {
                done.countDown();
            }

            @Override
            public void onException(Throwable e) {
                System.out.println(e);
                done.countDown();
            }
        });
        done.await(20, TimeUnit.SECONDS);
        Thread.sleep(100); // the callback may come before the submit call returns
    }

    private static Message message(String topic) {
        return new Message(topic, "body".getBytes());
    }

    private static <P extends DefaultMQProducer> P started(P producer, String nameServer, boolean enabled)
        throws Exception {
        producer.setNamesrvAddr(nameServer);
        producer.setVipChannelEnabled(false);
        producer.setSendLatencyFaultEnable(enabled);
        producer.setInstanceName(producer.getProducerGroup());
        producer.setSendMsgTimeout(4_000);
        watcher.watch(producer);
        producer.start();
        return producer;
    }
}
