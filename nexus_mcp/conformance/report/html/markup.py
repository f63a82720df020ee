"""Build HTML in which every value is escaped unless it is of the class Html."""

from __future__ import annotations

from html import escape

from nexus_mcp.conformance.report.texts import block, one_line

_EMPTY = frozenset(("meta", "br", "rect"))
_LONGEST_ATTRIBUTE = 500


class Html(str):
    """Markup that is inserted without escaping."""

    __slots__ = ()


def text(value: str) -> Html:
    """Return the value as escaped text of the page, with its line breaks."""
    return Html(escape(block(value)))


def el(name: str, /, *children: str, **attributes: str | int) -> Html:
    """Return an element.

    `class_="a"` and `http_equiv="b"` are the attributes class and http-equiv. One whose value is "" is omitted.
    """
    attribute_text = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(one_line(str(value), _LONGEST_ATTRIBUTE))}"'
        for key, value in attributes.items()
        if value != ""
    )
    if name in _EMPTY:
        return Html(f"<{name}{attribute_text}>" if name != "rect" else f"<{name}{attribute_text}/>")
    return Html(f"<{name}{attribute_text}>{join(*children)}</{name}>")


def join(*children: str) -> Html:
    """Return the children one after the other; those that are not Html are escaped."""
    return Html("".join(child if isinstance(child, Html) else text(child) for child in children))


def fold(summary: str, *children: str, open_: bool = False, class_: str = "") -> Html:
    """Return a part of the page that is folded until the reader opens it; with `open_`, it is open from the start."""
    content = join(el("summary", summary), *children)
    kind = f' class="{escape(class_)}"' if class_ else ""
    return Html(f"<details{kind}{' open' if open_ else ''}>{content}</details>")


def anchor(test_id: str) -> str:
    """Return the id of the element for this fixture."""
    return "f-" + "".join(char if char.isascii() and (char.isalnum() or char in "_-") else "_" for char in test_id)


def duration(seconds: float) -> str:
    """Return "12 ms", "3.4 s" or "2 min 5 s"."""
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"
