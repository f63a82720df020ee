"""Write the pictures of the documentation: `python -m docs.drawings`."""

from __future__ import annotations

from docs.drawings.pictures import FOLDER, drawn

if __name__ == "__main__":
    for name, text in drawn().items():
        (FOLDER / f"{name}.svg").write_text(text, encoding="utf-8")
