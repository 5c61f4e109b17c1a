"""What a producer's day showed that somebody should know: one module per kind of finding."""
