package faultline.recorder;

import java.util.concurrent.atomic.AtomicLong;

/** Counts of lines since the recorder's start. Each line with a {@code seq} is counted in one of these. */
public final class Counts {
    final AtomicLong sends = new AtomicLong();
    final AtomicLong faultItemUpdates = new AtomicLong();
    /** Dropped because the queue was full. */
    final AtomicLong droppedQueueFull = new AtomicLong();
    /** Writing to disk or standard output failed. */
    final AtomicLong lostOnDisk = new AtomicLong();
    /** The recorder was switched off. */
    final AtomicLong switchedOff = new AtomicLong();
    /** No line was made: another hook replaced the context's properties, or the recorder itself failed. */
    final AtomicLong notStamped = new AtomicLong();
    /** Files deleted because the folder was too large, or they were too old. */
    final AtomicLong filesDeleted = new AtomicLong();

    /** Counts an attempt or an update without a line, and without a number. */
    public void notStamped() {
        notStamped.incrementAndGet();
    }

    long losses() {
        return droppedQueueFull.get() + lostOnDisk.get() + switchedOff.get() + notStamped.get() + filesDeleted.get();
    }

    String json(long nowMs, String process) {
        return new JsonLine().add("counted_at_ms", nowMs).add("process", process)
            .add("sends", sends.get()).add("fault_item_updates", faultItemUpdates.get())
            .add("dropped_queue_full", droppedQueueFull.get()).add("lost_on_disk", lostOnDisk.get())
            .add("switched_off", switchedOff.get()).add("not_stamped", notStamped.get())
            .add("files_deleted", filesDeleted.get()).end();
    }
}
