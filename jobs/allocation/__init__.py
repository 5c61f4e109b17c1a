"""The second flow: snapshots of groups and routes to who should own which queue, who did, and why not."""
