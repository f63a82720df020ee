"""Mutations of our own tools and events: what the fixtures do not notice is a hole in them."""
