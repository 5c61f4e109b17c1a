import com.alibaba.fastjson.JSON;
import com.alibaba.fastjson.JSONArray;
import com.alibaba.fastjson.JSONObject;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.rocketmq.client.consumer.AllocateMessageQueueStrategy;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueConsistentHash;
import org.apache.rocketmq.common.message.MessageQueue;

/**
 * The job one would write first: in each snapshot, for each group and each of its consumers, ask the client's own
 * class. One thread, nothing remembered from one snapshot to the next.
 *
 * <p>{@code AllocateLoop SNAPSHOTS OUT}: reads what bench/snapshots.py wrote, in the order of captures. OUT gets a line
 * (capture, group, topic, broker, queue, owner) whenever the owner of a queue is another than one snapshot before.
 * Prints, as JSON, the CPU seconds spent inside the strategies and the snapshots × groups per strategy.
 */
public final class AllocateLoop {
    private static final AllocateMessageQueueStrategy AVERAGELY = new AllocateMessageQueueAveragely();
    private static final AllocateMessageQueueStrategy CONSISTENT_HASH = new AllocateMessageQueueConsistentHash();

    private static final ThreadMXBean THREAD = ManagementFactory.getThreadMXBean();

    private final Map<String, AllocateMessageQueueStrategy> strategies = new HashMap<>();
    private final Map<String, String> topics = new HashMap<>();
    private final Map<String, Map<MessageQueue, String>> before = new HashMap<>();
    private final Map<String, long[]> nanosAndUnits = new LinkedHashMap<>();

    public static void main(String[] args) throws IOException {
        Path snapshots = Paths.get(args[0]);
        AllocateLoop loop = new AllocateLoop();
        for (String line : Files.readAllLines(snapshots.resolve("strategies.toml"))) {
            if (line.startsWith("[groups.")) {
                loop.strategies.put(line.substring(9, line.length() - 2), CONSISTENT_HASH);
            }
        }
        try (BufferedWriter owners = Files.newBufferedWriter(Paths.get(args[1]))) {
            for (Path file : files(snapshots.resolve("consumers"))) {
                loop.replay(file, snapshots.resolve("routes").resolve(file.getFileName()), owners);
            }
        }
        Map<String, Object> told = new LinkedHashMap<>();
        loop.nanosAndUnits.forEach((name, sums) -> {
            told.put(name, Map.of("seconds", sums[0] / 1e9, "units", sums[1]));
        });
        System.out.println(JSON.toJSONString(told));
        System.exit(0);
    }

    private static List<Path> files(Path folder) throws IOException {
        try (Stream<Path> found = Files.list(folder)) {
            return found.sorted().collect(Collectors.toList());
        }
    }

    private void replay(Path consumers, Path routes, BufferedWriter owners) throws IOException {
        Map<Long, Map<String, List<MessageQueue>>> queues = queues(routes);
        Map<String, List<String>> members = new LinkedHashMap<>();
        long capturedAt = -1;
        try (BufferedReader lines = Files.newBufferedReader(consumers)) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                JSONObject answer = JSON.parseObject(line);
                if (answer.getLongValue("captured_at_ms") != capturedAt) {
                    allocate(capturedAt, members, queues.get(capturedAt), owners);
                    members.clear();
                    capturedAt = answer.getLongValue("captured_at_ms");
                }
                members.put(answer.getString("consumer_group"), members(answer));
            }
        }
        allocate(capturedAt, members, queues.get(capturedAt), owners);
    }

    private List<String> members(JSONObject answer) {
        List<String> ids = new ArrayList<>();
        JSONArray told = answer.getJSONArray("client_ids");
        if (told != null) {
            told.forEach(each -> ids.add((String) each));
        } else {
            JSONObject connection = JSON.parseObject(answer.getString("body"));
            connection.getJSONArray("connectionSet").forEach(each -> ids.add(((JSONObject) each).getString("clientId")));
            String topic = connection.getJSONObject("subscriptionTable").keySet().iterator().next();
            topics.put(answer.getString("consumer_group"), topic);
        }
        Collections.sort(ids); // as RebalanceImpl does, as with the queues
        return ids;
    }

    private static Map<Long, Map<String, List<MessageQueue>>> queues(Path routes) throws IOException {
        Map<Long, Map<String, List<MessageQueue>>> found = new HashMap<>();
        try (BufferedReader lines = Files.newBufferedReader(routes)) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                JSONObject answer = JSON.parseObject(line);
                String topic = answer.getString("topic");
                List<MessageQueue> queues = new ArrayList<>();
                for (Object each : JSON.parseObject(answer.getString("body")).getJSONArray("queueDatas")) {
                    JSONObject data = (JSONObject) each;
                    for (int id = 0; id < data.getIntValue("readQueueNums"); id++) {
                        queues.add(new MessageQueue(topic, data.getString("brokerName"), id));
                    }
                }
                Collections.sort(queues);
                found.computeIfAbsent(answer.getLong("captured_at_ms"), at -> new HashMap<>()).put(topic, queues);
            }
        }
        return found;
    }

    private void allocate(
        long capturedAt, Map<String, List<String>> groups, Map<String, List<MessageQueue>> queues, BufferedWriter owners
    ) throws IOException {
        for (Map.Entry<String, List<String>> each : groups.entrySet()) {
            String group = each.getKey();
            String topic = topics.get(group);
            List<String> members = each.getValue();
            AllocateMessageQueueStrategy strategy = strategies.getOrDefault(group, AVERAGELY);
            List<List<MessageQueue>> shares = new ArrayList<>(members.size());
            long[] sums = nanosAndUnits.computeIfAbsent(strategy.getName(), name -> new long[2]);
            long started = THREAD.getCurrentThreadCpuTime();
            for (String member : members) {
                shares.add(strategy.allocate(group, member, queues.get(topic), members));
            }
            sums[0] += THREAD.getCurrentThreadCpuTime() - started;
            sums[1]++;
            write(capturedAt, group, members, shares, owners);
        }
    }

    private void write(
        long capturedAt, String group, List<String> members, List<List<MessageQueue>> shares, BufferedWriter owners
    ) throws IOException {
        Map<MessageQueue, String> now = new HashMap<>();
        for (int index = 0; index < shares.size(); index++) {
            for (MessageQueue queue : shares.get(index)) {
                now.put(queue, members.get(index));
            }
        }
        Map<MessageQueue, String> then = before.put(group, now);
        for (Map.Entry<MessageQueue, String> each : now.entrySet()) {
            if (then == null || !each.getValue().equals(then.get(each.getKey()))) {
                MessageQueue queue = each.getKey();
                owners.write(
                    String.join(
                        "\t",
                        Long.toString(capturedAt),
                        group,
                        queue.getTopic(),
                        queue.getBrokerName(),
                        Integer.toString(queue.getQueueId()),
                        each.getValue()
                    )
                );
                owners.newLine();
            }
        }
    }
}
