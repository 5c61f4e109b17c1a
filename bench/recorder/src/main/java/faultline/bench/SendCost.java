package faultline.bench;

import faultline.recorder.Recorder;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.message.Message;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.results.Result;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;

/**
 * What the recorder costs a sync send with fault tolerance switched on, beside the bare client in one run, and the
 * highest rate at which it writes every line. The brokers are {@link NoNetwork}, so the send itself costs next to nothing.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.SingleShotTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class SendCost {
    private static final int RATE_SECONDS = 20;
    private static final int SENDING_THREADS = 2;
    /** As many sends an iteration as may wait for the disk: none is dropped, and none is timed while it is packed. */
    private static final int SENDS = 100_000;
    private static final String FOLDER = "recorder.folder";
    private static final String WAITING = ",waiting_lines=1048576,gzip=false";

    @Param("BARE")
    public String how;

    private DefaultMQProducer producer;
    private Recorder recorder;
    private final Message message = new Message("orders", new byte[128]);

    @Setup
    public void start() throws Exception {
        producer = new DefaultMQProducer("PG_bench");
        producer.setNamesrvAddr("127.0.0.1:1");
        producer.setSendLatencyFaultEnable(true);
        if (how.equals("LIBRARY")) {
            recorder = Recorder.start(System.getProperty(FOLDER) + "/library" + WAITING);
            recorder.record(producer);
        }
        producer.start();
        NoNetwork.under(producer);
    }

    /** What waits is written between the timed sends. */
    @TearDown(Level.Iteration)
    public void written() throws Exception {
        while (waiting() > 0) {
            Thread.sleep(50);
        }
    }

    @TearDown
    public void stop() throws Exception {
        for (ObjectName bean : beans()) {
            long lost = count(bean, "DroppedQueueFull");
            if (lost > 0) {
                throw new IllegalStateException(lost + " lines were dropped: the figure is not of recorded sends");
            }
        }
        producer.shutdown();
        if (recorder != null) {
            recorder.close();
        }
    }

    @Benchmark
    public SendResult send() throws Exception {
        return producer.send(message);
    }

    /** The recorder's jar; a second argument saturates this JVM's agent and is what the first call adds itself. */
    public static void main(String[] arguments) throws Exception {
        if (arguments.length > 1) {
            saturate();
            return;
        }
        Path folder = Files.createTempDirectory("recorder-bench");
        try {
            AskCost.compare(FOLDER, folder);
            compare("-javaagent:" + arguments[0] + "=" + folder + "/agent", folder);
            new ProcessBuilder("java", "-Xmx2g", "-javaagent:" + arguments[0] + "=" + folder + "/saturated", "-cp",
                System.getProperty("java.class.path"), SendCost.class.getName(), arguments[0], "saturate")
                .inheritIO().start().waitFor();
        } finally {
            try (Stream<Path> files = Files.walk(folder)) {
                files.sorted(Comparator.reverseOrder()).forEach(file -> file.toFile().delete());
            }
        }
    }

    /** Prints a table: each way in forks of its own, the bare client first. */
    private static void compare(String agent, Path folder) throws Exception {
        List<String> rows = new ArrayList<>();
        double bare = 0;
        for (String how : new String[] {"BARE", "LIBRARY", "AGENT"}) {
            OptionsBuilder options = new OptionsBuilder();
            options.include(SendCost.class.getName() + "\\.").param("how", how).forks(3).warmupIterations(5).measurementIterations(10)
                .warmupBatchSize(SENDS).measurementBatchSize(SENDS).timeout(TimeValue.minutes(10)).shouldFailOnError(true)
                .jvmArgsAppend("-Xmx2g", how.equals("AGENT") ? agent + WAITING : "-D" + FOLDER + "=" + folder);
            for (RunResult run : new Runner(options.build()).run()) {
                Result<?> result = run.getPrimaryResult();
                double perSend = result.getScore() / SENDS;
                bare = how.equals("BARE") ? perSend : bare;
                rows.add(String.format(Locale.ROOT, "| %s | %.2f ± %.2f | %.2f |", how.toLowerCase(Locale.ROOT),
                    perSend / 1_000, result.getScoreError() / SENDS / 1_000, (perSend - bare) / 1_000));
            }
        }
        System.out.println("| client | µs per send | more than bare, µs |\n| --- | --- | --- |");
        rows.forEach(System.out::println);
    }

    /** Under the agent: threads that do nothing but send, and what of it is written. */
    private static void saturate() throws Exception {
        SendCost cost = new SendCost();
        cost.how = "AGENT";
        cost.start();
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(RATE_SECONDS);
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < SENDING_THREADS; i++) {
            Thread thread = new Thread(() -> {
                try {
                    while (System.nanoTime() < end) {
                        cost.producer.send(new Message("orders", new byte[128]));
                    }
                } catch (Exception e) {
                    throw new IllegalStateException(e);
                }
            });
            threads.add(thread);
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        ObjectName bean = beans().iterator().next();
        long written = count(bean, "Sends") + count(bean, "FaultItemUpdates");
        System.out.printf(Locale.ROOT, "%n%d threads that only send, %d s: %,d lines a second were written, %,d dropped%n",
            SENDING_THREADS, RATE_SECONDS, written / RATE_SECONDS, count(bean, "DroppedQueueFull") / RATE_SECONDS);
        System.exit(0);
    }

    private static long waiting() throws Exception {
        long waiting = 0;
        for (ObjectName bean : beans()) {
            waiting += count(bean, "WaitingLines");
        }
        return waiting;
    }

    private static long count(ObjectName bean, String name) throws Exception {
        return ((Number) server().getAttribute(bean, name)).longValue();
    }

    private static Iterable<ObjectName> beans() throws Exception {
        return server().queryNames(new ObjectName("faultline:type=Recorder,*"), null);
    }

    private static MBeanServer server() {
        return ManagementFactory.getPlatformMBeanServer();
    }
}
