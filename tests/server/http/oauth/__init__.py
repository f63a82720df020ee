"""OAuth over HTTP: a real authorization server on loopback, its tokens, and wrong ones."""
