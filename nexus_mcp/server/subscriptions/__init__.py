"""Serve subscriptions to resources and lists: poll, four times a second, the files on which they depend."""
