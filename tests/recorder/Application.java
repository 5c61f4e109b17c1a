import faultline.recorder.Recorder;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

/**
 * {@code Application NAME_SERVER FOLDER [PRODUCER…]}: producers of one process send to real brokers until standard input
 * says {@code end}. What each call gave its caller goes to {@code truth_calls.jsonl}, what callbacks were given to
 * {@code truth_answers.jsonl}, what the client decided to the files of {@link Watcher}; none knows of the recorder.
 *
 * <p>PRODUCER is {@code GROUP:KIND+KIND[:TOPIC[:off]]}; a thread sends each kind, and {@code off} is the switch. Without a
 * topic each kind has its own. A line {@code topic NAME} on standard input makes the first producer send to that topic too.
 * {@code -Dpause.ms} lies between two sends of a thread; {@code -Drecorder=FOLDER} records as a library does.
 */
public final class Application {
    private static final int PAUSE_MS = Integer.getInteger("pause.ms", 20);
    private static final long LATEST_ANSWER_MS = 4_000;
    private static final String[] EVERY_KIND = {
        "PG_orders:sync", "PG_mixed:batch+oneway+async+selector", "PG_payments:transaction", "PG_asking:request",
    };

    private final String nameServer;
    private final Watcher watcher;
    private final PrintWriter calls;
    private final PrintWriter answers;
    private final Recorder recorder;
    private final List<DefaultMQProducer> producers = new ArrayList<>();
    private final List<Thread> threads = new ArrayList<>();
    private volatile boolean isOver;

    private Application(String nameServer, String folder) throws Exception {
        this.nameServer = nameServer;
        this.watcher = new Watcher(Paths.get(folder));
        this.calls = new PrintWriter(Files.newBufferedWriter(Paths.get(folder, "truth_calls.jsonl")), true);
        this.answers = new PrintWriter(Files.newBufferedWriter(Paths.get(folder, "truth_answers.jsonl")), true);
        String recorded = System.getProperty("recorder");
        this.recorder = recorded == null ? null : Recorder.start(recorded);
    }

