"""The pictures of docs/performance.md. What is drawn is chosen in curves.py, without matplotlib; draw.py draws it."""
