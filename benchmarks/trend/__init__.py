"""Detect calls that became clearly slower than recorded, by ratios within one run, never by absolute times."""
