package faultline.recorder;

import static net.bytebuddy.matcher.ElementMatchers.isBridge;
import static net.bytebuddy.matcher.ElementMatchers.isConstructor;
import static net.bytebuddy.matcher.ElementMatchers.isStatic;
import static net.bytebuddy.matcher.ElementMatchers.isSynthetic;
import static net.bytebuddy.matcher.ElementMatchers.named;
import static net.bytebuddy.matcher.ElementMatchers.none;
import static net.bytebuddy.matcher.ElementMatchers.not;
import static net.bytebuddy.matcher.ElementMatchers.takesArgument;
import static net.bytebuddy.matcher.ElementMatchers.takesArguments;

import java.lang.instrument.Instrumentation;
import java.util.Collections;
import java.util.Set;
import java.util.WeakHashMap;
import net.bytebuddy.ByteBuddy;
import net.bytebuddy.agent.builder.AgentBuilder;
import net.bytebuddy.asm.Advice;

/**
 * {@code -javaagent:faultline-recorder.jar=/var/log/app/faultline} records every producer of the JVM.
 *
 * <p>Calls to {@link Hooks} are put into four classes of each copy of the client, when they are loaded. A mistake in
 * the options, or any other failure here, is reported on stderr, and the application starts unrecorded.
 */
public final class Agent {
    private static final String PRODUCER = "org.apache.rocketmq.client.impl.producer.DefaultMQProducerImpl";
    private static final String API = "org.apache.rocketmq.client.impl.MQClientAPIImpl";
    private static final String CONTEXT = "org.apache.rocketmq.client.hook.SendMessageContext";
    private static final String TOLERANCE = "org.apache.rocketmq.client.latency.LatencyFaultToleranceImpl";
    /** Loaders that were already reported on stderr. */
    private static final Set<ClassLoader> LEFT_ALONE =
        Collections.synchronizedSet(Collections.newSetFromMap(new WeakHashMap<>()));
    private static String installed;

    private Agent() {
    }

    /** Called by the JVM before {@code main}. */
    public static synchronized void premain(String options, Instrumentation instrumentation) {
        if (installed != null) {
            System.err.println("faultline-recorder: records to " + installed + " already; " + options
                + " is not used: name the agent once");
            return;
        }
        try {
            Recorder recorder = Recorder.start(options);
            Hooks.use(recorder);
            install(instrumentation);
            installed = options;
        } catch (Exception | LinkageError e) {
            System.err.println("faultline-recorder: does not record: " + e.getMessage());
        }
    }

    private static void install(Instrumentation instrumentation) throws NoSuchMethodException {
        new AgentBuilder.Default(new ByteBuddy().ignore(none())) // synthetic accessors are needed too
            .with(new AgentBuilder.Listener.StreamWriting(System.err).withErrorsOnly())
            .disableClassFormatChanges()
            .type(visible(PRODUCER))
            .transform((builder, type, loader, module, domain) -> builder
                .visit(Advice.to(Advices.ProducerMade.class).on(isConstructor().and(takesArguments(2))))
                .visit(Advice.to(Advices.Send.class).on(named("sendDefaultImpl")))
                .visit(Advice.to(Advices.Selector.class)
                    .on(named("sendSelectImpl").or(named("invokeMessageQueueSelector")))))
            .type(visible(API))
            .transform((builder, type, loader, module, domain) -> builder
                .visit(Advice.to(Advices.Try.class).on(named("sendMessageAsync")
                    .and(takesArguments(12)).and(takesArgument(10, named(CONTEXT)))))
                .visit(Advice.to(Advices.TryFailed.class).on(named("onExceptionImpl")
                    .and(takesArguments(13)).and(takesArgument(10, named(CONTEXT))))))
            .type(visible(TOLERANCE))
            .transform((builder, type, loader, module, domain) -> builder
                .visit(Advice.to(Advices.ItemUpdated.class)
                    .on(named("updateFaultItem").and(takesArgument(0, String.class)).and(not(isBridge()))))
                .visit(Advice.to(Advices.ItemRemoved.class)
                    .on(named("remove").and(takesArgument(0, String.class)).and(not(isBridge()))))
                .visit(Advice.to(Advices.BrokerPicked.class).on(named("pickOneAtLeast").and(not(isBridge()))))
                .visit(Advice.to(Advices.Round.class).on(named("detectByOneRound")))
                .visit(Advices.dropsInRounds()))
            .type(visible(TOLERANCE + "$FaultItem"))
            .transform((builder, type, loader, module, domain) -> builder
                .visit(Advice.to(Advices.FlagSet.class)
                    .on(isStatic().and(isSynthetic()).and(takesArguments(2)).and(takesArgument(1, boolean.class)))))
            .installOn(instrumentation);
    }

    /** The class of this name, where its loader sees {@link Hooks}. */
    private static AgentBuilder.RawMatcher visible(String name) {
        return (type, loader, module, redefined, domain) -> type.getName().equals(name) && seesHooks(loader);
    }

    /** An application whose loader hides this class would fail in its sends, so it is not instrumented. */
    private static boolean seesHooks(ClassLoader client) {
        try {
            if (client != null && client.loadClass(Hooks.class.getName()) == Hooks.class) {
                return true;
            }
        } catch (ClassNotFoundException | LinkageError e) {
            // reported below
        }
        if (LEFT_ALONE.add(client)) {
            System.err.println("faultline-recorder: cannot record the clients of " + client
                + ": it does not see the agent's classes. Let it delegate the package faultline.recorder to the system loader");
        }
        return false;
    }
}
