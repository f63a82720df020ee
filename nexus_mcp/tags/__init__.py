"""Bracket tags of a user message, such as [plan] and [m]: parse, explain and carry out."""
