"""Merge versions of history.json, and repair one that is conflicted or damaged (docs/merging.md)."""
