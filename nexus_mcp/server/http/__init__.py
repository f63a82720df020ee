"""Serve MCP over HTTP: who may call, which project a path names, the limits, and the SDK's transport behind them."""
