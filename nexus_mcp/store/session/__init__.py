"""plan.json and tasks.json as they are known: of a file that was seen before only what changed is read again."""
