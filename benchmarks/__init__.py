"""Measured comparisons. Never part of the tests."""
