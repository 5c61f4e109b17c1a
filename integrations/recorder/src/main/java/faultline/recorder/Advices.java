package faultline.recorder;

import static net.bytebuddy.matcher.ElementMatchers.named;
import static net.bytebuddy.matcher.ElementMatchers.takesArguments;

import java.util.Map;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.asm.AsmVisitorWrapper;
import net.bytebuddy.asm.MemberSubstitution;
import net.bytebuddy.implementation.bytecode.assign.Assigner;

/** Advice that the agent inlines into the client's methods: one call each. An error in it is swallowed. */
final class Advices {
    private Advices() {
    }

    static final class ProducerMade {
        private ProducerMade() {
        }

        @Advice.OnMethodExit(suppress = Throwable.class)
        static void exit(@Advice.This Object producerImpl) {
            Hooks.producerMade(producerImpl);
        }
    }

    static final class Send {
        private Send() {
        }

        @Advice.OnMethodEnter(suppress = Throwable.class)
        static void enter(@Advice.Argument(0) Object message) {
            Hooks.sendBegins(message);
        }

        @Advice.OnMethodExit(onThrowable = Throwable.class, suppress = Throwable.class)
        static void exit() {
            Hooks.sendEnds();
        }
    }

    static final class Selector {
        private Selector() {
        }

        @Advice.OnMethodEnter(suppress = Throwable.class)
        static void enter(@Advice.Argument(0) Object message, @Advice.Argument(2) Object argument) {
            Hooks.selectorGiven(message, argument);
        }
    }

    static final class Try {
        private Try() {
        }

        @Advice.OnMethodEnter(suppress = Throwable.class)
        static SubmitCall enter(
            @Advice.Argument(0) String brokerAddr, @Advice.Argument(1) String brokerName,
            @Advice.Argument(10) Object context) {
            return Hooks.tryBegins(context, brokerName, brokerAddr);
        }

        @Advice.OnMethodExit(onThrowable = Throwable.class, suppress = Throwable.class)
        static void exit(@Advice.Enter SubmitCall call, @Advice.Thrown Throwable thrown) {
            Hooks.tryLeft(call, thrown);
        }
    }

    static final class TryFailed {
        private TryFailed() {
        }

        @Advice.OnMethodEnter(suppress = Throwable.class)
        static void enter(
            @Advice.Argument(0) String brokerName, @Advice.Argument(9) Exception failure,
            @Advice.Argument(10) Object context) {
            Hooks.tryFails(context, brokerName, failure);
        }
    }

    static final class ItemUpdated {
        private ItemUpdated() {
        }

        @Advice.OnMethodExit(suppress = Throwable.class)
        static void exit(@Advice.This Object tolerance, @Advice.AllArguments Object[] arguments) {
            Hooks.itemUpdated(tolerance, arguments);
        }
    }

    static final class ItemRemoved {
        private ItemRemoved() {
        }

        @Advice.OnMethodExit(suppress = Throwable.class)
        static void exit(@Advice.This Object tolerance, @Advice.Argument(0) String broker) {
            Hooks.itemRemoved(tolerance, broker);
        }
    }

    static final class BrokerPicked {
        private BrokerPicked() {
        }

        @Advice.OnMethodExit(suppress = Throwable.class)
        static void exit(
            @Advice.This Object tolerance, @Advice.Return(typing = Assigner.Typing.DYNAMIC) Object broker) {
            Hooks.brokerPicked(tolerance, (String) broker);
        }
    }

    static final class Round {
        private Round() {
        }

        @Advice.OnMethodEnter(suppress = Throwable.class)
        static void enter(@Advice.This Object tolerance) {
            Hooks.roundBegins(tolerance);
        }

        @Advice.OnMethodExit(onThrowable = Throwable.class, suppress = Throwable.class)
        static void exit() {
            Hooks.roundEnds();
        }
    }

    /** The accessor by which the detector, outside the item's class, sets the item's flag (5.1.4 and later). */
    static final class FlagSet {
        private FlagSet() {
        }

        @Advice.OnMethodExit(suppress = Throwable.class)
        static void exit(@Advice.Argument(0) Object item, @Advice.Argument(1) boolean reachable) {
            Hooks.flagSet(item, reachable);
        }
    }

    /** The detector removes items by the table's own {@code remove}. */
    static AsmVisitorWrapper dropsInRounds() {
        try {
            return MemberSubstitution.relaxed()
                .method(named("remove").and(takesArguments(1)))
                .replaceWith(Hooks.class.getMethod("drop", Map.class, Object.class))
                .on(named("detectByOneRound"));
        } catch (NoSuchMethodException e) {
            throw new IllegalStateException(e);
        }
    }
}
