"""Judge any MCP server by fixtures, as a black box: nothing in this package knows the tools of nexus-mcp."""
