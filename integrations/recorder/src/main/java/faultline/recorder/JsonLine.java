package faultline.recorder;

/** A JSON object on one line. */
public final class JsonLine {
    private final StringBuilder out = new StringBuilder(900).append('{');

    /** Adds a field: a text, a number, a boolean or null. */
    public JsonLine add(String name, Object value) {
        if (out.length() > 1) {
            out.append(',');
        }
        out.append('"').append(name).append("\":");
        if (value instanceof String) {
            quote((String) value);
        } else {
            out.append(value);
        }
        return this;
    }

    /** Escapes quotes, backslashes, all control characters and Unicode line separators. */
    private void quote(String text) {
        out.append('"');
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == '"' || c == '\\') {
                out.append('\\').append(c);
            } else if (c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029) {
                out.append(String.format("\\u%04x", (int) c));
            } else {
                out.append(c);
            }
        }
        out.append('"');
    }

    /** The whole line with its end. */
    public String end() {
        return out.append("}\n").toString();
    }
}
