"""Candidates for the search of a long history, and the cost of each on the same generated histories."""
