import faultline.recorder.Recorder;
import java.lang.reflect.Field;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.hook.SendMessageContext;
import org.apache.rocketmq.client.hook.SendMessageHook;
import org.apache.rocketmq.client.impl.CommunicationMode;
import org.apache.rocketmq.client.impl.producer.TopicPublishInfo;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.remoting.exception.RemotingConnectException;
import org.apache.rocketmq.remoting.exception.RemotingTimeoutException;

/**
 * Drives the recorder as a library, without a broker. Each scenario sends to a topic named after it.
 *
 * <p>{@code HookDriver calls|broken-disk|bench DIR}: hook calls in the client's order, with contexts as it makes
 * them. {@code HookDriver refused DIR}: a real producer, started, whose route names two ports that nobody has.
 */
public final class HookDriver {
    private static SendMessageHook hook;

    public static void main(String[] args) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer("PG_test");
        producer.setClientIP("10.0.0.1");
        producer.setInstanceName("driver");
        producer.setSendLatencyFaultEnable(true);
        Recorder recorder = Recorder.start(args[1] + ",cluster=main");
        recorder.record(producer, args[0].equals("calls") ? "CLIENT" : null);
        recorder.record(producer); // has no effect: the producer is recorded already
        List<?> hooks = hooks(producer);
        if (hooks.size() != 1) {
            throw new AssertionError(hooks.size() + " hooks");
        }
        hook = (SendMessageHook) hooks.get(0);
        switch (args[0]) {
            case "calls":
                calls();
                break;
            case "broken-disk":
                send("broken-disk", "m1");
                break;
            case "bench":
                bench();
                break;
            default:
                refused(producer);
        }
        recorder.close();
        System.exit(0);
    }

    @SuppressWarnings("deprecation")
    private static List<?> hooks(DefaultMQProducer producer) throws Exception {
        Field hooks = producer.getDefaultMQProducerImpl().getClass().getDeclaredField("sendMessageHookList");
        hooks.setAccessible(true);
        return (List<?>) hooks.get(producer.getDefaultMQProducerImpl());
    }

    private static void calls() throws Exception {
        send("sync-ok", "m1");
        retried();
        async();
        oneway();
        renamed();
        awkwardText();
        otherHooks();
    }

    private static void send(String topic, String id) {
        SendMessageContext context = before(message(topic), CommunicationMode.SYNC, "broker-a");
        succeed(context, SendStatus.SEND_OK, id, "broker-a");
    }

    private static void retried() {
        Message message = message("sync-retried");
        SendMessageContext first = before(message, CommunicationMode.SYNC, "broker-a");
        fail(first, new RemotingTimeoutException("10.0.0.11:10911", 500));
        SendMessageContext second = before(message, CommunicationMode.SYNC, "broker-b");
        fail(second, new MQBrokerException(2, "system busy"));
        SendMessageContext third = before(message, CommunicationMode.SYNC, "broker-a");
        succeed(third, SendStatus.SLAVE_NOT_AVAILABLE, "m2", "broker-a");
        // The caller sends the same object again: a new invocation, as the last one was answered.
        SendMessageContext again = before(message, CommunicationMode.SYNC, "broker-b");
        fail(again, new InterruptedException("stopped"));
        // After an interrupt the client does not retry.
        SendMessageContext anew = before(message, CommunicationMode.SYNC, "broker-b");
        succeed(anew, SendStatus.SEND_OK, "m3", "broker-b");
        // Four failures of one object are more than one invocation's three.
        Message dead = message("sync-failed-often");
        for (int i = 0; i < 4; i++) {
            fail(before(dead, CommunicationMode.SYNC, "broker-a"), new RemotingConnectException("10.0.0.11:10911"));
        }
    }

    private static void async() throws Exception {
        SendMessageContext ok = before(message("async-ok"), CommunicationMode.ASYNC, "broker-a");
        hook.sendMessageAfter(ok); // the submit call returns
        Thread.sleep(20);
        elsewhere(() -> succeed(ok, SendStatus.SEND_OK, "m4", "broker-b")); // the client retried it there

        SendMessageContext failed = before(message("async-failed"), CommunicationMode.ASYNC, "broker-a");
        hook.sendMessageAfter(failed);
        elsewhere(() -> fail(failed, new MQClientException(
            "wait response timeout, cost=3461\nFor more information, please visit the url, https://example.org/faq",
            new RemotingTimeoutException("10.0.0.11:10911", 3000))));

        SendMessageContext overtaken = before(message("async-overtaken"), CommunicationMode.ASYNC, "broker-a");
        elsewhere(() -> succeed(overtaken, SendStatus.SEND_OK, "m5", "broker-a"));
        Thread.sleep(20);
        overtaken.setSendResult(null); // what the returning submit call does
        hook.sendMessageAfter(overtaken);

        SendMessageContext late = before(message("async-failed-overtaken"), CommunicationMode.ASYNC, "broker-a");
        elsewhere(() -> fail(late, new MQBrokerException(16, "no permission")));
        hook.sendMessageAfter(late); // the exception still stands in the context

        SendMessageContext wiped = before(message("async-wiped"), CommunicationMode.ASYNC, "broker-a");
        hook.sendMessageAfter(wiped);
        elsewhere(() -> hook.sendMessageAfter(wiped));

        SendMessageContext thrown = before(message("async-thrown"), CommunicationMode.ASYNC, "broker-a");
        fail(thrown, new RemotingConnectException("10.0.0.11:10911"));

        SendMessageContext twice = before(message("async-refused-twice"), CommunicationMode.ASYNC, "broker-a");
        fail(twice, new RemotingConnectException("10.0.0.12:10911"));
        hook.sendMessageAfter(twice);
    }

    private static void oneway() {
        hook.sendMessageAfter(before(message("oneway-ok"), CommunicationMode.ONEWAY, "broker-a"));
    }

    private static void renamed() throws Exception {
        SendMessageContext sync = before(message("renamed"), CommunicationMode.SYNC, "broker-a");
        rename(sync);
        succeed(sync, SendStatus.SEND_OK, "m6", "broker-a");
        SendMessageContext async = before(message("async-renamed"), CommunicationMode.ASYNC, "broker-a");
        hook.sendMessageAfter(async);
        rename(async);
        elsewhere(() -> succeed(async, SendStatus.SEND_OK, "m9", "broker-a"));
    }

    private static void rename(SendMessageContext context) {
        context.getMq().setBrokerName("broker-z");
        context.getMq().setQueueId(9);
        context.setBrokerAddr("10.0.0.99:10911");
        context.getMessage().setTopic("another");
    }

    private static void awkwardText() {
        SendMessageContext context = before(message("awkward"), CommunicationMode.SYNC, "broker \"é\"\\\ud83d\ude00");
        char[] tail = new char[400];
        Arrays.fill(tail, 'x');
        String odd = "a\"b\\c\n\r\t\u0000\u001f\u007f\u0085\u2028\u2029";
        fail(context, new IllegalStateException(odd + new String(tail)));
        fail(before(message("no-text"), CommunicationMode.SYNC, "broker-a"), new Exception(null, new Exception()));
    }

    private static void otherHooks() {
        SendMessageContext kept = context(message("kept-props"), CommunicationMode.SYNC, "broker-a");
        Map<String, String> props = new HashMap<>();
        props.put("other", "kept");
        kept.setProps(props);
        hook.sendMessageBefore(kept);
        if (!"kept".equals(kept.getProps().get("other"))) {
            throw new AssertionError("another hook's property is gone");
        }
        succeed(kept, SendStatus.SEND_OK, "m7", "broker-a");

        SendMessageContext lost = before(message("lost-props"), CommunicationMode.SYNC, "broker-a");
        lost.setProps(new HashMap<>());
        succeed(lost, SendStatus.SEND_OK, "m8", "broker-a");
        hook.sendMessageBefore(new SendMessageContext()); // nothing in it: must not throw
    }

    /** Sync, async and one-way sends of a real client, its retries included, to ports that refuse. */
    @SuppressWarnings({"deprecation", "unchecked"})
    private static void refused(DefaultMQProducer producer) throws Exception {
        producer.setNamesrvAddr("127.0.0.1:1");
        producer.start();
        Object client = producer.getDefaultMQProducerImpl().getmQClientFactory();
        Field addresses = client.getClass().getDeclaredField("brokerAddrTable");
        addresses.setAccessible(true);
        Map<String, HashMap<Long, String>> table = (Map<String, HashMap<Long, String>>) addresses.get(client);
        // A second after its start, and then each 30 s, the client forgets brokers that no name server told it.
        table.put("forgotten", new HashMap<>(Collections.singletonMap(0L, "127.0.0.1:4")));
        while (table.containsKey("forgotten")) {
            Thread.sleep(20);
        }
        TopicPublishInfo route = new TopicPublishInfo();
        for (String broker : new String[] {"broker-a", "broker-b"}) {
            HashMap<Long, String> master = new HashMap<>();
            master.put(0L, broker.equals("broker-a") ? "127.0.0.1:2" : "127.0.0.1:3");
            table.put(broker, master);
            route.getMessageQueueList().add(new MessageQueue("refused", broker, 0));
        }
        producer.getDefaultMQProducerImpl().getTopicPublishInfoTable().put("refused", route);
        try {
            producer.send(message("refused"));
        } catch (MQClientException expected) {
            System.out.println("sync: " + expected.getCause());
        }
        CountDownLatch failed = new CountDownLatch(1);
        try {
            producer.send(message("refused"), new SendCallback() {
                @Override
                public void onSuccess(SendResult result) {
                }

                @Override
                public void onException(Throwable e) {
                    System.out.println("async: " + e);
                    failed.countDown();
                }
            });
        } finally {
            failed.await(20, TimeUnit.SECONDS);
        }
        Thread.sleep(200); // the submit call returns after the callback
        try {
            producer.sendOneway(message("refused"));
        } catch (MQClientException | RemotingConnectException expected) {
            System.out.println("one-way: " + expected);
        }
    }

    private static void bench() throws Exception {
        int rounds = 10;
        int each = 5_000;
        for (int round = 0; round < rounds; round++) {
            long start = System.nanoTime();
            for (int i = 0; i < each; i++) {
                send("bench", "FD00000000000000000000000000000233F64E0E2F2A671726810004");
            }
            System.out.println((System.nanoTime() - start) / each + " ns per attempt");
            Thread.sleep(1_000);
        }
    }

    private static Message message(String topic) {
        return new Message(topic, "body".getBytes());
    }

    private static SendMessageContext context(Message message, CommunicationMode mode, String broker) {
        SendMessageContext context = new SendMessageContext();
        context.setProducerGroup("PG_test");
        context.setCommunicationMode(mode);
        context.setMessage(message);
        context.setMq(new MessageQueue(message.getTopic(), broker, 3));
        context.setBrokerAddr("10.0.0.11:10911");
        return context;
    }

    private static SendMessageContext before(Message message, CommunicationMode mode, String broker) {
        SendMessageContext context = context(message, mode, broker);
        hook.sendMessageBefore(context);
        return context;
    }

    private static void succeed(SendMessageContext context, SendStatus status, String id, String broker) {
        context.setSendResult(new SendResult(status, id, "offset", new MessageQueue("t", broker, 3), 7));
        hook.sendMessageAfter(context);
    }

    private static void fail(SendMessageContext context, Exception failure) {
        context.setException(failure);
        hook.sendMessageAfter(context);
    }

    private static void elsewhere(Runnable callback) throws InterruptedException {
        Thread thread = new Thread(callback, "callback");
        thread.start();
        thread.join();
    }
}
