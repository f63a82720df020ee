"""Read and check what the user sets: options, expected failures, and the selection of fixtures."""
