"""The skills extension of MCP."""
