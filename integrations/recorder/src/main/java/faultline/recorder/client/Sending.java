package faultline.recorder.client;

import java.util.HashMap;
import java.util.Map;
import org.apache.rocketmq.client.impl.CommunicationMode;

/**
 * What the hook saw before one message was sent. It is passed on as the context's own map of properties, with the
 * entries of other hooks, so it is gone when the client drops the context, however the send ended.
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
    /** Null except for an async send that the agent follows into the client. */
    transient Tries tries;
    boolean failedAtSubmit;
    boolean submitReturned;

    Sending(SendHook owner, Map<String, String> props) {
        this.owner = owner;
        if (props != null) {
            putAll(props);
        }
    }

    /** Whether this is the sending thread, and its call has not returned yet. */
    boolean isBeingSubmitted() {
        return Thread.currentThread().getId() == threadId && !submitReturned;
    }
}
