"""What client logs say of queue ownership: plain functions over the lines of one process, in their order."""
