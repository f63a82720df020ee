"""Black-box driving of MCP servers: nothing in here knows our own tools."""
