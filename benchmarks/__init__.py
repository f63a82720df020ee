"""Measurements and comparisons, which are never part of the tests."""
