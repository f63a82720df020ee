"""history.json where git, or a crash of something else, left it in several versions or in pieces (docs/merging.md)."""
