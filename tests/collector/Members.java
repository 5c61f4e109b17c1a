import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.HashMap;
import java.util.Map;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.impl.MQClientAPIImpl;
import org.apache.rocketmq.client.impl.factory.MQClientInstance;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.remoting.protocol.RemotingSerializable;

/**
 * Consumers of one group that come and go as standard input says (join NAME, leave NAME, quit), and a capture of what the
 * servers know of them, once a second, by the client's own classes.
 *
 * <p>Arguments: name server, topic, group, folder of the captures, then NAME=HOST:PORT of each broker.
 */
public final class Members {
    private static final long TIMEOUT_MS = 1_000;

    private Members() {}

    public static void main(String[] arguments) throws Exception {
        String nameServer = arguments[0];
        String topic = arguments[1];
        String group = arguments[2];
        DefaultMQProducer producer = new DefaultMQProducer("PG");
        producer.setNamesrvAddr(nameServer);
        producer.setInstanceName("watcher");
        producer.start();
        makeTopic(producer, topic);
        Thread watcher = new Thread(() -> watch(api(producer), arguments));
        watcher.setDaemon(true);
        watcher.start();
        Map<String, DefaultMQPushConsumer> members = new HashMap<>();
        BufferedReader words = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = words.readLine(); line != null && !line.equals("quit"); line = words.readLine()) {
            String name = line.substring(line.indexOf(' ') + 1);
            if (line.startsWith("join")) {
                DefaultMQPushConsumer member = consumer(nameServer, topic, group, name);
                member.start();
                members.put(name, member);
            } else {
                members.remove(name).shutdown();
            }
            System.out.println("> " + line);
        }
        System.exit(0);
    }

    private static void makeTopic(DefaultMQProducer producer, String topic) throws InterruptedException {
        int sent = 0;
        while (sent < 16) {
            try {
                producer.send(new Message(topic, new byte[] {1}));
                sent++;
            } catch (Exception notYet) {
                Thread.sleep(200);
            }
        }
        System.out.println("> topic");
    }

    /** Not started yet. */
    static DefaultMQPushConsumer consumer(String nameServer, String topic, String group, String name)
            throws MQClientException {
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(group);
        consumer.setNamesrvAddr(nameServer);
        consumer.setInstanceName(name);
        consumer.subscribe(topic, "*");
        consumer.registerMessageListener(
                (MessageListenerConcurrently) (messages, context) -> ConsumeConcurrentlyStatus.CONSUME_SUCCESS);
        return consumer;
    }

    @SuppressWarnings("deprecation")
    private static MQClientAPIImpl api(DefaultMQProducer producer) {
        Object impl = producer.getDefaultMQProducerImpl();
        for (String name : new String[] {"getMqClientFactory", "getmQClientFactory"}) {
            try {
                Method factory = impl.getClass().getMethod(name);
                return ((MQClientInstance) factory.invoke(impl)).getMQClientAPIImpl();
            } catch (ReflectiveOperationException otherRelease) {
                continue;
            }
        }
        throw new IllegalStateException("a client without a factory");
    }

    private static void watch(MQClientAPIImpl api, String[] arguments) {
        Path folder = Paths.get(arguments[3]);
        try (PrintStream routes = lines(folder, "routes"); PrintStream consumers = lines(folder, "consumers")) {
            while (true) {
                for (String topic : new String[] {arguments[1], "%RETRY%" + arguments[2]}) {
                    Answer answer = answer(() -> api.getTopicRouteInfoFromNameServer(topic, TIMEOUT_MS));
                    routes.println(line("\"topic\":\"" + topic + "\"", answer));
                }
                for (int each = 4; each < arguments.length; each++) {
                    String[] broker = arguments[each].split("=");
                    Answer answer = answer(() -> api.getConsumerConnectionList(broker[1], arguments[2], TIMEOUT_MS));
                    String named = "\"consumer_group\":\"" + arguments[2] + "\",\"broker_name\":\"" + broker[0] + "\"";
                    consumers.println(line(named, answer));
                }
                Thread.sleep(1_000);
            }
        } catch (Exception ended) {
            ended.printStackTrace();
        }
    }

    private static PrintStream lines(Path folder, String kind) throws Exception {
        Files.createDirectories(folder.resolve(kind));
        return new PrintStream(Files.newOutputStream(folder.resolve(kind).resolve("lines.jsonl")), true, "UTF-8");
    }

    private static Answer answer(Question question) throws InterruptedException {
        try {
            return new Answer("0", RemotingSerializable.toJson(question.ask(), false));
        } catch (MQBrokerException refused) {
            return new Answer(String.valueOf(refused.getResponseCode()), null);
        } catch (MQClientException refused) {
            return new Answer(String.valueOf(refused.getResponseCode()), null);
        } catch (InterruptedException stop) {
            throw stop;
        } catch (Exception silent) {
            return new Answer("null", null);
        }
    }

    private static String line(String named, Answer answer) {
        String body = answer.body == null ? "null" : RemotingSerializable.toJson(answer.body, false);
        return "{\"captured_at_ms\":" + System.currentTimeMillis() + "," + named + ",\"code\":" + answer.code
                + ",\"body\":" + body + "}";
    }

    private interface Question {
        Object ask() throws Exception;
    }

    private static final class Answer {
        private final String code;
        private final String body;

        private Answer(String code, String body) {
            this.code = code;
            this.body = body;
        }
    }
}
