package faultline.recorder.client;

import faultline.recorder.ClientSide;
import faultline.recorder.ProducerLog;
import faultline.recorder.Recorder;
import faultline.recorder.SubmitCall;
import java.lang.reflect.Field;
import java.util.List;
import org.apache.rocketmq.client.hook.SendMessageContext;
import org.apache.rocketmq.client.hook.SendMessageHook;
import org.apache.rocketmq.client.impl.producer.DefaultMQProducerImpl;
import org.apache.rocketmq.client.producer.DefaultMQProducer;

/** Registers send hooks with producers. */
public final class Producers extends ClientSide {
    @Override
    public Object implementation(Object producer) {
        return implementationOf((DefaultMQProducer) producer);
    }

    @SuppressWarnings("deprecation") // the only way to the implementation and its hooks in every release
    private static DefaultMQProducerImpl implementationOf(DefaultMQProducer producer) {
        return producer.getDefaultMQProducerImpl();
    }

    @Override
    public ProducerLog record(Object producerImpl, Recorder recorder, String queueChosenBy, boolean hasAgent)
        throws ReflectiveOperationException {
        DefaultMQProducerImpl impl = (DefaultMQProducerImpl) producerImpl;
        for (Object hook : (List<?>) field(impl, "sendMessageHookList")) {
            if (SendHook.NAME.equals(((SendMessageHook) hook).hookName())) {
                return null;
            }
        }
        DefaultMQProducer producer = (DefaultMQProducer) field(impl, "defaultMQProducer");
        ProducerLog log = new ProducerLog(recorder, producer::buildMQClientId, producer::getProducerGroup);
        impl.registerSendMessageHook(
            new SendHook(this, producer, field(impl, "mqFaultStrategy"), log, queueChosenBy, hasAgent));
        return log;
    }

    @Override
    public SubmitCall tryBegins(Object context, String brokerName, String brokerAddr) {
        Sending sending = sending(context);
        return sending == null ? null : sending.owner.tryBegins(sending, brokerName, brokerAddr);
    }

    @Override
    public void tryFails(Object context, String brokerName, Exception failure, long nowMs) {
        Sending sending = sending(context);
        if (sending != null) {
            sending.owner.tryFails(sending, brokerName, failure, nowMs);
        }
    }

    /** Null for a send that is not recorded. */
    private static Sending sending(Object context) {
        Object props = ((SendMessageContext) context).getProps();
        return props instanceof Sending ? (Sending) props : null;
    }

    private static Object field(Object owner, String name) throws ReflectiveOperationException {
        Field field = DefaultMQProducerImpl.class.getDeclaredField(name);
        field.setAccessible(true);
        return field.get(owner);
    }
}
