"""What somebody would write instead: each peer a program of its own that gives the same rows."""
