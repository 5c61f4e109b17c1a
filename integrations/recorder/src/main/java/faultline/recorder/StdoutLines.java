package faultline.recorder;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

/**
 * Standard output, for a pod without a disk. Each line begins with {@code {"faultline":"sends",}, or with
 * {@code fault_item_updates} or {@code counts} there, to distinguish it from the application's own.
 */
final class StdoutLines implements Lines {
    private final PrintStream out;

    StdoutLines(PrintStream out) {
        this.out = out;
    }

    @Override
    public void write(Kind kind, String lines) throws IOException {
        StringBuilder marked = new StringBuilder(lines.length() + 4096);
        for (String line : lines.split("\n")) {
            marked.append("{\"faultline\":\"").append(kind.label).append("\",").append(line, 1, line.length()).append('\n');
        }
        print(marked.toString());
    }

    @Override
    public boolean isSwitchedOff() {
        return false;
    }

    @Override
    public void count(String line) throws IOException {
        print("{\"faultline\":\"counts\"," + line.substring(1));
    }

    /** One call for whole lines, so that lines of other threads are not mixed in. */
    private void print(String text) throws IOException {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        out.write(bytes, 0, bytes.length);
        if (out.checkError()) {
            throw new IOException("standard output takes no more");
        }
    }

    @Override
    public void tick() {
        // nothing is due
    }

    @Override
    public void close() {
        // standard output is the application's
    }
}
