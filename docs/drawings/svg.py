"""Write SVG by hand: a transparent background, text as text, and colours for light and dark pages."""

from __future__ import annotations

from collections.abc import Iterable
from xml.sax.saxutils import escape

FONT = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', Verdana, sans-serif"
MONO = "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace"
# Name → (on a light page, on a dark page). A kind of box has three: its fill, its edge and its text.
COLOURS = {
    "ink": ("#1f2328", "#e6edf3"),
    "soft": ("#59636e", "#9aa7b4"),
    "line": ("#afb8c1", "#4d5661"),
    "grid": ("#e4e7eb", "#30363d"),
    "series-1": ("#0b6e4f", "#3fc794"),
    "series-2": ("#c1440e", "#ff8f66"),
    "series-3": ("#4a5fa5", "#94a8f0"),
    "series-4": ("#767676", "#a8a8a8"),
}
KINDS = {
    "waiting": (("#f0f1f3", "#8c959f", "#424a53"), ("#272c33", "#6e7681", "#c3ccd6")),
    "ready": (("#dbe9ff", "#2f6fd0", "#123f86"), ("#14315c", "#6ea8fe", "#cfe3ff")),
    "running": (("#fdeec4", "#b07d00", "#5c4100"), ("#46360c", "#e0b040", "#ffe7ae")),
    "done": (("#d5efe4", "#0b6e4f", "#064733"), ("#113a2d", "#3fc794", "#c9f3e2")),
    "history": (("#e9e2f8", "#6b4fb3", "#3d2a73"), ("#30264f", "#b39ddb", "#e6dcfb")),
    "denied": (("#fbe1db", "#c1440e", "#7a2706"), ("#4b2015", "#ff8f66", "#ffd9cb")),
    "plain": (("none", "#8c959f", "#1f2328"), ("none", "#6e7681", "#e6edf3")),
}
# Widths in ems, rounded up, of the widest of the fonts: an estimate that no text of ours exceeds.
_NARROW, _WIDE = "ijlt.,:;'|!()[]I f", "mwMW@—→%"


def variables() -> str:
    """Return the CSS that defines each colour as a variable, for light and for dark pages."""
    light, dark = ({name: pair[side] for name, pair in COLOURS.items()} for side in (0, 1))
    for kind, pair in KINDS.items():
        for mode, colours in ((light, pair[0]), (dark, pair[1])):
            mode.update(zip((f"{kind}-fill", f"{kind}-edge", f"{kind}-text"), colours, strict=True))
    return f":root{{{_declared(light)}}}@media(prefers-color-scheme:dark){{:root{{{_declared(dark)}}}}}"


def width_of(text: str, size: float = 13, *, mono: bool = False) -> float:
    """Return about how wide a text is, in the unit of `size`."""
    if mono:
        return len(text) * size * 0.61
    ems = sum(0.34 if char in _NARROW else 0.95 if char in _WIDE else 0.61 for char in text)
    return ems * size


class Picture:
    """Shapes on a transparent ground. `title` and `about` are what a screen reader reads."""

    def __init__(self, width: float, height: float, title: str, about: str) -> None:
        self.size = (width, height)
        self._title = title
        self._about = about
        self._parts: list[str] = []

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        colour: str = "ink",
        size: float = 13,
        anchor: str = "start",
        bold: bool = False,
        mono: bool = False,
    ) -> None:
        """Add a line of text; `y` is the middle of its height."""
        look = f"fill:var(--{colour});font-size:{_number(size)}px"
        look += ";font-weight:600" if bold else ""
        look += f";font-family:{MONO}" if mono else ""
        self._parts.append(
            f'<text x="{_number(x)}" y="{_number(y + size * 0.35)}" text-anchor="{anchor}" style="{look}">'
            f"{escape(text)}</text>"
        )

    def box(
        self, x: float, y: float, width: float, height: float, kind: str, *, dashed: bool = False, radius: float = 6
    ) -> None:
        """Add a rectangle in the colours of a kind."""
        look = f"fill:var(--{kind}-fill);stroke:var(--{kind}-edge);stroke-width:1.4"
        look += ";stroke-dasharray:5 3" if dashed else ""
        self._parts.append(
            f'<rect x="{_number(x)}" y="{_number(y)}" width="{_number(width)}" height="{_number(height)}" '
            f'rx="{_number(radius)}" style="{look}"/>'
        )

    def label(self, x: float, y: float, width: float, height: float, kind: str, *, lines: Iterable[str]) -> None:
        """Add a box with centred lines, the first one bold. A waiting one has a dashed edge."""
        self.box(x, y, width, height, kind, dashed=kind == "waiting")
        rows = list(lines)
        for number, line in enumerate(rows):
            middle = y + height / 2 + (number - (len(rows) - 1) / 2) * 16
            first = number == 0
            self.text(
                x + width / 2,
                middle,
                line,
                colour=f"{kind}-text",
                size=13 if first else 12,
                anchor="middle",
                bold=first and len(rows) > 1,
            )

    def dot(self, x: float, y: float, kind: str, radius: float = 4) -> None:
        """Add a filled circle in the edge colour of a kind."""
        self._parts.append(
            f'<circle cx="{_number(x)}" cy="{_number(y)}" r="{_number(radius)}" style="fill:var(--{kind}-edge)"/>'
        )

    def line(self, points: Iterable[tuple[float, float]], *, colour: str = "line", width: float = 1.4) -> None:
        """Add a line through the points."""
        path = " ".join(f"{_number(x)},{_number(y)}" for x, y in points)
        look = f"fill:none;stroke:var(--{colour});stroke-width:{_number(width)}"
        self._parts.append(f'<polyline points="{path}" style="{look}"/>')

    def arrow(self, path: str, *, colour: str = "soft") -> None:
        """Add an SVG path with a head at its end."""
        look = f"fill:none;stroke:var(--{colour});stroke-width:1.4"
        self._parts.append(f'<path d="{path}" marker-end="url(#head)" style="{look}"/>')

    def render(self) -> str:
        """Return the text of the file."""
        width, height = map(_number, self.size)
        head = (
            '<marker id="head" viewBox="0 0 8 8" refX="7.4" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
            '<path d="M0,0.6 L7.6,4 L0,7.4 z" style="fill:var(--soft)"/></marker>'
        )
        return "\n".join(
            (
                f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
                f'viewBox="0 0 {width} {height}" role="img" aria-labelledby="title about">',
                f'<title id="title">{escape(self._title)}</title>',
                f'<desc id="about">{escape(self._about)}</desc>',
                f"<style>{variables()}text{{font-family:{FONT}}}</style>",
                f"<defs>{head}</defs>",
                *self._parts,
                "</svg>\n",
            )
        )


def bend(start: tuple[float, float], end: tuple[float, float], *, down: bool = False) -> str:
    """Return a path from start to end that leaves and arrives along the direction of the layers."""
    (x1, y1), (x2, y2) = start, end
    if down:
        middle = (y1 + y2) / 2
        bow = f"{_number(x1)},{_number(middle)} {_number(x2)},{_number(middle)}"
    else:
        middle = (x1 + x2) / 2
        bow = f"{_number(middle)},{_number(y1)} {_number(middle)},{_number(y2)}"
    return f"M{_number(x1)},{_number(y1)} C{bow} {_number(x2)},{_number(y2)}"


def through(points: Iterable[tuple[float, float]]) -> str:
    """Return a path of straight lines through the points."""
    return f"M{' L'.join(f'{_number(x)},{_number(y)}' for x, y in points)}"


def _declared(values: dict[str, str]) -> str:
    return ";".join(f"--{name}:{value}" for name, value in values.items())


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
