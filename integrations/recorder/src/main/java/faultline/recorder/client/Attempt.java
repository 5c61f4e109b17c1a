package faultline.recorder.client;

/** One attempt of a {@link Sending}: the fields of its line that are not shared by all attempts of the send. */
final class Attempt {
    final String brokerAddr;
    final int queueId;
    final int number;
    final String thread = Thread.currentThread().getName();
    String brokerName;
    /** Of an async retry: the broker of the try before it. */
    String previousBrokerName;
    long startedAtMs;
    Long submittedAtMs;
    boolean ended;
    long endedAtMs;
    long seq;
    String outcome;
    String cause;
    Integer responseCode;
    String error;
    String msgId;
    String resultBrokerName;

    Attempt(String brokerName, String brokerAddr, int queueId, int number) {
        this.brokerName = brokerName;
        this.brokerAddr = brokerAddr;
        this.queueId = queueId;
        this.number = number;
    }
}
