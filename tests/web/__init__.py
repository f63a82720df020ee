"""Tests of the parts that HTTP servers share."""
