"""A producer's fault items: writes, replay, isolations, closing state."""
