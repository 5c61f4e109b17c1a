"""One run of a flow: hold the lake, stage, publish, log."""
