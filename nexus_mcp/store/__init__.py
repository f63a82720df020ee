"""The files below `.nexus/`: read strictly, written whole and durably, under one lock."""
