"""Bracket tags in a user's message, such as [plan] and [m]: found, explained, and for some of them carried out."""
