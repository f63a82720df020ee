"""Measure servers over HTTP: the SDK's own server without a store, a client for many connections, memory of streams."""
