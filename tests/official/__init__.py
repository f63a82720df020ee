"""The official conformance suite of MCP against `nexus-mcp serve --http`."""
