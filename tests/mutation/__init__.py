"""Mutate our own tools and events: a mutant that no fixture notices shows a gap in the fixtures."""
