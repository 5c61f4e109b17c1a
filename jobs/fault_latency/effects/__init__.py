"""Effects of isolations: on choices, calls, brokers, producers and order keys."""
