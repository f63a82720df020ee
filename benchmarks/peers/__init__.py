"""The compared servers: ours, and others from npm, installed into .cache/ at pinned versions."""
