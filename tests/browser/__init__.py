"""The board in a real browser: `python -m tests.browser` runs these tests where there is one."""
