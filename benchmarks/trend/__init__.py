"""Whether anything became clearly slower than it was recorded. Ratios within one run, never times."""
