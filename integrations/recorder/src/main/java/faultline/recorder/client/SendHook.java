package faultline.recorder.client;

import faultline.recorder.Invocation;
import faultline.recorder.JsonLine;
import faultline.recorder.Kind;
import faultline.recorder.ProducerLog;
import faultline.recorder.SubmitCall;
import faultline.recorder.Texts;
import java.lang.reflect.Method;
import java.util.Map;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.client.hook.SendMessageContext;
import org.apache.rocketmq.client.hook.SendMessageHook;
import org.apache.rocketmq.client.impl.CommunicationMode;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.common.MQVersion;
import org.apache.rocketmq.common.message.MessageQueue;

/**
 * Writes one line per send attempt of one producer: what Faultline reads as {@code sends}. The thread on which the
 * attempt ends builds the line; it neither blocks nor throws.
 */
final class SendHook implements SendMessageHook {
    /** Recorders of other class loaders recognise it by this name. */
    static final String NAME = "FaultlineRecorder";

    @SuppressWarnings("unused") // keeps alive what its class loader references weakly
    private final Producers producers;
    private final DefaultMQProducer producer;
    private final ProducerLog log;
    private final String queueChosenBy;
    private final boolean hasAgent;
    private final String clientVersion = clientVersion();
    private final Object faultStrategy;
    private final Method detectorSwitch;
    private final SyncCalls syncCalls;

    SendHook(Producers producers, DefaultMQProducer producer, Object faultStrategy, ProducerLog log,
             String queueChosenBy, boolean hasAgent) {
        this.producers = producers;
        this.producer = producer;
        this.log = log;
        this.queueChosenBy = queueChosenBy;
        this.hasAgent = hasAgent;
        this.faultStrategy = faultStrategy;
        this.detectorSwitch = detectorSwitch(faultStrategy);
        this.syncCalls = new SyncCalls(producer, log);
    }

    @Override
    public String hookName() {
        return NAME;
    }

    /** Stamps the attempt, and copies what the client may change during the send. */
    @Override
    public void sendMessageBefore(SendMessageContext context) {
        try {
            Sending sending = new Sending(this, context.getProps());
            sending.topic = context.getMessage().getTopic();
            sending.mode = context.getCommunicationMode();
            // The queue is a live object of the route: up to 5.1.3, except 4.9.8, the client's own fallback may
            // rename it while the send is under way. Address and queue id stay those that the message went to.
            MessageQueue queue = context.getMq();
            sending.attempt = new Attempt(
                queue.getBrokerName(), context.getBrokerAddr(), queue.getQueueId(), number(sending, context));
            context.setProps(sending);
            sending.attempt.startedAtMs = System.currentTimeMillis();
        } catch (RuntimeException e) {
            log.notStamped();
        }
    }

    /** Gives the attempt its invoke id and number: the agent knows them, a hook alone infers them. */
    private int number(Sending sending, SendMessageContext context) {
        if (hasAgent) {
            Invocation invocation = Invocation.of(context.getMessage());
            sending.queueChosenBy = invocation == null ? "CALLER" : "CLIENT";
            sending.orderKey = Invocation.takeKey(context.getMessage());
            if (invocation == null) {
                sending.invokeId = log.nextInvokeId();
                return 1;
            }
            invocation.invokeId = invocation.attempts == 0 ? log.nextInvokeId() : invocation.invokeId;
            sending.invokeId = invocation.invokeId;
            return ++invocation.attempts;
        }
        sending.queueChosenBy = queueChosenBy;
        sending.call = syncCalls.of(context.getMessage(), sending.mode, queueChosenBy);
        sending.invokeId = sending.call.invokeId;
        return sending.call.attempts;
    }

    /** What this hook's before put into the context; null when another hook replaced it. */
    private Sending of(SendMessageContext context) {
        Map<String, String> props = context.getProps();
        return props instanceof Sending && ((Sending) props).owner == this ? (Sending) props : null;
    }

