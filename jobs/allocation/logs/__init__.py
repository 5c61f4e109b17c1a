"""What client logs show of queue ownership: plain functions over the lines of one process, in their order."""
