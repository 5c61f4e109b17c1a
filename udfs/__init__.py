"""Rules of RocketMQ's clients as Column expressions. Nothing here opens a session or reads a file."""
