"""Check fixtures as their authors wrote them, and turn them into values."""
