"""One fixture against one target: its project, its steps, what is judged of them."""
