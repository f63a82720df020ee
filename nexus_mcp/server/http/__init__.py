"""Serve MCP over HTTP: tokens, projects, limits, and the SDK's transport behind them."""
