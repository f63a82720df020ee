"""The charts of docs/performance.md. curves.py chooses the data without matplotlib; draw.py draws them."""
