package faultline.recorder;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FileLinesTest {
    private static final String MEGABYTE = line(1 << 20);

    @TempDir
    Path folder;
    private final Counts counts = new Counts();
    private long nowMs = Instant.parse("2026-11-21T04:59:59.000Z").toEpochMilli();

    private static String line(int bytes) {
        char[] text = new char[bytes - 1];
        Arrays.fill(text, 'x');
        return new String(text) + "\n";
    }

    private FileLines lines(String options) {
        return new FileLines(Options.parse(folder + options), "host-7", counts, () -> nowMs);
    }

    private List<String> names(Kind kind) throws IOException {
        List<String> names = new ArrayList<>();
        if (Files.isDirectory(folder.resolve(kind.label))) {
            try (Stream<Path> files = Files.list(folder.resolve(kind.label))) {
                files.sorted().forEach(file -> names.add(file.getFileName().toString()));
            }
        }
        return names;
    }

    private Path file(String name, int kilobytes, String writtenAt) throws IOException {
        Path file = folder.resolve("sends").resolve(name);
        Files.createDirectories(file.getParent());
        Files.write(file, new byte[kilobytes << 10]);
        Files.setLastModifiedTime(file, FileTime.from(Instant.parse(writtenAt)));
        return file;
    }

    @Test
    void eachKindHasAFolderAndAFileOfItsOwn() throws IOException {
        FileLines lines = lines(",gzip=false");
        lines.write(Kind.SENDS, "a\nb\n");
        lines.write(Kind.FAULT_ITEM_UPDATES, "c\n");
        lines.write(Kind.SENDS, "d\n");
        lines.close();
        assertEquals(Arrays.asList("sends-20261121T04Z-host-7-0.jsonl"), names(Kind.SENDS));
        assertEquals(
            Arrays.asList("fault_item_updates-20261121T04Z-host-7-0.jsonl"), names(Kind.FAULT_ITEM_UPDATES));
        assertEquals(
            Arrays.asList("a", "b", "d"), Files.readAllLines(folder.resolve("sends/sends-20261121T04Z-host-7-0.jsonl")));
    }

    @Test
    void aFileEndsWithItsHourAlsoWhenNothingIsWritten() throws IOException {
        FileLines lines = lines(",gzip=false");
        lines.write(Kind.SENDS, "a\n");
        nowMs += 1_000;
        lines.tick();
        lines.write(Kind.SENDS, "b\n");
        lines.close();
        assertEquals(
            Arrays.asList("sends-20261121T04Z-host-7-0.jsonl", "sends-20261121T05Z-host-7-0.jsonl"), names(Kind.SENDS));
    }

    @Test
    void aFullFileIsPackedAndTheNextPartBegins() throws IOException {
        FileLines lines = lines(",file_mb=1");
        lines.write(Kind.SENDS, MEGABYTE);
        lines.write(Kind.SENDS, "b\n");
        lines.close();
        assertEquals(
            Arrays.asList("sends-20261121T04Z-host-7-0.jsonl.gz", "sends-20261121T04Z-host-7-1.jsonl"),
            names(Kind.SENDS));
        byte[] unpacked = new byte[(1 << 20) + 1];
        int size = 0;
        try (InputStream in = new GZIPInputStream(
                Files.newInputStream(folder.resolve("sends/sends-20261121T04Z-host-7-0.jsonl.gz")))) {
            for (int read = 0; read >= 0; read = in.read(unpacked, size, unpacked.length - size)) {
                size += read;
            }
        }
        assertEquals(1 << 20, size);
    }

    @Test
    void aSecondRecorderTakesTheNextPartPackedOnesCounted() throws IOException {
        file("sends-20261121T04Z-host-7-0.jsonl.gz", 1, "2026-11-21T04:00:00Z");
        file("sends-20261121T04Z-host-7-1.jsonl", 1, "2026-11-21T04:00:00Z");
        FileLines lines = lines("");
        lines.write(Kind.SENDS, "a\n");
        lines.close();
        assertTrue(names(Kind.SENDS).contains("sends-20261121T04Z-host-7-2.jsonl"));
    }

    @Test
    void whatEndedProcessesLeftIsPackedAndWhatMayBeOpenIsNot() throws IOException {
        Path left = file("sends-20261121T02Z-other-1-0.jsonl", 1, "2026-11-21T02:59:00Z");
        file("sends-20261121T04Z-other-2-0.jsonl", 1, "2026-11-21T03:01:00Z");
        file("notes-20261121T02Z-other-1-0.jsonl", 1, "2026-11-21T02:00:00Z");
        file(".sends-20261121T01Z-other-1-0.jsonl.part", 1, "2026-11-21T01:00:00Z");
        FileTime written = Files.getLastModifiedTime(left);
        lines("").tickAndWait();
        assertEquals(
            Arrays.asList("notes-20261121T02Z-other-1-0.jsonl", "sends-20261121T02Z-other-1-0.jsonl.gz",
                "sends-20261121T04Z-other-2-0.jsonl"),
            names(Kind.SENDS));
        assertEquals(written, Files.getLastModifiedTime(folder.resolve("sends/sends-20261121T02Z-other-1-0.jsonl.gz")));
        assertEquals(0, counts.filesDeleted.get());
    }

    @Test
    void theOldestMakeRoomAboveTheCap() throws IOException {
        file("sends-20261121T01Z-other-1-0.jsonl.gz", 900, "2026-11-21T01:59:00Z");
        file("sends-20261121T02Z-other-1-0.jsonl.gz", 900, "2026-11-21T02:59:00Z");
        file("sends-20261121T03Z-other-1-0.jsonl.gz", 900, "2026-11-21T03:59:00Z");
        lines(",folder_mb=2,file_mb=1").tickAndWait();
        assertEquals(
            Arrays.asList("sends-20261121T02Z-other-1-0.jsonl.gz", "sends-20261121T03Z-other-1-0.jsonl.gz"),
            names(Kind.SENDS));
        assertEquals(1, counts.filesDeleted.get());
    }

    @Test
    void theCapHoldsWhereNothingIsPacked() throws IOException {
        FileLines lines = lines(",folder_mb=2,file_mb=1,gzip=false");
        for (int i = 0; i < 5; i++) {
            lines.write(Kind.SENDS, MEGABYTE);
        }
        lines.close();
        assertEquals(2, names(Kind.SENDS).size());
        assertEquals(3, counts.filesDeleted.get());
    }

    @Test
    void aFileThatCouldNotBePackedIsPackedTheNextTime() throws IOException {
        FileLines lines = lines(",file_mb=1");
        Files.createDirectories(folder.resolve("sends/.sends-20261121T04Z-host-7-0.jsonl.part")); // in the way, once
        lines.write(Kind.SENDS, MEGABYTE);
        lines.tickAndWait();
        assertEquals(Arrays.asList("sends-20261121T04Z-host-7-0.jsonl.gz"), names(Kind.SENDS));
    }

    @Test
    void theOpenFileStaysAboveTheCap() throws IOException {
        FileLines lines = lines(",folder_mb=2,file_mb=1");
        lines.write(Kind.SENDS, line((1 << 20) - 1));
        file("sends-20261121T03Z-other-1-0.jsonl.gz", 2048, "2026-11-21T03:59:00Z");
        nowMs += 1_000;
        Files.setLastModifiedTime(
            folder.resolve("sends/sends-20261121T04Z-host-7-0.jsonl"), FileTime.fromMillis(nowMs - 10_000_000));
        nowMs -= 1_000;
        lines.tickAndWait();
        assertEquals(Arrays.asList("sends-20261121T04Z-host-7-0.jsonl"), names(Kind.SENDS));
    }

    @Test
    void filesOlderThanKeptDaysGo() throws IOException {
        file("sends-20261118T01Z-other-1-0.jsonl.gz", 1, "2026-11-18T04:00:00Z");
        file("sends-20261119T01Z-other-1-0.jsonl.gz", 1, "2026-11-19T05:30:00Z");
        Path counters = folder.resolve("counters-other-1.jsonl");
        Files.write(counters, new byte[] {'\n'});
        Files.setLastModifiedTime(counters, FileTime.from(Instant.parse("2026-11-18T04:00:00Z")));
        lines(",keep_days=2").tickAndWait();
        assertEquals(Arrays.asList("sends-20261119T01Z-other-1-0.jsonl.gz"), names(Kind.SENDS));
        assertTrue(Files.notExists(counters));
    }

    @Test
    void aBrokenDiskIsTriedAgainAfterFiveSeconds() throws IOException {
        Path inTheWay = folder.resolve("sends");
        Files.write(inTheWay, new byte[0]);
        FileLines lines = lines("");
        assertThrows(IOException.class, () -> lines.write(Kind.SENDS, "a\n"));
        Files.delete(inTheWay);
        assertThrows(IOException.class, () -> lines.write(Kind.SENDS, "b\n"));
        nowMs += 5_000;
        lines.write(Kind.SENDS, "c\n");
        lines.close();
        assertEquals(Arrays.asList("sends-20261121T05Z-host-7-0.jsonl"), names(Kind.SENDS));
    }
}
