"""Rules of a producer, its processes, its attempts, and the routes that it knew."""
