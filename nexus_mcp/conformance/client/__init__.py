"""The official MCP client, connected to a target: the only package of the suite that knows the SDK."""
