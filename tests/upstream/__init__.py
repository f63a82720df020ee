"""The differences between the upstream server and this contract, as expected failures."""