    /** The client sends this message to this broker, by {@code sendMessageAsync}. */
    SubmitCall tryBegins(Sending sending, String brokerName, String brokerAddr) {
        synchronized (sending) {
            if (sending.tries != null) {
                sending.tries.again(brokerName, brokerAddr);
                return null;
            }
            sending.attempt.brokerName = brokerName; // what its callback charges
            sending.tries = new Tries(this, sending);
            return sending.tries;
        }
    }

    /** The client has given up this try, and may make another. */
    void tryFails(Sending sending, String brokerName, Exception failure, long nowMs) {
        synchronized (sending) {
            if (sending.tries != null) {
                sending.tries.failed(brokerName, failure, nowMs);
            }
        }
    }

    @Override
    public void sendMessageAfter(SendMessageContext context) {
        long nowMs = System.currentTimeMillis();
        try {
            Sending sending = of(context);
            if (sending == null) {
                log.notStamped();
            } else if (sending.mode == CommunicationMode.ASYNC) {
                synchronized (sending) {
                    if (sending.tries != null) {
                        sending.tries.after(context, nowMs);
                    } else {
                        afterAsync(sending, context, nowMs);
                    }
                }
            } else {
                // The update of the fault item that follows asks the queue for its name again: if it was renamed
                // meanwhile, that other broker is charged. An async callback has kept the name of the start.
                sending.attempt.brokerName = context.getMq().getBrokerName();
                end(sending, context, nowMs);
                write(sending, sending.attempt);
            }
        } catch (RuntimeException e) {
            log.notStamped();
        }
    }

    /**
     * Without the agent an async send comes here twice, mostly from two threads and in either order: when the submit
     * call returns, and when the answer or the failure is there. One line is written, when both are known.
     *
     * <p>The context is shared by the two, so its content does not show which one this is: the submit call
     * sets the result to null, perhaps after the callback has set it, and leaves the callback's exception
     * standing. The submit call's return is the first call on the submitting thread that brings no new failure.
     *
     * <p>A failure on the submitting thread is written at once, without submitted_at_ms: up to 4.9.2 nothing
     * follows it. From 4.9.3 the client's failure handler ran inside the submit call, which then returns with the
     * same exception: that is a second line, as the client updates the fault item a second time there.
     */
    private void afterAsync(Sending sending, SendMessageContext context, long nowMs) {
        Attempt attempt = sending.attempt;
        boolean isSubmit = sending.isBeingSubmitted();
        if (isSubmit && sending.failedAtSubmit) {
            sending.submitReturned = true;
            end(sending, context, nowMs);
            write(sending, attempt);
        } else if (isSubmit && (attempt.ended || context.getException() == null)) {
            sending.submitReturned = true;
            attempt.submittedAtMs = nowMs;
            if (attempt.ended) {
                write(sending, attempt); // the callback overtook the submit call
            }
        } else if (!attempt.ended) {
            sending.failedAtSubmit = isSubmit;
            end(sending, context, nowMs);
            if (sending.submitReturned || sending.failedAtSubmit) {
                write(sending, attempt);
            }
        }
    }

    private void end(Sending sending, SendMessageContext context, long nowMs) {
        end(sending, sending.attempt, context.getException(), context.getSendResult(), nowMs);
    }

