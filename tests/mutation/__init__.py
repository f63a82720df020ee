"""Mutations of our own tools: what the fixtures do not notice is a hole in them."""
