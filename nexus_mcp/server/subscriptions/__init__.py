"""Subscriptions to resources: which files they depend on, and polling those files four times a second."""
