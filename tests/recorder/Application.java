import java.io.PrintWriter;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
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
 * {@code Application NAME_SERVER FOLDER}: several producers of one process send every kind of message to real brokers
 * until standard input says a line. What each call gave its caller goes to {@code truth_calls.jsonl}, what callbacks were
 * given to {@code truth_answers.jsonl}, what the client decided to the files of {@link Watcher}; none knows of the recorder.
 */
public final class Application {
    private static final int PAUSE_MS = 20;
    private static final long LATEST_ANSWER_MS = 4_000;

    private final String nameServer;
    private final Watcher watcher;
    private final PrintWriter calls;
    private final PrintWriter answers;
    private final List<DefaultMQProducer> producers = new ArrayList<>();
    private final List<Thread> threads = new ArrayList<>();
    private volatile boolean isOver;

    private Application(String nameServer, String folder) throws Exception {
        this.nameServer = nameServer;
        this.watcher = new Watcher(Paths.get(folder));
        this.calls = new PrintWriter(Files.newBufferedWriter(Paths.get(folder, "truth_calls.jsonl")), true);
        this.answers = new PrintWriter(Files.newBufferedWriter(Paths.get(folder, "truth_answers.jsonl")), true);
    }

    public static void main(String[] args) throws Exception {
        Application application = new Application(args[0], args[1]);
        application.start();
        System.out.println("> started");
        System.in.read();
        application.end();
        System.exit(0);
    }

    private interface Call {
        void send(Message message) throws Exception;
    }

    private void start() throws Exception {
        DefaultMQProducer orders = started(new DefaultMQProducer("PG_orders"));
        sending("sync", orders, orders::send);
        DefaultMQProducer mixed = started(new DefaultMQProducer("PG_mixed"));
        sending("batch", mixed, message -> mixed.send(Arrays.asList(message, new Message(message.getTopic(), body()))));
        sending("oneway", mixed, mixed::sendOneway);
        sending("async", mixed, message -> mixed.send(message, new Answer(mixed, message.getTopic())));
        sending("selector", mixed, message ->
            mixed.send(message, (queues, sent, key) -> queues.get((int) key % queues.size()), 7));
        TransactionMQProducer payments = new TransactionMQProducer("PG_payments");
        payments.setTransactionListener(new Commit());
        started(payments);
        sending("transaction", payments, message -> payments.sendMessageInTransaction(message, null));
        Method request = requests();
        if (request != null) {
            answering();
            DefaultMQProducer asking = started(new DefaultMQProducer("PG_asking"));
            sending("request", asking, message -> request.invoke(asking, message, 3_000L));
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
    }

    private <P extends DefaultMQProducer> P started(P producer) throws Exception {
        producer.setNamesrvAddr(nameServer);
        producer.setVipChannelEnabled(false);
        producer.setClientIP("127.0.0.1");
        producer.setInstanceName(producer.getProducerGroup() + "-" + System.nanoTime());
        producer.setCreateTopicKey("TBW102"); // 4.3.0 names another, which no server knows
        producer.setSendMsgTimeout(1_500);
        producer.setSendLatencyFaultEnable(true);
        watcher.watch(producer);
        producer.start();
        producers.add(producer);
        return producer;
    }

    /** Sends to the topic of this kind on a thread of its own until the end. */
    private void sending(String kind, DefaultMQProducer producer, Call call) {
        Thread thread = new Thread(() -> {
            while (!isOver) {
                String error = "";
                try {
                    call.send(new Message("T_" + kind, body()));
                } catch (InvocationTargetException e) {
                    error = e.getCause().getClass().getSimpleName();
                } catch (Exception e) {
                    error = e.getClass().getSimpleName();
                }
                write(calls, producer, "T_" + kind, error);
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
        DefaultMQProducer answers = started(new DefaultMQProducer("PG_answering"));
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
            out.println("{\"producer_group\":\"" + producer.getProducerGroup() + "\",\"topic\":\"" + topic
                + "\",\"error\":\"" + error + "\"}");
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
