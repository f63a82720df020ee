"""Tests of the server over HTTP."""
