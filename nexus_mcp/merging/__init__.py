"""Merge versions of history.json, and repair a conflicted or corrupt history.json (docs/merging.md)."""
