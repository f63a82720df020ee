"""The tool table as an MCP server, and the transports that carry it."""
