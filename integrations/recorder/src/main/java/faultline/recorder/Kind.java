package faultline.recorder;

/** The two logs, each a folder of its own and an input of Faultline. */
public enum Kind {
    SENDS("sends"),
    FAULT_ITEM_UPDATES("fault_item_updates");

    /** The folder's name, and the beginning of its files' names. */
    final String label;

    Kind(String label) {
        this.label = label;
    }
}
