package faultline.recorder;

import java.lang.management.ManagementFactory;
import java.util.concurrent.atomic.AtomicLong;
import javax.management.JMException;
import javax.management.ObjectName;
import org.apache.rocketmq.client.producer.DefaultMQProducer;

/**
 * Records what producers send, as files that Faultline reads:
 *
 * <pre>
 * Recorder recorder = Recorder.start("/var/log/orders/faultline");
 * recorder.record(producer); // before producer.start()
 * … producer.shutdown(); recorder.close();
 * </pre>
 *
 * <p>Not needed with the agent; producers that the agent records are ignored here.
 *
 * <p>It never blocks or fails a send: see {@code README.md}.
 */
public final class Recorder implements AutoCloseable {
    final Options options;
    final Counts counts = new Counts();
    final Output output;
    final String pid;
    private final AtomicLong producers = new AtomicLong();
    private ObjectName beanName;

    private Recorder(Options options) {
        String[] pidAndHost = ManagementFactory.getRuntimeMXBean().getName().split("@", 2);
        String origin = pidAndHost[pidAndHost.length - 1] + "-" + pidAndHost[0];
        this.options = options;
        this.pid = pidAndHost[0];
        Lines lines = options.folder == null
            ? new StdoutLines(System.out)
            : new FileLines(options, origin, counts, System::currentTimeMillis);
        this.output = new Output(lines, options.waitingLines, counts, origin);
        this.output.start();
    }

    /**
     * @param options {@code FOLDER} or {@code stdout}, and options after commas, as the agent takes them
     * @throws IllegalArgumentException with the option, its value and the allowed values
     */
    public static Recorder start(String options) {
        return new Recorder(Options.parse(options));
    }

    /** Records this producer from now on. Call it before {@code producer.start()}; a second call does nothing. */
    public void record(DefaultMQProducer producer) {
        record(producer, null);
    }

    /**
     * @param queueChosenBy {@code CALLER} when this producer sends with a selector or to a queue it names,
     *     {@code CLIENT} when it never does, null when unknown. The agent sees it; a hook cannot.
     */
    public void record(DefaultMQProducer producer, String queueChosenBy) {
        try {
            ClientSide side = ClientSide.of(producer.getClass().getClassLoader());
            Object implementation = side.implementation(producer);
            ProducerLog log = attach(side, implementation, queueChosenBy, false);
            if (log != null) {
                watch(producer, implementation, log);
            }
        } catch (ReflectiveOperationException | RuntimeException | LinkageError e) {
            System.err.println("faultline-recorder: cannot record the producer " + producer + ": " + e);
        }
    }

    private static void watch(DefaultMQProducer producer, Object implementation, ProducerLog log) {
        try {
            WatchedTolerance.watch(implementation, log);
        } catch (ReflectiveOperationException | RuntimeException | LinkageError e) {
            System.err.println("faultline-recorder: records what the producer " + producer.getProducerGroup()
                + " sends, but not its fault items: " + e);
        }
    }

    /** The log of a producer that was not recorded yet, else null. */
    ProducerLog attach(ClientSide side, Object producerImpl, String queueChosenBy, boolean hasAgent)
        throws ReflectiveOperationException {
        ProducerLog log = side.record(producerImpl, this, queueChosenBy, hasAgent);
        if (log != null && producers.incrementAndGet() == 1) {
            register();
        }
        return log;
    }

    /** With the first producer, not before: asking for the MBean server early keeps an application from its own. */
    private synchronized void register() {
        try {
            ObjectName name = new ObjectName("faultline:type=Recorder,folder="
                + ObjectName.quote(options.folder == null ? "stdout" : options.folder.toString()));
            ManagementFactory.getPlatformMBeanServer()
                .registerMBean(new RecorderBean(options, output, counts, producers), name);
            beanName = name;
        } catch (JMException | RuntimeException e) {
            System.err.println("faultline-recorder: no JMX bean: " + e);
        }
    }

    /** Writes what is queued, for at most 2 s, and ends the writing thread. Call it after the producers' shutdown. */
    @Override
    public synchronized void close() {
        output.close();
        if (beanName != null) {
            try {
                ManagementFactory.getPlatformMBeanServer().unregisterMBean(beanName);
            } catch (JMException | RuntimeException e) {
                // Gone already.
            }
        }
    }
}
