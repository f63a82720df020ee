"""Markup that cannot be broken out of: whatever is not Html already is escaped on its way in."""

from __future__ import annotations

from html import escape

from nexus_mcp.conformance.report.texts import block, one_line

_EMPTY = frozenset(("meta", "br", "rect"))
_LONGEST_ATTRIBUTE = 500


class Html(str):
    """Markup, to be put into the page as it is."""

    __slots__ = ()


def text(value: str) -> Html:
    """The value as text of the page, its lines kept."""
    return Html(escape(block(value)))


def el(name: str, /, *children: str, **attributes: str | int) -> Html:
    """An element. `class_="a"` and `http_equiv="b"` are the attributes class and http-equiv; "" leaves one out."""
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(one_line(str(value), _LONGEST_ATTRIBUTE))}"'
        for key, value in attributes.items()
        if value != ""
    )
    if name in _EMPTY:
        return Html(f"<{name}{given}>" if name != "rect" else f"<{name}{given}/>")
    return Html(f"<{name}{given}>{joined(*children)}</{name}>")


def joined(*children: str) -> Html:
    """The children one after the other."""
    return Html("".join(child if isinstance(child, Html) else text(child) for child in children))


def fold(summary: str, *children: str, open_: bool = False, class_: str = "") -> Html:
    """A part that the reader opens."""
    content = joined(el("summary", summary), *children)
    kind = f' class="{escape(class_)}"' if class_ else ""
    return Html(f"<details{kind}{' open' if open_ else ''}>{content}</details>")


def anchor(test_id: str) -> str:
    """The id of the element that tells of this fixture."""
    return "f-" + "".join(char if char.isascii() and (char.isalnum() or char in "_-") else "_" for char in test_id)
