"""The board: its guard, its pages, its stream of changes and its export, without a browser (see tests/browser)."""
