"""The client side of a server over HTTP: its address, and requests to it. Hooks use it, so it imports little."""
