package faultline.recorder;

/** {@code faultline:type=Recorder}: what the recorder has done since its start, and its switch. */
public interface RecorderMXBean {
    /** Whether it records. If false, sends are not recorded; their numbers leave a gap in {@code seq}. */
    boolean isRecording();

    void setRecording(boolean recording);

    /** The folder of the files, or {@code stdout}. */
    String getFolder();

    /** Producers recorded since the start, closed ones too. */
    long getProducers();

    long getSends();

    long getFaultItemUpdates();

    int getWaitingLines();

    long getDroppedQueueFull();

    long getLostOnDisk();

    long getSwitchedOff();

    long getNotStamped();

    long getFilesDeleted();
}
