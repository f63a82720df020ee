"""Add a tool, an event and a check to a copy of the tree: everything passes, and a missing part is named."""
