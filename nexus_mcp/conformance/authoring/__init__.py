"""How fixtures are written: what the format asks of an author, and what a suite claims to look at."""
