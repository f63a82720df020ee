"""Tests of nexus_mcp/run: tasks done by real agents."""
