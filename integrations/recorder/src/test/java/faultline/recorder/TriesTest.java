package faultline.recorder;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.hook.SendMessageContext;
import org.apache.rocketmq.client.hook.SendMessageHook;
import org.apache.rocketmq.client.impl.CommunicationMode;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.remoting.exception.RemotingConnectException;
import org.apache.rocketmq.remoting.exception.RemotingTooMuchRequestException;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** One async send, in each order in which the client may call what the agent watches. */
class TriesTest {
    @TempDir
    Path folder;

    private final SendMessageContext context = new SendMessageContext();
    private Recorder recorder;
    private ClientSide side;
    private SendMessageHook hook;

    @BeforeEach
    void begun() throws Exception {
        recorder = Recorder.start(folder + ",gzip=false");
        DefaultMQProducer producer = new DefaultMQProducer("PG_test");
        producer.setClientIP("10.0.0.1");
        side = ClientSide.of(DefaultMQProducer.class.getClassLoader());
        Object implementation = side.implementation(producer);
        recorder.attach(side, implementation, null, true);
        Field hooks = implementation.getClass().getDeclaredField("sendMessageHookList");
        hooks.setAccessible(true);
        hook = (SendMessageHook) ((List<?>) hooks.get(implementation)).get(0);
        context.setCommunicationMode(CommunicationMode.ASYNC);
        context.setMessage(new Message("orders", new byte[0]));
        context.setMq(new MessageQueue("orders", "a", 3));
        context.setBrokerAddr("at-a");
        hook.sendMessageBefore(context);
    }

    @Test
    void aRetryNamesTheBrokerBeforeIt() throws Exception {
        submitted();
        failed("a", "lost");
        assertNull(begin("b"));
        answered("b");
        assertEquals(Arrays.asList("1 a at-a MQClientException submitted", "2 b at-b SEND_OK after a"), lines());
    }

    @Test
    void aSubmitCallThatIsRefusedAtEachTryReturnsOnce() throws Exception {
        SubmitCall call = begin("a");
        failed("a", "refused");
        begin("b");
        Exception last = failed("b", "refused too");
        told(last);
        call.returned(null);
        hook.sendMessageAfter(context); // with that exception still in the context
        assertEquals(
            Arrays.asList("1 a at-a MQClientException submitted", "2 b at-b MQClientException after a"), lines());
    }

    @Test
    void aFirstTryThatIsThrownHasNoSubmitTime() throws Exception {
        Exception refused = new RemotingConnectException("at-a");
        begin("a").returned(refused);
        told(refused);
        assertEquals(Arrays.asList("1 a at-a RemotingConnectException"), lines());
    }

    @Test
    void aTimeOverBeforeAnyTryIsALineToo() throws Exception {
        told(new RemotingTooMuchRequestException("sendKernelImpl call timeout"));
        assertEquals(Arrays.asList("1 a at-a RemotingTooMuchRequestException"), lines());
    }

    @Test
    void anAnswerThatOvertakesTheSubmitCallWaitsForIt() throws Exception {
        SubmitCall call = begin("a");
        answered("a");
        call.returned(null);
        context.setSendResult(null); // as the client does then
        hook.sendMessageAfter(context);
        assertEquals(Arrays.asList("1 a at-a SEND_OK submitted"), lines());
    }

    @Test
    void aRetryMayBeAnsweredBeforeTheSubmitCallReturns() throws Exception {
        SubmitCall call = begin("a");
        failed("a", "lost");
        begin("b");
        answered("b");
        call.returned(null);
        hook.sendMessageAfter(context);
        assertEquals(Arrays.asList("1 a at-a MQClientException submitted", "2 b at-b SEND_OK after a"), lines());
    }

    @Test
    void anAnswerIsNoFailureWhateverComesAfterIt() throws Exception {
        submitted();
        answered("a");
        told(failed("a", "wrong arrays of the strategy: out of bounds"));
        assertEquals(Arrays.asList("1 a at-a SEND_OK submitted"), lines());
    }

