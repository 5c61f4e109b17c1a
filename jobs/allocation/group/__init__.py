"""One day of one consumer group, as a walk over plain lists: `day.py` is its table of contents."""
