"""What is known of a producer: its rules, processes, attempts and routes."""
