"""The session and what it needs of this machine."""
