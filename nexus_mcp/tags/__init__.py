"""Parse, explain and carry out bracket tags of a user message, such as [plan] and [m]."""
