"""Serve subscriptions to resources: find the files on which they depend, and poll those files four times a second."""
