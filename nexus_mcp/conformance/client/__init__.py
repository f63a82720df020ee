"""Connect to a target with the official MCP client: the only package of the suite that imports the SDK."""
