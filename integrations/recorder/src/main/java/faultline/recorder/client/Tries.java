package faultline.recorder.client;

import faultline.recorder.SubmitCall;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.apache.rocketmq.client.hook.SendMessageContext;
import org.apache.rocketmq.client.producer.SendResult;

/**
 * The tries of one async send, which the client repeats by itself: it calls {@code sendMessageAsync} for each, and
 * {@code onExceptionImpl} when one has failed. The agent instruments both.
 *
 * <p>The first try's line waits until the submit call has returned too, as that charges a fault item once more. A retry's
 * line is written when it ends. Mostly one try is open; there are two when the client, having reported a failed write
 * already, finds the same request timed out later, and retries it a second time.
 */
final class Tries implements SubmitCall {
    private final SendHook hook;
    private final Sending sending;
    private final List<Attempt> open = new ArrayList<>(1);
    private int count = 1;
    private String failedBroker;
    private Exception failure;
    private boolean hasLeftSubmit;

    /** {@code sendMessageAsync} was entered for the first time. */
    Tries(SendHook hook, Sending sending) {
        this.hook = hook;
        this.sending = sending;
        open.add(sending.attempt);
    }

    /** It was entered again, from within {@link #failed}'s call on the same thread. */
    void again(String brokerName, String brokerAddr) {
        // The request is the first one's, with its queue id, whichever broker it goes to now.
        Attempt retry = new Attempt(brokerName, brokerAddr, sending.attempt.queueId, ++count);
        retry.previousBrokerName = failedBroker;
        retry.startedAtMs = System.currentTimeMillis();
        open.add(retry);
    }

    /** {@code onExceptionImpl} was entered. */
    void failed(String brokerName, Exception reason, long nowMs) {
        failedBroker = brokerName;
        failure = reason;
        end(openAt(brokerName), reason, null, nowMs);
    }

    /** The first try's {@code sendMessageAsync} was left: the next call of the hook on this thread is the submit call's. */
    @Override
    public void returned(Throwable thrown) {
        long nowMs = System.currentTimeMillis();
        synchronized (sending) {
            hasLeftSubmit = true;
            if (thrown != null && !sending.attempt.ended) {
                sending.submitReturned = true; // a hook that may follow has nothing to add
                end(sending.attempt, thrown, null, nowMs);
            }
        }
    }

    /** The hook's after. */
    void after(SendMessageContext context, long nowMs) {
        Attempt first = sending.attempt;
        if (hasLeftSubmit && sending.isBeingSubmitted()) {
            sending.submitReturned = true;
            first.submittedAtMs = nowMs;
            if (first.ended) {
                hook.write(sending, first);
            }
        } else if (context.getException() == null) {
            SendResult result = context.getSendResult();
            boolean isNamed = result != null && result.getMessageQueue() != null;
            Attempt answered = isNamed ? openAt(result.getMessageQueue().getBrokerName()) : null;
            end(answered == null ? newest() : answered, null, result, nowMs);
        } else if (context.getException() != failure) { // else this failure has been written
            end(newest(), context.getException(), null, nowMs);
        }
    }

    private void end(Attempt attempt, Throwable reason, SendResult result, long nowMs) {
        if (attempt == null) {
            return; // written before: a second end of one try
        }
        open.remove(attempt);
        hook.end(sending, attempt, reason, result, nowMs);
        if (attempt != sending.attempt || sending.submitReturned) {
            hook.write(sending, attempt);
        }
    }

    private Attempt openAt(String brokerName) {
        for (Attempt attempt : open) {
            if (Objects.equals(attempt.brokerName, brokerName)) {
                return attempt;
            }
        }
        return null;
    }

    private Attempt newest() {
        return open.isEmpty() ? null : open.get(open.size() - 1);
    }
}
