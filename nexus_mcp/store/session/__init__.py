"""Parse and write plan.json and tasks.json: of a file that was seen before only what changed is parsed again."""
