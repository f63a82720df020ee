"""Candidates for the search of a long history: the cost of each, on the same generated histories."""
