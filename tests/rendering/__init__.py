"""Tests of nexus_mcp/views: what people look at, as data."""
