package faultline;

import java.io.IOException;
import java.io.OutputStream;
import java.lang.management.ManagementFactory;
import java.lang.ref.WeakReference;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.client.hook.SendMessageContext;
import org.apache.rocketmq.client.hook.SendMessageHook;
import org.apache.rocketmq.client.impl.CommunicationMode;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.common.MQVersion;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageQueue;

/**
 * Writes one JSON line per send attempt of one producer: what Faultline reads as {@code sends}.
 *
 * <pre>
 * producer.getDefaultMQProducerImpl().registerSendMessageHook(
 *     new FaultlineSendHook(producer, Paths.get("/var/log/app/sends")));
 * </pre>
 *
 * <p>For the Java remoting clients 4.3.0 to 5.3.x, Java 8 or later. One hook per producer.
 *
 * <p><b>It never blocks or fails a send.</b> The sending thread builds the line and offers it to a bounded
 * queue; one daemon thread writes. A full queue or a broken disk loses lines, never sends. A line lost after
 * its {@code seq} was taken leaves a gap in {@code seq}, and {@code <directory>-counters.jsonl}, beside the
 * folder and not in it, counts the losses.
 */
public final class FaultlineSendHook implements SendMessageHook, AutoCloseable {
    private static final int QUEUE_LINES = 8192;
    private static final int TEXT_CHARS = 300;

    private final DefaultMQProducer producer;
    private final String cluster;
    private final String queueChosenBy;
    private final String clientVersion;
    private final String processId;
    private final Object faultStrategy;
    private final Method detectorSwitch;
    private final LineFile lines;

    /** Order in which this producer's attempts ended. Every number belongs to one line. */
    private final AtomicLong seq = new AtomicLong();
    private final AtomicLong invokeIds = new AtomicLong();
    /** The sync send that this thread made last: see {@link #number}. */
    private final ThreadLocal<SyncCall> lastSyncCall = new ThreadLocal<>();
    private volatile String clientId;

    public FaultlineSendHook(DefaultMQProducer producer, Path directory) {
        this(producer, directory, null, null);
    }

    /**
     * @param producer the producer that this hook is registered on
     * @param directory where the hourly files go; made when missing
     * @param cluster the RocketMQ cluster's name, or null: then Faultline takes its setting
     * @param queueChosenBy {@code CALLER} when this producer sends with a selector or to a queue it names,
     *     {@code CLIENT} when it never does, null when unknown. The hook cannot see it.
     */
    public FaultlineSendHook(DefaultMQProducer producer, Path directory, String cluster, String queueChosenBy) {
        String[] pidAndHost = ManagementFactory.getRuntimeMXBean().getName().split("@", 2);
        this.producer = producer;
        this.cluster = cluster;
        this.queueChosenBy = queueChosenBy;
        this.clientVersion = version(MQVersion.getVersionDesc(MQVersion.CURRENT_VERSION));
        // The hook's start, not the JVM's: fault items die with the producer, also inside a living process.
        this.processId = pidAndHost[0] + "@" + System.currentTimeMillis();
        this.faultStrategy = faultStrategy(producer);
        this.detectorSwitch = detectorSwitch(faultStrategy);
        this.lines = new LineFile(directory, pidAndHost[pidAndHost.length - 1] + "-" + pidAndHost[0], processId);
    }

    @Override
    public String hookName() {
        return "FaultlineSendHook";
    }

    /** Stamps the attempt, and copies what the client may change during the send. */
    @Override
    public void sendMessageBefore(SendMessageContext context) {
        try {
            Attempt attempt = new Attempt(this, context.getProps());
            MessageQueue queue = context.getMq();
            // The queue is a live object of the route: up to 5.1.3, except 4.9.8, the client's own fallback may
            // rename it while the send is under way. Address and queue id stay those that the message went to.
            attempt.brokerName = queue.getBrokerName();
            attempt.queueId = queue.getQueueId();
            attempt.brokerAddr = context.getBrokerAddr();
            attempt.topic = context.getMessage().getTopic();
            attempt.mode = context.getCommunicationMode();
            number(attempt, context.getMessage());
            context.setProps(attempt);
            attempt.startedAtMs = System.currentTimeMillis();
        } catch (RuntimeException e) {
            lines.notStamped.incrementAndGet();
        }
    }

