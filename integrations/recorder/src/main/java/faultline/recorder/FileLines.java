package faultline.recorder;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * Files of lines in one folder, {@code sends/} and {@code fault_item_updates/}, with
 * {@code counters-<host>-<pid>.jsonl} beside them.
 *
 * <p>A failing disk is retried after five seconds; until then lines are dropped at once, so that nobody waits.
 */
final class FileLines implements Lines {
    private static final DateTimeFormatter HOUR =
        DateTimeFormatter.ofPattern("yyyyMMdd'T'HH'Z'").withZone(ZoneOffset.UTC);
    private static final long RETRY_MS = 5_000;
    private static final long TIDY_MS = 60_000;

    private final Options options;
    private final LongSupplier clock;
    private final Folder folder;
    private final Path counters;
    private final Map<Kind, LogFile> files = new EnumMap<>(Kind.class);
    private final ExecutorService tidying = Executors.newSingleThreadExecutor(task -> {
        Thread thread = new Thread(task, "faultline-recorder-tidy");
        thread.setDaemon(true);
        thread.setPriority(Thread.MIN_PRIORITY);
        return thread;
    });
    private boolean isBroken;
    private long brokenAtMs;
    private long tidiedAtMs;

    FileLines(Options options, String origin, Counts counts, LongSupplier clock) {
        String safe = origin.replaceAll("[^A-Za-z0-9._-]", "_");
        this.options = options;
        this.clock = clock;
        this.counters = options.folder.resolve("counters-" + safe + ".jsonl");
        for (Kind kind : Kind.values()) {
            files.put(kind, new LogFile(options.folder, kind, safe));
        }
        this.folder = new Folder(options, file -> files.values().stream().anyMatch(open -> open.isOpen(file)), counts, clock);
    }

    @Override
    public void write(Kind kind, String lines) throws IOException {
        long nowMs = clock.getAsLong();
        if (isBroken && Math.abs(nowMs - brokenAtMs) < RETRY_MS) {
            throw new IOException("the disk failed less than 5 s ago");
        }
        LogFile file = files.get(kind);
        try {
            file.write(lines.getBytes(StandardCharsets.UTF_8), HOUR.format(Instant.ofEpochMilli(nowMs)));
            if (isBroken) {
                System.err.println("faultline-recorder: writes to " + options.folder + " again");
            }
            isBroken = false;
        } catch (IOException | RuntimeException e) {
            if (!isBroken) {
                System.err.println("faultline-recorder: cannot write to " + file.directory() + ", lines are lost: " + e);
            }
            isBroken = true;
            brokenAtMs = nowMs;
            throw e instanceof IOException ? (IOException) e : new IOException(e);
        }
        if (file.size() >= options.fileBytes) {
            finish(file);
        }
    }

    @Override
    public void tick() {
        long nowMs = clock.getAsLong();
        String hour = HOUR.format(Instant.ofEpochMilli(nowMs));
        for (LogFile file : files.values()) {
            if (file.isOfAnotherHour(hour)) {
                finish(file); // also when idle, so that a finished hour's file can be shipped
            }
        }
        if (Math.abs(nowMs - tidiedAtMs) >= TIDY_MS) {
            tidiedAtMs = nowMs;
            tidying.execute(folder::tidy);
        }
    }

    /** {@link #tick}, waiting for its work: for tests. */
    void tickAndWait() {
        tick();
        close();
    }

    private void finish(LogFile file) {
        Path finished = file.finish();
        if (finished != null) {
            tidying.execute(() -> folder.finished(finished));
        }
    }

    /** A file named {@code OFF} in the folder switches recording off, for those who cannot reach the JMX bean. */
    @Override
    public boolean isSwitchedOff() {
        return Files.exists(options.folder.resolve("OFF"));
    }

    @Override
    public void count(String line) throws IOException {
        Files.createDirectories(options.folder);
        Files.write(counters, line.getBytes(StandardCharsets.UTF_8), StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    }

    /** Finishes the files without compressing them: the process is ending, and the next one in this folder does it. */
    @Override
    public void close() {
        tidying.shutdown();
        try {
            tidying.awaitTermination(1, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        for (LogFile file : files.values()) {
            file.finish();
        }
    }
}
