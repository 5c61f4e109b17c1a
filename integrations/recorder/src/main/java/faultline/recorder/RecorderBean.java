package faultline.recorder;

import java.util.concurrent.atomic.AtomicLong;

final class RecorderBean implements RecorderMXBean {
    private final Options options;
    private final Output output;
    private final Counts counts;
    private final AtomicLong producers;

    RecorderBean(Options options, Output output, Counts counts, AtomicLong producers) {
        this.options = options;
        this.output = output;
        this.counts = counts;
        this.producers = producers;
    }

    @Override
    public boolean isRecording() {
        return output.isOn();
    }

    @Override
    public void setRecording(boolean recording) {
        output.switchTo(recording);
    }

    @Override
    public String getFolder() {
        return options.folder == null ? "stdout" : options.folder.toString();
    }

    @Override
    public long getProducers() {
        return producers.get();
    }

    @Override
    public long getSends() {
        return counts.sends.get();
    }

    @Override
    public long getFaultItemUpdates() {
        return counts.faultItemUpdates.get();
    }

    @Override
    public int getWaitingLines() {
        return output.waitingLines();
    }

    @Override
    public long getDroppedQueueFull() {
        return counts.droppedQueueFull.get();
    }

    @Override
    public long getLostOnDisk() {
        return counts.lostOnDisk.get();
    }

    @Override
    public long getSwitchedOff() {
        return counts.switchedOff.get();
    }

    @Override
    public long getNotStamped() {
        return counts.notStamped.get();
    }

    @Override
    public long getFilesDeleted() {
        return counts.filesDeleted.get();
    }
}
