"""Tests of the spans and metrics that a server sends."""
