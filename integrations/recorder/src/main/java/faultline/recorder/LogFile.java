package faultline.recorder;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * The file of one kind that is being written: {@code <kind>-20261121T04Z-<host>-<pid>-<part>.jsonl}, the hour being
 * the UTC hour of writing. A file is never opened twice: a full file, a second recorder or a recovered disk takes
 * the next part.
 *
 * <p>Only the writing thread uses it, except for {@link #path}.
 */
final class LogFile {
    private final Path directory;
    private final Kind kind;
    private final String origin;
    /** The open file, or null. */
    private volatile Path path;
    private FileChannel channel;
    private long size;
    private String hour;
    private int part;

    LogFile(Path folder, Kind kind, String origin) {
        this.directory = folder.resolve(kind.label);
        this.kind = kind;
        this.origin = origin;
    }

    Path directory() {
        return directory;
    }

    boolean isOpen(Path file) {
        return file.equals(path);
    }

    boolean isOpen() {
        return path != null;
    }

    boolean isOfAnotherHour(String now) {
        return path != null && !now.equals(hour);
    }

    long size() {
        return size;
    }

    /** Writes all or, if possible, nothing: a partial write on a full disk is truncated. */
    void write(byte[] lines, String now) throws IOException {
        if (path == null) {
            open(now);
        }
        try {
            ByteBuffer rest = ByteBuffer.wrap(lines);
            while (rest.hasRemaining()) {
                channel.write(rest);
            }
            size += lines.length;
        } catch (IOException e) {
            abandon();
            throw e;
        }
    }

    private void open(String now) throws IOException {
        Files.createDirectories(directory);
        part = now.equals(hour) ? part : 0;
        hour = now;
        while (path == null) {
            Path next = directory.resolve(kind.label + "-" + hour + "-" + origin + "-" + part++ + ".jsonl");
            if (Files.exists(next.resolveSibling(next.getFileName() + ".gz"))) {
                continue;
            }
            try {
                channel = FileChannel.open(next, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
                path = next;
            } catch (FileAlreadyExistsException e) {
                continue;
            }
        }
        size = 0;
    }

    private void abandon() {
        Path broken = path;
        try {
            channel.truncate(size);
        } catch (IOException e) {
            // A torn line stays; readers report it.
        }
        long whole = size;
        finish();
        try {
            if (whole == 0) {
                Files.deleteIfExists(broken);
            }
        } catch (IOException e) {
            // An empty file stays.
        }
    }

    /** Closes the file and returns it; null when none was open. */
    Path finish() {
        Path finished = path;
        try {
            if (channel != null) {
                channel.close();
            }
        } catch (IOException e) {
            // The lines were handed over by write(); there is nothing to repeat.
        }
        channel = null;
        path = null;
        size = 0;
        return finished;
    }
}
