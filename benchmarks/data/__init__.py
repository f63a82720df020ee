"""Seeded projects: the same seed makes the same bytes, in the layout that the servers write."""
