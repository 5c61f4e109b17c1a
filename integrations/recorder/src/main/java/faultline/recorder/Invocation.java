package faultline.recorder;

import java.lang.ref.WeakReference;
import java.util.Collections;
import java.util.Map;
import java.util.WeakHashMap;

/**
 * One send of a caller for which the client chooses the queues, while it is under way on its thread; and the keys
 * that callers passed to selectors. Only the agent knows them: a hook sees neither.
 */
public final class Invocation {
    private static final ThreadLocal<Invocation> CURRENT = new ThreadLocal<>();
    /** By message identity, from the choice of the queue to the attempt. */
    private static final Map<Object, String> KEYS = Collections.synchronizedMap(new WeakHashMap<>());

    private final WeakReference<Object> message;
    private final Invocation outer;
    /** The invoke id that the producer's log gave to the first attempt; 0 before it. */
    public long invokeId;
    /** Attempts so far. */
    public int attempts;

    private Invocation(Object message, Invocation outer) {
        this.message = new WeakReference<>(message);
        this.outer = outer;
    }

    /** The client begins to choose queues for this message. */
    static void begin(Object message) {
        CURRENT.set(new Invocation(message, CURRENT.get()));
    }

    static void end() {
        Invocation ended = CURRENT.get();
        if (ended == null || ended.outer == null) {
            CURRENT.remove();
        } else {
            CURRENT.set(ended.outer);
        }
    }

    /** The send that this thread is making of the message, or null when the caller has chosen the queue itself. */
    public static Invocation of(Object message) {
        Invocation current = CURRENT.get();
        return current != null && current.message.get() == message ? current : null;
    }

    static void keep(Object message, Object key) {
        String text = Texts.key(key);
        if (text != null) {
            KEYS.put(message, text);
        }
    }

    /** Removes and returns the key passed for this message; null when there is none. */
    public static String takeKey(Object message) {
        return KEYS.isEmpty() ? null : KEYS.remove(message);
    }
}
