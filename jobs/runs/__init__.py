"""One run of a flow: lock the lake, stage, publish, log."""
