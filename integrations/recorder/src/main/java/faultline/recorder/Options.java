package faultline.recorder;

import java.nio.file.Path;
import java.nio.file.Paths;

/**
 * The recorder's options, as one text: {@code FOLDER[,name=value …]} or {@code stdout[,name=value …]}.
 * The agent's argument and {@link Recorder#start(String)} have the same form.
 */
final class Options {
    private static final String NAMES = "cluster, file_mb, folder_mb, keep_days, gzip, waiting_lines, order_keys";

    /** Where the files go, absolute; null when the lines go to standard output. */
    final Path folder;
    /** The RocketMQ cluster's name, or null: then Faultline takes its setting. */
    final String cluster;
    /** A file is finished at this size, or at the end of its hour. */
    final long fileBytes;
    /** Above this, the oldest finished files are deleted. */
    final long folderBytes;
    /** Finished files older than this are deleted. */
    final int keepDays;
    /** Whether finished files are compressed. */
    final boolean gzip;
    /** How many lines may wait for the writing thread, which bounds memory. */
    final int waitingLines;
    /** Whether selectors' keys are written. */
    final boolean orderKeys;

    private Options(Path folder, String[] pairs) {
        String clusterName = null;
        long fileMb = 64;
        long folderMb = 2048;
        long days = 7;
        boolean packed = true;
        long lines = 16_384;
        boolean keys = true;
        for (String pair : pairs) {
            String name = pair.substring(0, pair.indexOf('='));
            String value = pair.substring(name.length() + 1);
            switch (name) {
                case "cluster":
                    clusterName = value;
                    break;
                case "file_mb":
                    fileMb = number(name, value, 1, 4096);
                    break;
                case "folder_mb":
                    folderMb = number(name, value, 2, 1_048_576);
                    break;
                case "keep_days":
                    days = number(name, value, 1, 3650);
                    break;
                case "gzip":
                    packed = flag(name, value);
                    break;
                case "waiting_lines":
                    lines = number(name, value, 16, 1_048_576);
                    break;
                case "order_keys":
                    keys = flag(name, value);
                    break;
                default:
                    throw new IllegalArgumentException(
                        "unknown option " + name + " (value " + value + "); known are " + NAMES);
            }
        }
        if (fileMb > folderMb / 2) {
            throw new IllegalArgumentException(
                "file_mb=" + fileMb + " is more than half of folder_mb=" + folderMb + "; give a smaller file_mb");
        }
        this.folder = folder;
        this.cluster = clusterName;
        this.fileBytes = fileMb << 20;
        this.folderBytes = folderMb << 20;
        this.keepDays = (int) days;
        this.gzip = packed;
        this.waitingLines = (int) lines;
        this.orderKeys = keys;
    }

    /**
     * @param text {@code /var/log/app/faultline,cluster=main}; commas in the folder's name are its own unless a name
     *     and {@code =} follow
     * @throws IllegalArgumentException with the option, its value and the allowed values
     */
    static Options parse(String text) {
        String[] parts = text == null ? new String[] {""} : text.trim().split(",(?=[a-z_]+=)");
        String where = parts[0].trim();
        if (where.isEmpty() || where.matches("[a-z_]+=.*")) {
            throw new IllegalArgumentException(
                "no folder in '" + text + "'; give one: -javaagent:faultline-recorder.jar=/var/log/app/faultline");
        }
        String[] pairs = new String[parts.length - 1];
        System.arraycopy(parts, 1, pairs, 0, pairs.length);
        return new Options(where.equals("stdout") ? null : Paths.get(where).toAbsolutePath().normalize(), pairs);
    }

    private static long number(String name, String value, long least, long most) {
        try {
            long given = Long.parseLong(value);
            if (given >= least && given <= most) {
                return given;
            }
        } catch (NumberFormatException e) {
            // reported below
        }
        throw new IllegalArgumentException(
            name + "=" + value + " is not a number from " + least + " to " + most + "; give one");
    }

    private static boolean flag(String name, String value) {
        if (value.equals("true") || value.equals("false")) {
            return value.equals("true");
        }
        throw new IllegalArgumentException(name + "=" + value + " is neither true nor false; give one of them");
    }
}