    public static void main(String[] args) throws Exception {
        Application application = new Application(args[0], args[1]);
        for (String producer : args.length > 2 ? Arrays.copyOfRange(args, 2, args.length) : EVERY_KIND) {
            application.start(producer.split(":"));
        }
        System.out.println("> started");
        BufferedReader words = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = words.readLine(); line != null && !line.equals("end"); line = words.readLine()) {
            application.sending("sync", application.producers.get(0), line.substring(line.indexOf(' ') + 1));
            System.out.println("> " + line);
        }
        application.end();
        System.exit(0);
    }

    private interface Call {
        void send(Message message) throws Exception;
    }

    /** Group, kinds, perhaps the topic and {@code off}. */
    private void start(String[] words) throws Exception {
        List<String> kinds = Arrays.asList(words[1].split("\\+"));
        if (kinds.contains("request")) {
            if (requests() == null) {
                return;
            }
            answering();
        }
        DefaultMQProducer producer = kinds.contains("transaction") ? committing(words[0]) : new DefaultMQProducer(words[0]);
        started(producer, words.length < 4, kinds.equals(Arrays.asList("selector")));
        for (String kind : kinds) {
            sending(kind, producer, words.length > 2 ? words[2] : "T_" + kind);
        }
    }

    private static TransactionMQProducer committing(String group) {
        TransactionMQProducer producer = new TransactionMQProducer(group);
        producer.setTransactionListener(new Commit());
        return producer;
    }

    private static Call call(String kind, DefaultMQProducer producer, Answer answer) {
        switch (kind) {
            case "sync":
                return producer::send;
            case "batch":
                return message -> producer.send(Arrays.asList(message, new Message(message.getTopic(), body())));
            case "oneway":
                return producer::sendOneway;
            case "async":
                return message -> producer.send(message, answer);
            case "selector":
                return message -> producer.send(message, (queues, sent, key) -> queues.get((int) key % queues.size()), 7);
            case "transaction":
                return message -> producer.sendMessageInTransaction(message, null);
            default:
                return message -> requests().invoke(producer, message, 3_000L);
        }
    }

    private void end() throws Exception {
        isOver = true;
        for (Thread thread : threads) {
            thread.join();
        }
        Thread.sleep(LATEST_ANSWER_MS);
        for (DefaultMQProducer producer : producers) {
            producer.shutdown();
        }
        watcher.close();
        if (recorder != null) {
            recorder.close();
        }
    }

    private void started(DefaultMQProducer producer, boolean isOn, boolean choosesQueues) throws Exception {
        producer.setNamesrvAddr(nameServer);
        producer.setVipChannelEnabled(false);
        producer.setClientIP("127.0.0.1");
        producer.setInstanceName(producer.getProducerGroup() + "-" + System.nanoTime());
        producer.setCreateTopicKey("TBW102"); // 4.3.0 names another, which no server knows
        producer.setSendMsgTimeout(1_500);
        producer.setSendLatencyFaultEnable(isOn);
        if (recorder != null) {
            recorder.record(producer, choosesQueues ? "CALLER" : "CLIENT"); // before others wrap what it wraps
        }
        watcher.watch(producer);
        producer.start();
        producers.add(producer);
    }

    /** Sends to the topic on a thread of its own until the end. */
    private void sending(String kind, DefaultMQProducer producer, String topic) {
        Call call = call(kind, producer, new Answer(producer, topic));
        Thread thread = new Thread(() -> {
            while (!isOver) {
                String error = "";
                try {
                    call.send(new Message(topic, body()));
                } catch (InvocationTargetException e) {
                    error = e.getCause().getClass().getSimpleName();
                } catch (Exception e) {
                    error = e.getClass().getSimpleName();
                }
                write(calls, producer, topic, error);
                pause();
            }
        }, kind);
        threads.add(thread);
        thread.start();
    }

    private static void pause() {
        try {
            Thread.sleep(PAUSE_MS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static byte[] body() {
        return "body".getBytes();
    }

    /** Null up to 4.5.2, whose clients know no requests. */
    private static Method requests() {
        try {
            return DefaultMQProducer.class.getMethod("request", Message.class, long.class);
        } catch (NoSuchMethodException e) {
            return null;
        }
    }

    /** Answers requests, by a producer of its own. */
    private void answering() throws Exception {
        DefaultMQProducer answers = new DefaultMQProducer("PG_answering");
        started(answers, true, false);
        Method reply = Class.forName("org.apache.rocketmq.client.utils.MessageUtil")
            .getMethod("createReplyMessage", Message.class, byte[].class);
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer("CG_answering-" + System.nanoTime());
        consumer.setNamesrvAddr(nameServer);
        consumer.subscribe("T_request", "*");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            for (MessageExt message : messages) {
                try {
                    answers.send((Message) reply.invoke(null, message, body()));
                } catch (Exception e) {
                    // whoever asked waits in vain
                }
            }
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
    }

    private void write(PrintWriter out, DefaultMQProducer producer, String topic, String error) {
        synchronized (out) {
            out.println("{\"at_ms\":" + System.currentTimeMillis() + ",\"producer_group\":\"" + producer.getProducerGroup()
                + "\",\"topic\":\"" + topic + "\",\"error\":\"" + error + "\"}");
        }
    }

    /** What the callback of an async send was given. */
    private final class Answer implements SendCallback {
        private final DefaultMQProducer producer;
        private final String topic;

        Answer(DefaultMQProducer producer, String topic) {
            this.producer = producer;
            this.topic = topic;
        }

        @Override
        public void onSuccess(SendResult result) {
            write(answers, producer, topic, "");
        }

        @Override
        public void onException(Throwable e) {
            write(answers, producer, topic, e.getClass().getSimpleName());
        }
    }
}
