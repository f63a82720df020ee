"""Start, feed, watch and bound the processes of targets, and end them with all their children."""