    @Override
    public void sendMessageAfter(SendMessageContext context) {
        long nowMs = System.currentTimeMillis();
        try {
            if (!(context.getProps() instanceof Attempt) || ((Attempt) context.getProps()).owner != this) {
                lines.notStamped.incrementAndGet(); // another hook replaced the map
                return;
            }
            Attempt attempt = (Attempt) context.getProps();
            if (attempt.mode == CommunicationMode.ASYNC) {
                afterAsync(attempt, context, nowMs);
            } else {
                // The update of the fault item that follows asks the queue for its name again: if it was renamed
                // meanwhile, that other broker is charged. An async callback has kept the name of the start.
                attempt.brokerName = context.getMq().getBrokerName();
                end(attempt, context, nowMs);
                lines.offer(json(attempt));
            }
        } catch (RuntimeException e) {
            lines.notStamped.incrementAndGet();
        }
    }

    /**
     * An async send comes here twice, mostly from two threads and in either order: when the submit call returns,
     * and when the answer or the failure is there. One line is written, when both are known.
     *
     * <p>The context is shared by the two, so what it holds does not tell which one this is: the submit call
     * sets the result to null, perhaps after the callback has set it, and leaves the callback's exception
     * standing. The submit call's return is the first call on the submitting thread that brings no new failure.
     *
     * <p>A failure on the submitting thread is written at once, without submitted_at_ms: up to 4.9.2 nothing
     * follows it. From 4.9.3 the client's failure handler ran inside the submit call, which then returns with the
     * same exception: that is a second line, as the client updates the fault item a second time there.
     */
    private void afterAsync(Attempt attempt, SendMessageContext context, long nowMs) {
        synchronized (attempt) {
            boolean onSubmitThread = Thread.currentThread().getId() == attempt.threadId && !attempt.submitReturned;
            if (onSubmitThread && attempt.failedAtSubmit) {
                attempt.submitReturned = true;
                end(attempt, context, nowMs);
                lines.offer(json(attempt));
            } else if (onSubmitThread && (attempt.ended || context.getException() == null)) {
                attempt.submitReturned = true;
                attempt.submittedAtMs = nowMs;
                if (attempt.ended) {
                    lines.offer(json(attempt)); // the callback overtook the submit call
                }
            } else if (!attempt.ended) {
                attempt.failedAtSubmit = onSubmitThread;
                end(attempt, context, nowMs);
                if (attempt.submitReturned || attempt.failedAtSubmit) {
                    lines.offer(json(attempt));
                }
            }
        }
    }

    /**
     * Gives the attempt its invoke id and number.
     *
     * <p>The client repeats a sync send on the caller's thread, with the caller's Message object, at once, and
     * only after an exception or, if so configured, a status other than SEND_OK. So an attempt continues the
     * thread's last call when all that holds and the producer's retries are not used up. A caller that sends
     * the same object again by itself after a failure is counted into the same invoke id until they are.
     * Async retries and one-way sends do not come here one by one: each is attempt 1 of its own id.
     */
    private void number(Attempt attempt, Message message) {
        boolean mayBeRetried = attempt.mode == CommunicationMode.SYNC && !"CALLER".equals(queueChosenBy);
        SyncCall call = mayBeRetried ? lastSyncCall.get() : null;
        if (call == null || !call.retryMayFollow || call.message.get() != message
                || call.attempt > producer.getRetryTimesWhenSendFailed()) {
            call = new SyncCall(message, invokeIds.incrementAndGet());
        }
        call.attempt++;
        call.retryMayFollow = false;
        attempt.call = call;
        attempt.invokeId = call.invokeId;
        attempt.number = call.attempt;
        if (mayBeRetried) {
            lastSyncCall.set(call);
        }
    }

