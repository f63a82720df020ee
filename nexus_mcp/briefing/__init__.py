"""What an agent is given beside its prompt, and whether it is a new one: texts and decisions about one task."""
