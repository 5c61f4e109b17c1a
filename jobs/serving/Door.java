// Where clients of the server come in and go. Compiled at start by the Janino that ships with Spark
// (jobs/serving/thrift.py); written in the Java that Janino reads: no generics.

import java.net.Socket;
import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hive.service.cli.CLIService;
import org.apache.hive.service.cli.HiveSQLException;
import org.apache.hive.service.cli.OperationHandle;
import org.apache.hive.service.cli.OperationStatus;
import org.apache.hive.service.cli.thrift.ThriftBinaryCLIService;
import org.apache.hive.service.rpc.thrift.TExecuteStatementReq;
import org.apache.hive.service.rpc.thrift.TExecuteStatementResp;
import org.apache.hive.service.rpc.thrift.TOpenSessionReq;
import org.apache.hive.service.rpc.thrift.TOpenSessionResp;
import org.apache.hive.service.rpc.thrift.TStatusCode;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.hive.HiveUtils$;
import org.apache.spark.sql.hive.thriftserver.HiveThriftServer2;
import org.apache.spark.sql.hive.thriftserver.SparkSQLCLIService;
import org.apache.spark.sql.hive.thriftserver.ui.HiveThriftServer2EventManager;
import org.apache.thrift.TException;
import org.apache.thrift.protocol.TProtocol;
import org.apache.thrift.server.ServerContext;
import org.apache.thrift.server.TServerEventHandler;
import org.apache.thrift.transport.TSaslServerTransport;
import org.apache.thrift.transport.TSocket;
import org.apache.thrift.transport.TTransport;

/** The server that clients connect to: Spark's own Thrift services, with a doorkeeper in the place of the outer one. */
public class Door {
    private SparkSQLCLIService inside;
    private Doorkeeper doorkeeper;

    /** Listens where the session's settings say; the configuration is the keys that a client may bring along. */
    public void open(SparkSession session, java.util.Set configuration) {
        HiveConf conf = HiveUtils$.MODULE$.newClientForExecution(
            session.sparkContext().conf(), session.sessionState().newHadoopConf()).conf();
        HiveThriftServer2.eventManager_$eq(new HiveThriftServer2EventManager(session.sparkContext()));
        inside = new SparkSQLCLIService(null, session);
        doorkeeper = new Doorkeeper(inside, configuration);
        inside.init(conf);
        doorkeeper.init(conf);
        inside.start();
        doorkeeper.start();
    }

    public int port() {
        return doorkeeper.getPortNumber();
    }

    public void close() {
        doorkeeper.stop();
        inside.stop();
    }

    /** What is being worked on now: tasks, by Spark's name of their threads, and questions that are being planned. */
    public java.util.Set work() {
        java.util.Set names = new java.util.TreeSet();
        java.util.Iterator threads = Thread.getAllStackTraces().entrySet().iterator();
        while (threads.hasNext()) {
            java.util.Map.Entry thread = (java.util.Map.Entry) threads.next();
            String name = ((Thread) thread.getKey()).getName();
            boolean isQuestion = name.startsWith("question ")
                && java.util.Arrays.toString((Object[]) thread.getValue()).contains("SparkExecuteStatementOperation");
            if (isQuestion || name.startsWith("Executor task launch worker for task ")) {
                names.add(name);
            }
        }
        return names;
    }
}

/** Spark's Thrift service, but it lets in no settings and ends the question of a client that is gone. */
class Doorkeeper extends ThriftBinaryCLIService {
    private final java.util.Set configuration;
    private final ThreadLocal client = new ThreadLocal();

    Doorkeeper(CLIService inside, java.util.Set configuration) {
        super(inside);
        this.configuration = configuration;
        this.serverEventHandler = new Watch(this.serverEventHandler, client);
    }

