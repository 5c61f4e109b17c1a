package faultline.bench;

import java.lang.reflect.Field;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import org.apache.rocketmq.client.impl.MQClientAPIImpl;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.remoting.RemotingClient;
import org.apache.rocketmq.remoting.protocol.RemotingCommand;
import org.apache.rocketmq.remoting.protocol.RequestCode;
import org.apache.rocketmq.remoting.protocol.header.SendMessageResponseHeader;
import org.apache.rocketmq.remoting.protocol.route.BrokerData;
import org.apache.rocketmq.remoting.protocol.route.QueueData;
import org.apache.rocketmq.remoting.protocol.route.TopicRouteData;

/** In place of the client's network: two brokers that take each message at once, so that what is left is the client. */
final class NoNetwork implements InvocationHandler {
    private static final String[] BROKERS = {"broker-a", "broker-b"};
    private final byte[] route = route().encode();

    private NoNetwork() {
    }

    /** A started producer whose sends go nowhere. */
    static void under(DefaultMQProducer producer) throws ReflectiveOperationException {
        MQClientAPIImpl api = producer.getDefaultMQProducerImpl().getMqClientFactory().getMQClientAPIImpl();
        Field client = MQClientAPIImpl.class.getDeclaredField("remotingClient");
        client.setAccessible(true);
        ((RemotingClient) client.get(api)).shutdown();
        client.set(api, Proxy.newProxyInstance(
            NoNetwork.class.getClassLoader(), new Class<?>[] {RemotingClient.class}, new NoNetwork()));
    }

    @Override
    public Object invoke(Object proxy, Method method, Object[] arguments) throws Exception {
        if (!method.getName().equals("invokeSync")) {
            return method.getReturnType() == boolean.class ? Boolean.TRUE : null;
        }
        RemotingCommand request = (RemotingCommand) arguments[1];
        if (request.getCode() == RequestCode.GET_ROUTEINFO_BY_TOPIC) {
            RemotingCommand response = RemotingCommand.createResponseCommand(0, null);
            response.setBody(route);
            return response;
        }
        RemotingCommand response = RemotingCommand.createResponseCommand(SendMessageResponseHeader.class);
        response.setCode(0);
        SendMessageResponseHeader header = (SendMessageResponseHeader) response.readCustomHeader();
        header.setMsgId("7F00000100002A9F0000000000000001");
        header.setQueueId(0);
        header.setQueueOffset(1L);
        response.makeCustomHeaderToNet();
        return response;
    }

    private static TopicRouteData route() {
        List<BrokerData> brokers = new ArrayList<>();
        List<QueueData> queues = new ArrayList<>();
        for (int i = 0; i < BROKERS.length; i++) {
            HashMap<Long, String> addresses = new HashMap<>();
            addresses.put(0L, "127.0.0.1:" + (10_911 + 10 * i));
            brokers.add(new BrokerData("cluster", BROKERS[i], addresses));
            QueueData queue = new QueueData();
            queue.setBrokerName(BROKERS[i]);
            queue.setReadQueueNums(4);
            queue.setWriteQueueNums(4);
            queue.setPerm(6);
            queues.add(queue);
        }
        TopicRouteData route = new TopicRouteData();
        route.setBrokerDatas(brokers);
        route.setQueueDatas(queues);
        route.setFilterServerTable(new HashMap<>());
        return route;
    }
}
