"""The parts of `nexus-mcp demo`: the project it makes, the calls it sends, how it shows them."""
