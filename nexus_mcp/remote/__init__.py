"""Parse the address of a server over HTTP, and send requests to it. Hooks use these modules, so they import little."""