    private void end(Attempt attempt, SendMessageContext context, long nowMs) {
        attempt.ended = true;
        attempt.endedAtMs = nowMs;
        attempt.seq = seq.incrementAndGet();
        attempt.producerGroup = context.getProducerGroup();
        Exception failure = context.getException();
        SendResult result = context.getSendResult();
        if (failure != null) {
            attempt.outcome = failure.getClass().getSimpleName();
            attempt.error = bounded(failure.getMessage());
            Throwable cause = failure.getCause();
            if (cause != null) {
                attempt.cause = cause.getClass().getSimpleName();
                attempt.error = joined(attempt.error, bounded(cause.getMessage())); // names the address tried last
            }
            if (failure instanceof MQBrokerException) {
                attempt.responseCode = ((MQBrokerException) failure).getResponseCode();
            }
            attempt.call.retryMayFollow = !(failure instanceof InterruptedException);
        } else if (result != null) {
            attempt.outcome = result.getSendStatus().name();
            attempt.msgId = bounded(result.getMsgId());
            if (result.getMessageQueue() != null) {
                attempt.resultBrokerName = result.getMessageQueue().getBrokerName();
            }
            attempt.call.retryMayFollow =
                result.getSendStatus() != SendStatus.SEND_OK && producer.isRetryAnotherBrokerWhenNotStoreOK();
        } else if (attempt.mode == CommunicationMode.ONEWAY) {
            attempt.outcome = "SENT";
        } else if (attempt.mode == CommunicationMode.ASYNC) {
            // Seen once in 20,000 async sends: an answer came, the returning submit call has wiped the result.
            attempt.outcome = SendStatus.SEND_OK.name();
            attempt.error = "answered; the client wiped the result before the hook saw it, SEND_OK assumed";
        }
    }

    private String json(Attempt attempt) {
        return new JsonLine()
            .add("client_id", clientId())
            .add("producer_group", attempt.producerGroup)
            .add("process_id", processId)
            .add("cluster", cluster)
            .add("topic", attempt.topic)
            .add("broker_name", attempt.brokerName)
            .add("broker_addr", attempt.brokerAddr)
            .add("queue_id", attempt.queueId)
            .add("client_version", clientVersion)
            .add("client_language", "JAVA")
            .add("mode", attempt.mode.name())
            .add("invoke_id", attempt.invokeId)
            .add("attempt", attempt.number)
            .add("started_at_ms", attempt.startedAtMs)
            .add("ended_at_ms", attempt.endedAtMs)
            .add("latency_ms", Math.max(0, attempt.endedAtMs - attempt.startedAtMs)) // the clock may be set back
            .add("submitted_at_ms", attempt.submittedAtMs)
            .add("result_broker_name", attempt.resultBrokerName)
            .add("outcome", attempt.outcome)
            .add("cause", attempt.cause)
            .add("response_code", attempt.responseCode)
            .add("error", attempt.error)
            .add("msg_id", attempt.msgId)
            .add("thread", attempt.thread)
            .add("queue_chosen_by", queueChosenBy)
            .add("seq", attempt.seq)
            .add("fault_latency_enabled", producer.isSendLatencyFaultEnable())
            .add("detector_enabled", detectorEnabled())
            .end();
    }

    /** Known only once the producer has started: starting may change its instance name. */
    private String clientId() {
        if (clientId == null) {
            clientId = producer.buildMQClientId();
        }
        return clientId;
    }

    /** Asks the strategy itself: 5.1.4 does not pass the producer's setting on to it. Null before 5.1.4. */
    private Boolean detectorEnabled() {
        try {
            return detectorSwitch == null ? null : (Boolean) detectorSwitch.invoke(faultStrategy);
        } catch (ReflectiveOperationException e) {
            return null;
        }
    }

    @SuppressWarnings("deprecation") // the one way to the implementation, and to its hooks, in every release
    private static Object faultStrategy(DefaultMQProducer producer) {
        try {
            Field field = producer.getDefaultMQProducerImpl().getClass().getDeclaredField("mqFaultStrategy");
            field.setAccessible(true);
            return field.get(producer.getDefaultMQProducerImpl());
        } catch (ReflectiveOperationException | RuntimeException e) {
            return null;
        }
    }

