"""Compare our server with other task servers: run each one, and call its tools through a map."""
