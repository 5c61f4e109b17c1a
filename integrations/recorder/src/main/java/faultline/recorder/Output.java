package faultline.recorder;

import java.io.IOException;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * Takes lines from sending threads: a bounded queue, and one daemon thread that writes.
 *
 * <p>{@link #offer} neither blocks nor throws. A full queue or a broken disk loses lines, never sends, and each lost
 * line is counted.
 */
final class Output implements Runnable, AutoCloseable {
    private static final int BATCH = 512;
    private static final long COUNT_MS = 60_000;
    private static final long ASK_MS = 1_000;
    private static final long CLOSE_MS = 2_000;

    private final Counts counts;
    private final BlockingQueue<Line> waiting;
    private final Lines lines;
    private final String process;
    private final Thread writer = new Thread(this, "faultline-recorder");
    private final Thread atExit = new Thread(this::drain, "faultline-recorder-exit");
    private volatile boolean isOn = true;
    private volatile boolean isOffOutside;
    private volatile boolean isClosing;

    // Used by the writing thread only.
    private long lossesCounted;
    private long countedAtMs;
    private long askedAtMs;

    Output(Lines lines, int waitingLines, Counts counts, String process) {
        this.lines = lines;
        this.counts = counts;
        this.process = process;
        this.waiting = new ArrayBlockingQueue<>(waitingLines);
    }

    void start() {
        writer.setDaemon(true);
        writer.start();
        Runtime.getRuntime().addShutdownHook(atExit);
    }

    /** Whether a line is wanted. If not, it is counted here, and the caller need not build it. */
    boolean wants() {
        if (!isOn()) {
            counts.switchedOff.incrementAndGet();
            return false;
        }
        return true;
    }

    void switchTo(boolean on) {
        isOn = on;
    }

    boolean isOn() {
        return isOn && !isOffOutside;
    }

    int waitingLines() {
        return waiting.size();
    }

    void offer(Kind kind, String line) {
        if (isClosing || !waiting.offer(new Line(kind, line))) {
            counts.droppedQueueFull.incrementAndGet();
        }
    }

    @Override
    public void run() {
        List<Line> batch = new ArrayList<>();
        while (!isClosing || !waiting.isEmpty()) {
            try {
                Line first = waiting.poll(200, TimeUnit.MILLISECONDS);
                if (first != null) {
                    batch.add(first);
                    waiting.drainTo(batch, BATCH - 1);
                }
            } catch (InterruptedException e) {
                isClosing = true;
            }
            write(batch);
            batch.clear();
            tick();
        }
        try {
            lines.close();
        } catch (IOException | RuntimeException e) {
            // There is nothing left to write.
        }
        count(true);
    }

    private void write(List<Line> batch) {
        Map<Kind, StringBuilder> texts = new EnumMap<>(Kind.class);
        Map<Kind, Integer> sizes = new EnumMap<>(Kind.class);
        for (Line line : batch) {
            texts.computeIfAbsent(line.kind, kind -> new StringBuilder(1 << 16)).append(line.text);
            sizes.merge(line.kind, 1, Integer::sum);
        }
        texts.forEach((kind, text) -> {
            int size = sizes.get(kind);
            try {
                lines.write(kind, text.toString());
                (kind == Kind.SENDS ? counts.sends : counts.faultItemUpdates).addAndGet(size);
            } catch (IOException | RuntimeException e) {
                counts.lostOnDisk.addAndGet(size);
            }
        });
    }

    private void tick() {
        try {
            lines.tick();
            long nowMs = System.currentTimeMillis();
            if (Math.abs(nowMs - askedAtMs) >= ASK_MS) {
                askedAtMs = nowMs;
                isOffOutside = lines.isSwitchedOff();
            }
        } catch (RuntimeException e) {
            // Whatever failed, the next line is written or counted as lost.
        }
        count(false);
    }

    /** Adds a line of totals: at the end, and at most once a minute while losses grow. */
    private void count(boolean isLast) {
        long losses = counts.losses();
        long nowMs = System.currentTimeMillis();
        if (!isLast && (losses == lossesCounted || Math.abs(nowMs - countedAtMs) < COUNT_MS)) {
            return;
        }
        countedAtMs = nowMs;
        lossesCounted = losses;
        try {
            lines.count(counts.json(nowMs, process));
        } catch (IOException | RuntimeException e) {
            // The same disk as the lines': the next count shows it.
        }
    }

    @Override
    public void close() {
        drain();
        try {
            Runtime.getRuntime().removeShutdownHook(atExit);
        } catch (IllegalStateException e) {
            // The process is ending: drained already.
        }
    }

    private void drain() {
        isClosing = true;
        try {
            writer.join(CLOSE_MS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static final class Line {
        final Kind kind;
        final String text;

        Line(Kind kind, String text) {
            this.kind = kind;
            this.text = text;
        }
    }
}
