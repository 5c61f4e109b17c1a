package faultline.recorder;

/** The call by which an async send is handed to the client's network. */
public interface SubmitCall {
    /** It is over; the client may have thrown this out of it, else null. */
    void returned(Throwable thrown);
}