    private static Method detectorSwitch(Object strategy) {
        try {
            return strategy == null ? null : strategy.getClass().getMethod("isStartDetectorEnable");
        } catch (NoSuchMethodException e) {
            return null;
        }
    }

    /** {@code V5_1_4} is {@code 5.1.4}; {@code V5_1_4_SNAPSHOT} is {@code 5.1.4-SNAPSHOT}. */
    private static String version(String description) {
        String dotted = description.startsWith("V") ? description.substring(1).replace('_', '.') : description;
        return dotted.replace(".SNAPSHOT", "-SNAPSHOT");
    }

    /** The text without the client's advice to visit its FAQ, cut after 300 characters. */
    private static String bounded(String text) {
        if (text == null) {
            return null;
        }
        int advice = text.indexOf("\nFor more information");
        String own = advice < 0 ? text : text.substring(0, advice);
        return own.length() <= TEXT_CHARS ? own : own.substring(0, TEXT_CHARS);
    }

    private static String joined(String text, String cause) {
        return text == null || cause == null ? (text == null ? cause : text) : text + " <- " + cause;
    }

    /** Writes what is queued and ends the writing thread. Call it after {@code producer.shutdown()}. */
    @Override
    public void close() {
        lines.close();
    }

    /** One sync send as its caller sees it. Touched by the sending thread alone. */
    private static final class SyncCall {
        final WeakReference<Message> message;
        final long invokeId;
        int attempt;
        boolean retryMayFollow;

        SyncCall(Message message, long invokeId) {
            this.message = new WeakReference<>(message);
            this.invokeId = invokeId;
        }
    }

    /**
     * One attempt under way. It travels as the context's own map of properties, with the entries that other
     * hooks put there, so it is gone when the client drops the context, whatever became of the send.
     */
    private static final class Attempt extends HashMap<String, String> {
        private static final long serialVersionUID = 1L;

        final transient FaultlineSendHook owner;
        final long threadId = Thread.currentThread().getId();
        final String thread = Thread.currentThread().getName();
        transient SyncCall call;
        String topic;
        String brokerName;
        String brokerAddr;
        int queueId;
        CommunicationMode mode;
        long invokeId;
        int number;
        long startedAtMs;
        boolean failedAtSubmit;
        boolean submitReturned;
        Long submittedAtMs;
        boolean ended;
        long endedAtMs;
        long seq;
        String producerGroup;
        String outcome;
        String cause;
        Integer responseCode;
        String error;
        String msgId;
        String resultBrokerName;

        Attempt(FaultlineSendHook owner, Map<String, String> props) {
            this.owner = owner;
            if (props != null) {
                putAll(props);
            }
        }
    }

    /** A JSON object on one line. */
    private static final class JsonLine {
        private final StringBuilder out = new StringBuilder(900).append('{');

        JsonLine add(String name, Object value) {
            if (out.length() > 1) {
                out.append(',');
            }
            out.append('"').append(name).append("\":");
            if (value instanceof String) {
                quote((String) value);
            } else {
                out.append(value); // null, a number or a boolean
            }
            return this;
        }

        /** Escapes quotes, backslashes, all control characters and what some readers take for a line's end. */
        private void quote(String text) {
            out.append('"');
            for (int i = 0; i < text.length(); i++) {
                char c = text.charAt(i);
                if (c == '"' || c == '\\') {
                    out.append('\\').append(c);
                } else if (c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029) {
                    out.append(String.format("\\u%04x", (int) c));
                } else {
                    out.append(c);
                }
            }
            out.append('"');
        }

        String end() {
            return out.append("}\n").toString();
        }
    }

    /**
     * The hourly files, written by one daemon thread:
     * {@code sends-20261121T04Z-<host>-<pid>-<part>.jsonl}, the hour being the UTC hour of writing.
     *
     * <p>A file is never opened twice: a restart, a second producer or a recovered disk takes the next part.
     */
    private static final class LineFile implements Runnable {
        private static final DateTimeFormatter HOUR =
            DateTimeFormatter.ofPattern("yyyyMMdd'T'HH'Z'").withZone(ZoneOffset.UTC);

