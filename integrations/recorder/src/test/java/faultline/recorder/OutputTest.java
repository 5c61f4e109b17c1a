package faultline.recorder;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;

class OutputTest {
    private final Counts counts = new Counts();
    private final List<String> written = new ArrayList<>();
    private final CountDownLatch stuck = new CountDownLatch(1);
    private final CountDownLatch free = new CountDownLatch(1);

    /** A disk that is slow with the first lines. */
    private final class Slow implements Lines {
        @Override
        public void write(Kind kind, String lines) throws IOException {
            stuck.countDown();
            try {
                free.await();
            } catch (InterruptedException e) {
                throw new IOException(e);
            }
            if (lines.contains("bad")) {
                throw new IOException("no room");
            }
            written.add(kind.label + " " + lines);
        }

        @Override
        public void tick() {
            throw new IllegalStateException("nothing that goes wrong here ends the writing");
        }

        @Override
        public boolean isSwitchedOff() {
            return false;
        }

        @Override
        public void count(String line) {
            written.add(line);
        }

        @Override
        public void close() {
            written.add("closed");
        }
    }

    @Test
    void whatNoRoomIsForIsDroppedAtOnceAndCounted() throws InterruptedException {
        Output output = new Output(new Slow(), 16, counts, "host-7");
        output.start();
        output.offer(Kind.SENDS, "first\n");
        stuck.await();
        for (int i = 0; i < 20; i++) {
            output.offer(Kind.SENDS, i + "\n");
        }
        assertEquals(16, output.waitingLines());
        assertEquals(4, counts.droppedQueueFull.get());
        free.countDown();
        output.close();
        assertEquals(17, counts.sends.get());
        output.offer(Kind.SENDS, "late\n");
        assertEquals(5, counts.droppedQueueFull.get());
        int last = written.size() - 1;
        assertEquals("closed", written.get(last - 1));
        assertTrue(written.get(last).contains("\"sends\":17,\"fault_item_updates\":0,\"dropped_queue_full\":4"));
    }

    @Test
    void linesThatTheDiskDoesNotTakeAreCounted() {
        free.countDown();
        Output output = new Output(new Slow(), 16, counts, "host-7");
        output.offer(Kind.SENDS, "bad\n");
        output.offer(Kind.FAULT_ITEM_UPDATES, "good\n");
        output.offer(Kind.SENDS, "in the same batch\n");
        output.start();
        output.close();
        assertEquals(2, counts.lostOnDisk.get());
        assertEquals(1, counts.faultItemUpdates.get());
        assertEquals("fault_item_updates good\n", written.get(0));
    }

    @Test
    void switchedOffNothingIsWantedAndEachIsCounted() {
        Output output = new Output(new Slow(), 16, counts, "host-7");
        assertTrue(output.wants());
        output.switchTo(false);
        assertFalse(output.wants());
        assertFalse(output.wants());
        assertEquals(2, counts.switchedOff.get());
        output.switchTo(true);
        assertTrue(output.wants());
    }
}
