package faultline.recorder.client;

import java.util.HashMap;
import java.util.Map;
import org.apache.rocketmq.client.impl.CommunicationMode;

/**
 * One attempt under way. It travels as the context's own map of properties, with the entries that other hooks put
 * there, so it is gone when the client drops the context, whatever became of the send.
 */
final class Attempt extends HashMap<String, String> {
    private static final long serialVersionUID = 1L;

    final transient SendHook owner;
    final long threadId = Thread.currentThread().getId();
    final String thread = Thread.currentThread().getName();
    transient SyncCalls.Call call;
    String topic;
    String brokerName;
    String brokerAddr;
    int queueId;
    CommunicationMode mode;
    String queueChosenBy;
    String orderKey;
    long invokeId;
    int number;
    long startedAtMs;
    boolean failedAtSubmit;
    boolean submitReturned;
    Long submittedAtMs;
    boolean ended;
    long endedAtMs;
    long seq;
    String outcome;
    String cause;
    Integer responseCode;
    String error;
    String msgId;
    String resultBrokerName;

    Attempt(SendHook owner, Map<String, String> props) {
        this.owner = owner;
        if (props != null) {
            putAll(props);
        }
    }
}
