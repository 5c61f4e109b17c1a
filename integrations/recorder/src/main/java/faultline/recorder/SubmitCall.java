package faultline.recorder;

/** The call that hands an async send to the client's network layer. */
public interface SubmitCall {
    /** It returned, or threw this exception. */
    void returned(Throwable thrown);
}
