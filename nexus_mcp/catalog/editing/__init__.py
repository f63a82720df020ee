"""Changes of a project's own YAML files by command: comments stay, and nothing is written that could not be read."""
