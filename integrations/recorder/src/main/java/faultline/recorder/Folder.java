package faultline.recorder;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.zip.GZIPOutputStream;

/**
 * The finished files of a folder: compressed, and deleted when they are old or the folder is too large.
 *
 * <p>Several processes may share a folder. Each cleans up all of it, as ended ones cannot. A file that is not
 * compressed, was written to in the last two hours and was not finished here may be another process's open one and
 * is left alone. A living process finishes its file at the hour.
 *
 * <p>For one thread.
 */
final class Folder {
    private static final Pattern NAMES =
        Pattern.compile("(sends|fault_item_updates)-\\d{8}T\\d\\dZ-[A-Za-z0-9._-]+-\\d+\\.jsonl(\\.gz)?");
    private static final Pattern HALF_PACKED = Pattern.compile("\\." + NAMES.pattern() + "\\.part");
    private static final Pattern COUNTERS = Pattern.compile("counters-[A-Za-z0-9._-]+\\.jsonl");
    private static final long MAY_BE_OPEN_MS = TimeUnit.HOURS.toMillis(2);

    /** Not compressed yet, and perhaps never. */
    private final Set<Path> finishedHere = new HashSet<>();
    private final Path root;
    private final Options options;
    private final Predicate<Path> isOpenHere;
    private final Counts counts;
    private final LongSupplier clock;

    Folder(Options options, Predicate<Path> isOpenHere, Counts counts, LongSupplier clock) {
        this.root = options.folder;
        this.options = options;
        this.isOpenHere = isOpenHere;
        this.counts = counts;
        this.clock = clock;
    }

    /** A file of this process is finished. */
    void finished(Path file) {
        finishedHere.add(file);
        tidy();
    }

    /** Compresses finished files, also of ended processes, then deletes old files and those beyond the limit. */
    void tidy() {
        try {
            for (Path file : files(NAMES)) {
                if (isFinished(file) && options.gzip && !file.toString().endsWith(".gz")) {
                    pack(file);
                }
            }
            for (Path file : files(HALF_PACKED)) {
                if (ageMs(file) > MAY_BE_OPEN_MS) {
                    Files.deleteIfExists(file); // its process was killed; the source file is still there
                }
            }
            deleteOldest();
        } catch (IOException | RuntimeException e) {
            // A folder that cannot be cleaned up now is retried a minute later; a full disk shows in lost lines.
        }
    }

    /** The file gets its final {@code .gz} name only when complete; on failure it stays plain until later. */
    private void pack(Path file) throws IOException {
        Path packed = file.resolveSibling(file.getFileName() + ".gz");
        Path half = file.resolveSibling("." + file.getFileName() + ".part");
        try {
            FileTime written = Files.getLastModifiedTime(file);
            try (OutputStream out = new GZIPOutputStream(Files.newOutputStream(half), 1 << 16)) {
                Files.copy(file, out);
            }
            Files.setLastModifiedTime(half, written);
            Files.move(half, packed, StandardCopyOption.ATOMIC_MOVE);
            Files.delete(file);
            finishedHere.remove(file);
        } catch (IOException e) {
            Files.deleteIfExists(half);
        }
    }

    private void deleteOldest() throws IOException {
        List<Path> oldestFirst = new ArrayList<>(files(NAMES));
        oldestFirst.sort(Comparator.comparingLong(this::writtenAtMs).thenComparing(Path::toString));
        long total = 0;
        for (Path file : oldestFirst) {
            total += size(file);
        }
        for (Path file : oldestFirst) {
            boolean isOld = ageMs(file) > TimeUnit.DAYS.toMillis(options.keepDays);
            if ((isOld || total > options.folderBytes) && isFinished(file)) {
                total -= size(file);
                if (Files.deleteIfExists(file)) {
                    counts.filesDeleted.incrementAndGet();
                }
                finishedHere.remove(file);
            }
        }
        for (Path file : files(COUNTERS)) {
            if (ageMs(file) > TimeUnit.DAYS.toMillis(options.keepDays)) {
                Files.deleteIfExists(file);
            }
        }
    }

    private boolean isFinished(Path file) {
        return !isOpenHere.test(file)
            && (file.toString().endsWith(".gz") || finishedHere.contains(file) || ageMs(file) > MAY_BE_OPEN_MS);
    }

    private List<Path> files(Pattern names) throws IOException {
        List<Path> found = new ArrayList<>();
        for (Path directory : new Path[] {
            root, root.resolve(Kind.SENDS.label), root.resolve(Kind.FAULT_ITEM_UPDATES.label)}) {
            if (Files.isDirectory(directory)) {
                try (DirectoryStream<Path> entries = Files.newDirectoryStream(directory)) {
                    for (Path entry : entries) {
                        if (names.matcher(entry.getFileName().toString()).matches() && Files.isRegularFile(entry)) {
                            found.add(entry);
                        }
                    }
                }
            }
        }
        return found;
    }

    private long ageMs(Path file) {
        return clock.getAsLong() - writtenAtMs(file);
    }

    private long writtenAtMs(Path file) {
        try {
            return Files.getLastModifiedTime(file).toMillis();
        } catch (IOException e) {
            return clock.getAsLong(); // gone meanwhile: another process cleans up too
        }
    }

    private static long size(Path file) {
        try {
            return Files.size(file);
        } catch (IOException e) {
            return 0;
        }
    }
}
