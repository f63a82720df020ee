"""The upstream server and this contract: what differs, kept as expected failures."""