    @Test
    void aResultThatTheSubmitCallWipedIsAnAnswer() throws Exception {
        submitted();
        elsewhere(() -> hook.sendMessageAfter(context));
        assertEquals(Arrays.asList("1 a at-a SEND_OK submitted"), lines());
    }

    @Test
    void aFailureThatIsToldTwiceMakesNoSecondLineOfItsTry() throws Exception {
        submitted();
        failed("a", "cannot write");
        begin("b");
        failed("a", "timed out"); // the same request, found again later: the client tries once more
        begin("c");
        answered("c");
        answered("b");
        assertEquals(
            Arrays.asList("1 a at-a MQClientException submitted", "3 c at-c SEND_OK after a", "2 b at-b SEND_OK after a"), lines());
    }

    @Test
    void aBrokerThatIsRenamedMeanwhileIsTheOneThatIsCharged() throws Exception {
        begin("z").returned(null);
        hook.sendMessageAfter(context);
        answered("z");
        assertEquals(Arrays.asList("1 z at-a SEND_OK submitted"), lines());
    }

    @Test
    void propertiesThatAnotherHookReplacedCostTheLine() throws Exception {
        context.setProps(new HashMap<>());
        assertNull(begin("a"));
        failed("a", "lost");
        hook.sendMessageAfter(context);
        assertEquals(Collections.emptyList(), lines());
        assertEquals(1, recorder.counts.notStamped.get());
    }

    private SubmitCall begin(String broker) {
        return side.tryBegins(context, broker, "at-" + broker);
    }

    private void submitted() {
        SubmitCall call = begin("a");
        assertNotNull(call);
        call.returned(null);
        hook.sendMessageAfter(context);
    }

    private Exception failed(String broker, String text) {
        Exception failure = new MQClientException(text, null);
        side.tryFails(context, broker, failure, System.currentTimeMillis());
        return failure;
    }

    /** The hook's call for a failure. */
    private void told(Exception failure) {
        context.setException(failure);
        hook.sendMessageAfter(context);
    }

    private void answered(String broker) throws InterruptedException {
        context.setSendResult(new SendResult(SendStatus.SEND_OK, "m", "o", new MessageQueue("orders", broker, 3), 1));
        elsewhere(() -> hook.sendMessageAfter(context));
    }

    private static void elsewhere(Runnable callback) throws InterruptedException {
        Thread thread = new Thread(callback);
        thread.start();
        thread.join();
    }

    /** Attempt, broker, address, outcome, is there a submit time, and the broker before, in the order of seq. */
    private List<String> lines() throws Exception {
        recorder.close();
        List<String> lines = new ArrayList<>();
        if (!Files.exists(folder.resolve("sends"))) {
            return lines;
        }
        try (Stream<Path> files = Files.list(folder.resolve("sends"))) {
            for (Path file : files.collect(Collectors.toList())) {
                lines.addAll(Files.readAllLines(file, StandardCharsets.UTF_8));
            }
        }
        lines.sort((one, other) -> field(one, "seq").compareTo(field(other, "seq")));
        for (String line : lines) {
            assertEquals("TRY", field(line, "one_line_per"));
            assertEquals("1 3", field(line, "invoke_id") + " " + field(line, "queue_id"));
        }
        return lines.stream().map(line -> field(line, "attempt") + " " + field(line, "broker_name") + " "
            + field(line, "broker_addr") + " " + field(line, "outcome")
            + (field(line, "submitted_at_ms").equals("null") ? "" : " submitted")
            + (line.contains("previous_broker_name") ? " after " + field(line, "previous_broker_name") : ""))
            .collect(Collectors.toList());
    }

    private static String field(String line, String name) {
        Matcher found = Pattern.compile("\"" + name + "\":\"?([^\",}]*)").matcher(line);
        return found.find() ? found.group(1) : "";
    }
}
