"""The servers that are compared: ours, and those of others from npm, installed into .cache/ at pinned versions."""
