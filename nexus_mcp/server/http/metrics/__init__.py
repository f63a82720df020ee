"""Count what the server does, and show it to Prometheus at /metrics."""
