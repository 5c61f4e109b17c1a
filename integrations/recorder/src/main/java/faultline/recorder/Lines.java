package faultline.recorder;

import java.io.Closeable;
import java.io.IOException;

/** Destination of the writing thread. */
interface Lines extends Closeable {
    /**
     * Writes whole lines, all or none.
     *
     * @throws IOException when they are lost
     */
    void write(Kind kind, String lines) throws IOException;

    /** Periodic work: finishes the files of a past hour, compresses, deletes. Called a few times a second. */
    void tick();

    /** Whether recording is switched off from outside. Called once a second. */
    boolean isSwitchedOff();

    /** Writes a line of totals beside the logs. */
    void count(String line) throws IOException;
}
