"""The documentation, and the generators of its generated parts."""
