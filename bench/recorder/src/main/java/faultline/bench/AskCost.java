package faultline.bench;

import faultline.recorder.Recorder;
import java.lang.reflect.Field;
import java.nio.file.Path;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.impl.producer.DefaultMQProducerImpl;
import org.apache.rocketmq.client.latency.LatencyFaultTolerance;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
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

/** What the library's proxy costs the client's commonest question, a few times a send: is this broker available? */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class AskCost {
    @Param("BARE")
    public String how;

    private Recorder recorder;
    private LatencyFaultTolerance<String> tolerance;

    @Setup
    @SuppressWarnings("unchecked")
    public void start() throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer("PG_bench");
        if (how.equals("LIBRARY")) {
            recorder = Recorder.start(System.getProperty("recorder.folder") + "/asked");
            recorder.record(producer);
        }
        DefaultMQProducerImpl implementation = producer.getDefaultMQProducerImpl();
        Object strategy = value(DefaultMQProducerImpl.class, "mqFaultStrategy", implementation);
        tolerance = (LatencyFaultTolerance<String>) value(strategy.getClass(), "latencyFaultTolerance", strategy);
        tolerance.updateFaultItem("broker-a", 3, 0, true);
    }

    private static Object value(Class<?> type, String name, Object owner) throws ReflectiveOperationException {
        Field field = type.getDeclaredField(name);
        field.setAccessible(true);
        return field.get(owner);
    }

    @TearDown
    public void stop() {
        if (recorder != null) {
            recorder.close();
        }
    }

    @Benchmark
    public boolean isAvailable() {
        return tolerance.isAvailable("broker-a");
    }

    /** Prints a table: each way in forks of its own. */
    static void compare(String property, Path folder) throws Exception {
        StringBuilder rows = new StringBuilder("| isAvailable | ns |\n| --- | --- |\n");
        for (String how : new String[] {"BARE", "LIBRARY"}) {
            OptionsBuilder options = new OptionsBuilder();
            options.include(AskCost.class.getName() + "\\.").param("how", how).forks(3).warmupIterations(3).measurementIterations(5)
                .warmupTime(TimeValue.seconds(1)).measurementTime(TimeValue.seconds(1)).shouldFailOnError(true)
                .jvmArgsAppend("-D" + property + "=" + folder);
            for (RunResult run : new Runner(options.build()).run()) {
                Result<?> result = run.getPrimaryResult();
                rows.append(String.format(Locale.ROOT, "| %s | %.1f ± %.1f |%n", how.toLowerCase(Locale.ROOT),
                    result.getScore(), result.getScoreError()));
            }
        }
        System.out.println(rows);
    }
}
