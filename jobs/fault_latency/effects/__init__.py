"""What isolations did: choices, calls, incidents, minutes, days."""