    /** The address is the one that was checked, whatever HIVE_SERVER2_THRIFT_BIND_HOST and …_PORT say. */
    public synchronized void init(HiveConf conf) {
        super.init(conf);
        hiveHost = conf.getVar(HiveConf.ConfVars.HIVE_SERVER2_THRIFT_BIND_HOST);
        portNum = conf.getIntVar(HiveConf.ConfVars.HIVE_SERVER2_THRIFT_PORT);
    }

    /** Hive's own code would apply what a client brings, such as set:system:… to the whole JVM, before any check. */
    public TOpenSessionResp OpenSession(TOpenSessionReq request) throws TException {
        java.util.Set foreign = new java.util.TreeSet();
        if (request.isSetConfiguration()) {
            foreign.addAll(request.getConfiguration().keySet());
        }
        foreign.removeAll(configuration);
        if (foreign.isEmpty()) {
            return super.OpenSession(request);
        }
        TOpenSessionResp refusal = new TOpenSessionResp();
        refusal.setServerProtocolVersion(request.getClient_protocol());
        refusal.setStatus(HiveSQLException.toTStatus(
            new HiveSQLException("this server keeps its own settings; connect without " + foreign)));
        return refusal;
    }

    /** A client that waits for its answer, as PyHive does, would not be missed: its question runs beside, too. */
    public TExecuteStatementResp ExecuteStatement(TExecuteStatementReq request) throws TException {
        boolean waits = !request.isRunAsync();
        request.setRunAsync(true);
        request.unsetConfOverlay();
        TExecuteStatementResp answer = super.ExecuteStatement(request);
        if (waits && answer.getStatus().getStatusCode() == TStatusCode.SUCCESS_STATUS) {
            OperationHandle question = new OperationHandle(answer.getOperationHandle());
            try {
                waitFor(question);
            } catch (HiveSQLException failure) {
                answer.setStatus(HiveSQLException.toTStatus(failure));
                answer.unsetOperationHandle();
            }
        }
        return answer;
    }

    private void waitFor(OperationHandle question) throws HiveSQLException {
        OperationStatus status = cliService.getOperationStatus(question); // waits itself, for five seconds
        while (!status.getState().isTerminal() && !isGone()) {
            status = cliService.getOperationStatus(question);
        }
        if (!status.getState().toString().equals("FINISHED")) {
            cliService.closeOperation(question); // which cancels it
            throw status.getOperationException() != null
                ? status.getOperationException()
                : new HiveSQLException("the question was ended: " + status.getState());
        }
    }

    /** A client that waits says nothing: the socket has its end, or it has nothing yet. */
    private boolean isGone() {
        TTransport transport = (TTransport) client.get();
        if (transport instanceof TSaslServerTransport) {
            transport = ((TSaslServerTransport) transport).getUnderlyingTransport();
        }
        try {
            Socket socket = ((TSocket) transport).getSocket();
            int patience = socket.getSoTimeout();
            socket.setSoTimeout(1);
            try {
                socket.getInputStream().read();
                return true; // its end, or talk out of turn
            } catch (java.net.SocketTimeoutException silence) {
                return false;
            } finally {
                socket.setSoTimeout(patience);
            }
        } catch (java.io.IOException broken) {
            return true;
        }
    }
}

/** Remembers whose request a thread is working on; else what Hive's own handler does. */
class Watch implements TServerEventHandler {
    private final TServerEventHandler own;
    private final ThreadLocal client;

    Watch(TServerEventHandler own, ThreadLocal client) {
        this.own = own;
        this.client = client;
    }

    public void processContext(ServerContext context, TTransport input, TTransport output) {
        client.set(input);
        own.processContext(context, input, output);
    }

    public void preServe() {
        own.preServe();
    }

    public ServerContext createContext(TProtocol input, TProtocol output) {
        return own.createContext(input, output);
    }

    public void deleteContext(ServerContext context, TProtocol input, TProtocol output) {
        own.deleteContext(context, input, output); // closes the client's session, and with it what it still asks
    }
}
