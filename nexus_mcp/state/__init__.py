"""Plans, tasks and history as plain values, and the transitions between them. No input or output happens here."""
