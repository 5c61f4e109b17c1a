import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.stream.Collectors;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;

/**
 * {@code Consumer NAME_SERVER TOPIC GROUP NAME FILE}: one consumer until standard input ends, then it leaves in order. Each
 * call of its {@code MessageQueueListener}, which clients have from 5.2 on, is a line of FILE: the queues it then has.
 * Those are not always what it was given: a queue whose offset cannot be fetched is not taken until the next rebalance.
 */
public final class Consumer {
    private Consumer() {}

    @SuppressWarnings("deprecation") // the only way to the queues that it holds
    public static void main(String[] arguments) throws Exception {
        DefaultMQPushConsumer consumer = Members.consumer(arguments[0], arguments[1], arguments[2], arguments[3]);
        consumer.setClientIP("127.0.0.1");
        PrintWriter lines = new PrintWriter(Files.newBufferedWriter(Paths.get(arguments[4])), true);
        consumer.setMessageQueueListener((topic, all, given) -> {
            String queues = consumer.getDefaultMQPushConsumerImpl().getRebalanceImpl().getProcessQueueTable().keySet().stream()
                .filter(queue -> queue.getTopic().equals(topic))
                .map(queue -> "[\"" + queue.getBrokerName() + "\"," + queue.getQueueId() + "]")
                .collect(Collectors.joining(","));
            synchronized (lines) {
                lines.println("{\"at_ms\":" + System.currentTimeMillis() + ",\"consumer_group\":\"" + arguments[2]
                    + "\",\"client_id\":\"" + consumer.buildMQClientId() + "\",\"topic\":\"" + topic
                    + "\",\"queues\":[" + queues + "]}");
            }
        });
        consumer.start();
        System.out.println("> started");
        while (System.in.read() >= 0) {
            continue;
        }
        consumer.shutdown();
        System.exit(0);
    }
}
