"""The session and its requirements on this machine."""
