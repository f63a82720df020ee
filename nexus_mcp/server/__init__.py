"""Serve the tool table as an MCP server over several transports."""
