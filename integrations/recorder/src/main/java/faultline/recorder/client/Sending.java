package faultline.recorder.client;

import java.util.HashMap;
import java.util.Map;
import org.apache.rocketmq.client.impl.CommunicationMode;

/**
 * What the hook was shown before one message went out. It travels as the context's own map of properties, with the
 * entries that other hooks put there, so it is gone when the client drops the context, whatever became of the send.
 */
final class Sending extends HashMap<String, String> {
    private static final long serialVersionUID = 1L;

    final transient SendHook owner;
    final long threadId = Thread.currentThread().getId();
    transient SyncCalls.Call call;
    String topic;
    CommunicationMode mode;
    String queueChosenBy;
    String orderKey;
    long invokeId;
    /** The one attempt that a hook knows; of an async send under the agent, the first of {@link #tries}. */
    transient Attempt attempt;
    /** Null but for an async send that the agent follows into the client. */
    transient Tries tries;
    boolean failedAtSubmit;
    boolean submitReturned;

    Sending(SendHook owner, Map<String, String> props) {
        this.owner = owner;
        if (props != null) {
            putAll(props);
        }
    }

    /** Is this the thread that sends, and has its call not returned yet? */
    boolean isBeingSubmitted() {
        return Thread.currentThread().getId() == threadId && !submitReturned;
    }
}
