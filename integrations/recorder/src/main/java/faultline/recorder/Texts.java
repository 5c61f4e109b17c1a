package faultline.recorder;

import java.util.UUID;

/** Shortened texts for lines. */
public final class Texts {
    /** Maximum length of a text, which bounds the memory of queued lines. */
    public static final int LONGEST = 300;

    private Texts() {
    }

    /** The text, cut after {@link #LONGEST} characters. */
    public static String cut(String text) {
        return text == null || text.length() <= LONGEST ? text : text.substring(0, LONGEST);
    }

    /** An exception's message without the client's advice to visit its FAQ, cut. */
    public static String message(Throwable failure) {
        String text = failure.getMessage();
        int advice = text == null ? -1 : text.indexOf("\nFor more information");
        return cut(advice < 0 ? text : text.substring(0, advice));
    }

    /** {@code text <- cause}, or whichever of them is present. */
    public static String joined(String text, String cause) {
        return text == null ? cause : cause == null ? text : text + " <- " + cause;
    }

    /**
     * A selector's argument as the order key. Null for objects whose text may be long, costly or private: only
     * texts, numbers, characters, booleans, enums and UUIDs are keys.
     */
    public static String key(Object argument) {
        boolean plain = argument instanceof CharSequence || argument instanceof Number || argument instanceof Character
            || argument instanceof Boolean || argument instanceof Enum || argument instanceof UUID;
        return plain ? cut(argument.toString()) : null;
    }

    /** {@code V5_1_4} is {@code 5.1.4}; {@code V5_1_4_SNAPSHOT} is {@code 5.1.4-SNAPSHOT}. */
    public static String version(String description) {
        String dotted = description.startsWith("V") ? description.substring(1).replace('_', '.') : description;
        return dotted.replace(".SNAPSHOT", "-SNAPSHOT");
    }
}
