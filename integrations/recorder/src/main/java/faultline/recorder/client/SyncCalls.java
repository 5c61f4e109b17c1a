package faultline.recorder.client;

import faultline.recorder.ProducerLog;
import java.lang.ref.WeakReference;
import org.apache.rocketmq.client.impl.CommunicationMode;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.message.Message;

/**
 * Finds the attempts of one sync send without the agent.
 *
 * <p>The client repeats a sync send on the caller's thread, with the caller's Message object, at once, and only after
 * an exception or, if so configured, a status other than SEND_OK. So an attempt continues the thread's last call when
 * all that holds and the producer's retries are not used up. A caller that sends the same object again by itself
 * after a failure gets the same invoke id until they are. Async retries and one-way sends do not come one
 * by one: each is attempt 1 of its own id.
 */
final class SyncCalls {
    private final DefaultMQProducer producer;
    private final ProducerLog log;
    private final ThreadLocal<Call> last = new ThreadLocal<>();

    SyncCalls(DefaultMQProducer producer, ProducerLog log) {
        this.producer = producer;
        this.log = log;
    }

    /** The call that an attempt of this message belongs to, with the attempt counted. */
    Call of(Message message, CommunicationMode mode, String queueChosenBy) {
        boolean mayBeRetried = mode == CommunicationMode.SYNC && !"CALLER".equals(queueChosenBy);
        Call call = mayBeRetried ? last.get() : null;
        if (call == null || !call.retryMayFollow || call.message.get() != message
                || call.attempts > producer.getRetryTimesWhenSendFailed()) {
            call = new Call(message, log.nextInvokeId());
        }
        call.attempts++;
        call.retryMayFollow = false;
        if (mayBeRetried) {
            last.set(call);
        }
        return call;
    }

    /** One sync send as its caller sees it. Used by the sending thread only. */
    static final class Call {
        final WeakReference<Message> message;
        final long invokeId;
        int attempts;
        boolean retryMayFollow;

        Call(Message message, long invokeId) {
            this.message = new WeakReference<>(message);
            this.invokeId = invokeId;
        }
    }
}
