"""Tests of the client side of a server over HTTP."""
