"""What is said on a screen."""
