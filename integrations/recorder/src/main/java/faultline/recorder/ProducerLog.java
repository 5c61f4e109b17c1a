package faultline.recorder;

import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;

/** One producer's lines of both kinds, in one order: its attempts and its fault items' updates share {@code seq}. */
public final class ProducerLog {
    private final Output output;
    private final Counts counts;
    private final String cluster;
    private final boolean orderKeys;
    private final String processId;
    private final Supplier<String> askedClientId;
    private final Supplier<String> producerGroup;
    private final AtomicLong seq = new AtomicLong();
    private final AtomicLong invokeIds = new AtomicLong();
    private volatile String clientId;
    /** Referenced only here, so that it lives as long as the producer, whose hook references this. */
    private FaultItems items;

    /** The suppliers are called at each line, that of the client id only at the first. */
    public ProducerLog(Recorder recorder, Supplier<String> clientId, Supplier<String> producerGroup) {
        this.output = recorder.output;
        this.counts = recorder.counts;
        this.cluster = recorder.options.cluster;
        this.orderKeys = recorder.options.orderKeys;
        // The producer's start, not the JVM's: fault items die with the producer, also inside a living process.
        this.processId = recorder.pid + "@" + System.currentTimeMillis();
        this.askedClientId = clientId;
        this.producerGroup = producerGroup;
    }

    void keep(FaultItems faultItems) {
        this.items = faultItems;
    }

    FaultItems items() {
        return items;
    }

    /** The order in which this producer's attempts ended and its fault items changed. Every number is one line. */
    public long nextSeq() {
        return seq.incrementAndGet();
    }

    /** One number per send of the caller. */
    public long nextInvokeId() {
        return invokeIds.incrementAndGet();
    }

    /** Whether a line is wanted for the number just taken. If not, it is counted as switched off. */
    public boolean wants() {
        return output.wants();
    }

    /** Whether order keys are written. */
    public boolean hasOrderKeys() {
        return orderKeys;
    }

    /** A line with the fields that identify its producer. */
    public JsonLine line() {
        if (clientId == null) {
            clientId = Texts.cut(askedClientId.get()); // known only once the producer has started
        }
        return new JsonLine()
            .add("client_id", clientId)
            .add("producer_group", Texts.cut(producerGroup.get()))
            .add("process_id", processId)
            .add("cluster", cluster);
    }

    public void write(Kind kind, JsonLine line) {
        output.offer(kind, line.end());
    }

    /** Counts what could not be recorded at all. */
    public void notStamped() {
        counts.notStamped();
    }
}