        final AtomicLong notStamped = new AtomicLong();
        private final AtomicLong dropped = new AtomicLong();
        private final BlockingQueue<String> queue = new ArrayBlockingQueue<>(QUEUE_LINES);
        private final Path directory;
        private final String origin;
        private final String processId;
        private final Thread writer;
        private final Thread atExit = new Thread(this::drain, "faultline-send-log-exit");
        private volatile boolean closing;

        // The writing thread's own.
        private OutputStream out;
        private String hour;
        private long written;
        private long lostOnDisk;
        private long lossesCounted;
        private long countedAtMs;

        LineFile(Path directory, String origin, String processId) {
            this.directory = directory.toAbsolutePath();
            this.origin = origin.replaceAll("[^A-Za-z0-9._-]", "_");
            this.processId = processId;
            this.writer = new Thread(this, "faultline-send-log");
            this.writer.setDaemon(true);
            this.writer.start();
            Runtime.getRuntime().addShutdownHook(atExit);
        }

        void offer(String line) {
            if (closing || !queue.offer(line)) {
                dropped.incrementAndGet();
            }
        }

        @Override
        public void run() {
            List<String> batch = new ArrayList<>();
            while (!closing || !queue.isEmpty()) {
                try {
                    String first = queue.poll(200, TimeUnit.MILLISECONDS);
                    if (first != null) {
                        batch.add(first);
                        queue.drainTo(batch, 511);
                    }
                } catch (InterruptedException e) {
                    closing = true;
                }
                write(batch);
                batch.clear();
                count(false);
            }
            closeFile();
            count(true);
        }

        private void write(List<String> batch) {
            String now = HOUR.format(Instant.now());
            if (!now.equals(hour)) {
                closeFile(); // also when idle, so that a finished hour's file can be shipped
                hour = now;
            }
            if (batch.isEmpty()) {
                return;
            }
            try {
                if (out == null) {
                    out = newFile();
                }
                out.write(String.join("", batch).getBytes(StandardCharsets.UTF_8));
                written += batch.size();
            } catch (IOException | RuntimeException e) {
                if (lostOnDisk == 0) {
                    System.err.println("faultline-send-log: cannot write to " + directory + ": " + e);
                }
                lostOnDisk += batch.size();
                closeFile();
            }
        }

        private OutputStream newFile() throws IOException {
            Files.createDirectories(directory);
            for (int part = 0; ; part++) {
                try {
                    return Files.newOutputStream(
                        directory.resolve("sends-" + hour + "-" + origin + "-" + part + ".jsonl"),
                        StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
                } catch (FileAlreadyExistsException e) {
                    continue;
                }
            }
        }

        private void closeFile() {
            try {
                if (out != null) {
                    out.close();
                }
            } catch (IOException e) {
                // The lines were handed over by write(); there is nothing to repeat.
            }
            out = null;
        }

        /** Adds a line of totals since the start: at the end, and at most once a minute while losses grow. */
        private void count(boolean last) {
            long losses = dropped.get() + lostOnDisk + notStamped.get();
            long nowMs = System.currentTimeMillis();
            if (!last && (losses == lossesCounted || nowMs - countedAtMs < 60_000)) {
                return;
            }
            countedAtMs = nowMs;
            lossesCounted = losses;
            String line = new JsonLine().add("counted_at_ms", nowMs).add("process_id", processId)
                .add("written", written).add("dropped_queue_full", dropped.get())
                .add("lost_on_disk", lostOnDisk).add("not_stamped", notStamped.get()).end();
            try {
                Files.write(directory.resolveSibling(directory.getFileName() + "-counters.jsonl"),
                    line.getBytes(StandardCharsets.UTF_8), StandardOpenOption.CREATE, StandardOpenOption.APPEND);
            } catch (IOException | RuntimeException e) {
                // The same disk as the lines': the next count says it.
            }
        }

        void close() {
            drain();
            try {
                Runtime.getRuntime().removeShutdownHook(atExit);
            } catch (IllegalStateException e) {
                // The process is ending: drained already.
            }
        }

        private void drain() {
            closing = true;
            try {
                writer.join(2_000);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
