"""Parts of HTTP servers that the board and the MCP server share: sockets, the running server, the projects file."""
