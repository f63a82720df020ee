"""Deliberately wrong servers, each with a small deviation from the correct one, to test the fixtures."""