    void end(Sending sending, Attempt attempt, Throwable failure, SendResult result, long nowMs) {
        attempt.ended = true;
        attempt.endedAtMs = nowMs;
        attempt.seq = log.nextSeq();
        if (failure != null) {
            attempt.outcome = failure.getClass().getSimpleName();
            attempt.error = Texts.message(failure);
            Throwable cause = failure.getCause();
            if (cause != null) {
                attempt.cause = cause.getClass().getSimpleName();
                attempt.error = Texts.joined(attempt.error, Texts.message(cause)); // has the address tried last
            }
            if (failure instanceof MQBrokerException) {
                attempt.responseCode = ((MQBrokerException) failure).getResponseCode();
            }
            mayRetry(sending, !(failure instanceof InterruptedException));
        } else if (result != null) {
            attempt.outcome = result.getSendStatus().name();
            attempt.msgId = Texts.cut(result.getMsgId());
            if (result.getMessageQueue() != null) {
                attempt.resultBrokerName = result.getMessageQueue().getBrokerName();
            }
            mayRetry(sending,
                result.getSendStatus() != SendStatus.SEND_OK && producer.isRetryAnotherBrokerWhenNotStoreOK());
        } else if (sending.mode == CommunicationMode.ONEWAY) {
            attempt.outcome = "SENT";
        } else if (sending.mode == CommunicationMode.ASYNC) {
            // Seen once in 20,000 async sends: an answer came, the returning submit call has wiped the result.
            attempt.outcome = SendStatus.SEND_OK.name();
            attempt.error = "answered; the client wiped the result before the hook saw it, SEND_OK assumed";
        }
    }

    private static void mayRetry(Sending sending, boolean may) {
        if (sending.call != null) {
            sending.call.retryMayFollow = may;
        }
    }

    void write(Sending sending, Attempt attempt) {
        if (!log.wants()) {
            return;
        }
        JsonLine line = log.line()
            .add("topic", Texts.cut(sending.topic))
            .add("broker_name", Texts.cut(attempt.brokerName))
            .add("broker_addr", Texts.cut(attempt.brokerAddr))
            .add("queue_id", attempt.queueId)
            .add("client_version", clientVersion)
            .add("client_language", "JAVA")
            .add("mode", sending.mode.name())
            .add("invoke_id", sending.invokeId)
            .add("attempt", attempt.number)
            .add("started_at_ms", attempt.startedAtMs)
            .add("ended_at_ms", attempt.endedAtMs)
            .add("latency_ms", Math.max(0, attempt.endedAtMs - attempt.startedAtMs)) // the clock may be set back
            .add("submitted_at_ms", attempt.submittedAtMs)
            .add("result_broker_name", Texts.cut(attempt.resultBrokerName))
            .add("outcome", attempt.outcome)
            .add("cause", attempt.cause)
            .add("response_code", attempt.responseCode)
            .add("error", attempt.error)
            .add("msg_id", attempt.msgId)
            .add("thread", Texts.cut(attempt.thread))
            .add("queue_chosen_by", sending.queueChosenBy)
            .add("seq", attempt.seq)
            .add("fault_latency_enabled", producer.isSendLatencyFaultEnable())
            .add("detector_enabled", detectorEnabled())
            .add("order_key", sending.orderKey);
        // Refused before any try (no time left): the only attempt.
        if (sending.tries != null || (hasAgent && sending.failedAtSubmit)) {
            line.add("one_line_per", "TRY");
            if (attempt != sending.attempt) {
                line.add("previous_broker_name", Texts.cut(attempt.previousBrokerName));
            }
        }
        log.write(Kind.SENDS, line);
    }

    /** Asks the strategy itself: 5.1.4 does not pass the producer's setting on to it. Null before 5.1.4. */
    private Boolean detectorEnabled() {
        try {
            return detectorSwitch == null ? null : (Boolean) detectorSwitch.invoke(faultStrategy);
        } catch (ReflectiveOperationException e) {
            return null;
        }
    }

    private static Method detectorSwitch(Object strategy) {
        try {
            return strategy.getClass().getMethod("isStartDetectorEnable");
        } catch (NoSuchMethodException e) {
            return null;
        }
    }

    /** Read at run time: the compiler would copy the number of the release that it sees. */
    private static String clientVersion() {
        try {
            int ordinal = MQVersion.class.getField("CURRENT_VERSION").getInt(null);
            return Texts.version(MQVersion.getVersionDesc(ordinal));
        } catch (ReflectiveOperationException e) {
            return null;
        }
    }
}
