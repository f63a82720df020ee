"""Deliberately wrong servers, each a small deviation of the correct one: fixtures are worth what they catch."""
