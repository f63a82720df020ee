"""Texts as JSON and TOML take them, with nothing in them that would act on the terminal that shows them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def quoted(text: str) -> str:
    """The text as a string of JSON, which is one of TOML too."""
    import json

    written = json.dumps(text, ensure_ascii=False)
    # JSON leaves DEL as it is, in either mode.
    return "".join(c if c.isprintable() else "\\u007f" if c == "\x7f" else json.dumps(c)[1:-1] for c in written)


def quoted_list(texts: Iterable[str]) -> str:
    """The texts as an array of JSON, which is one of TOML too."""
    return f"[{', '.join(map(quoted, texts))}]"
