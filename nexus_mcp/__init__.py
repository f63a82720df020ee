"""nexus-mcp: a shared, durable plan and task list for coding agents, over MCP."""

__version__ = "0.1.0"
