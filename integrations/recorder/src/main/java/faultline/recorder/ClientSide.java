package faultline.recorder;

import java.lang.ref.WeakReference;
import java.util.Map;
import java.util.WeakHashMap;

/**
 * The part of the recorder that links to the client's own classes. It is compiled against them, and loaded beside
 * each copy of the client that a JVM has: several applications in one server have one each.
 */
public abstract class ClientSide {
    private static final String IMPLEMENTATION = "faultline.recorder.client.Producers";
    private static final String PRODUCER = "org.apache.rocketmq.client.impl.producer.DefaultMQProducerImpl";
    private static final Map<ClassLoader, WeakReference<ClientSide>> LOADED = new WeakHashMap<>();

    /**
     * Registers a hook with the producer, unless a recorder already did.
     *
     * @param producerImpl a {@code DefaultMQProducerImpl}
     * @param queueChosenBy CALLER, CLIENT, or null: unknown, or the agent sees it
     * @param hasAgent is each send announced to {@link Invocation}?
     * @return the producer's log, or null when it is recorded already
     */
    public abstract ProducerLog record(Object producerImpl, Recorder recorder, String queueChosenBy, boolean hasAgent)
        throws ReflectiveOperationException;

    /**
     * The client begins a try of an async send.
     *
     * @param context the {@code SendMessageContext} of the send
     * @return called when the call is over: for a first try, else null
     */
    public abstract SubmitCall tryBegins(Object context, String brokerName, String brokerAddr);

    /** A try of an async send has failed. */
    public abstract void tryFails(Object context, String brokerName, Exception failure, long nowMs);

    /** The field of a producer that has its implementation. */
    public abstract Object implementation(Object producer);

    /** The instance for the client's classes of this loader. */
    static synchronized ClientSide of(ClassLoader client) throws ReflectiveOperationException {
        WeakReference<ClientSide> loaded = LOADED.get(client);
        ClientSide side = loaded == null ? null : loaded.get();
        if (side == null) {
            ClassLoader own = ClientSide.class.getClassLoader();
            ClassLoader beside = sees(own, Class.forName(PRODUCER, false, client)) ? own : new ClientLoader(client);
            side = (ClientSide) Class.forName(IMPLEMENTATION, true, beside).getConstructor().newInstance();
            LOADED.put(client, new WeakReference<>(side)); // each hook holds it, so it lives as long as its producers
        }
        return side;
    }

    private static boolean sees(ClassLoader own, Class<?> producer) {
        try {
            return Class.forName(PRODUCER, false, own) == producer;
        } catch (ClassNotFoundException e) {
            return false;
        }
    }
}
