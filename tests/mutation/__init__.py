"""Mutate our own tools and events: a mutant that no fixture detects shows a gap in the fixtures."""
