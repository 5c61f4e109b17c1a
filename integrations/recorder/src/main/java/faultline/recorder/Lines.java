package faultline.recorder;

import java.io.Closeable;
import java.io.IOException;

/** Where the writing thread puts lines. */
interface Lines extends Closeable {
    /**
     * Writes whole lines, all of them or none that counts.
     *
     * @throws IOException when they are lost
     */
    void write(Kind kind, String lines) throws IOException;

    /** What is due with time: finishes the files of a past hour, packs, deletes. Called a few times a second. */
    void tick();

    /** Is recording switched off from outside? Asked once a second. */
    boolean isSwitchedOff();

    /** Writes a line of totals beside the logs. */
    void count(String line) throws IOException;
}
