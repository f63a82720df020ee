"""Read the files below `.nexus/` strictly, and write most of them whole, durably and under one lock."""
