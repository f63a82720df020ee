"""Draw the charts as SVG: the same bytes for the same result, text as text, for light and dark pages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.client import ROOT
from benchmarks.figures import BUN, NODE, OURS
from benchmarks.goals import SIZES
from benchmarks.plots.curves import LABELS, NO_INDEX, Panel, bars, digest, growth, memory
from docs.drawings.svg import variables

FOLDER = ROOT / "docs" / "pictures"
# matplotlib draws in colours that stand for variables of CSS; `adaptive` puts the variables in their place.
_INK, _GRID = "#010101", "#020202"
_OTHER = "#030304"
COLOURS = {OURS: "#030301", NO_INDEX: "#030301", NODE: "#030302", BUN: "#030303"}
_VARIABLES = {
    _INK: "ink",
    _GRID: "grid",
    **{f"#03030{number}": f"series-{number}" for number in range(1, 5)},
}
DASHES = {NO_INDEX: (0, (2, 2))}
MARKS = {OURS: "o", NO_INDEX: "s", NODE: "^", BUN: "D"}
_STYLE: dict[str, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "nexus-mcp",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial"],
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.grid": True,
    "axes.axisbelow": True,
    "text.color": _INK,
    "axes.edgecolor": _INK,
    "axes.labelcolor": _INK,
    "axes.titlecolor": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "grid.color": _GRID,
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
}


def draw(result: dict[str, Any], folder: Path = FOLDER) -> list[Path]:
    """Draw growth.svg, memory.svg and start.svg. Raise ImportError without matplotlib, which `make bench` installs."""
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot

    folder.mkdir(parents=True, exist_ok=True)
    written = []
    with mpl.rc_context(_STYLE):
        growing, most, costs = growth(result), memory(result), bars(result)
        for name, shown, picture in (
            ("growth", growing, _growth(pyplot, growing)),
            ("memory", most, _memory(pyplot, most)),
            ("start", costs, _bars(pyplot, costs)),
        ):
            path = folder / f"{name}.svg"
            about = {"Date": None, "Creator": None, "Description": f"of benchmarks/results/table.json: {digest(shown)}"}
            picture.savefig(path, format="svg", metadata=about)
            pyplot.close(picture)
            # matplotlib writes spaces at the ends of lines, which editors remove.
            text = "".join(f"{line.rstrip()}\n" for line in path.read_text(encoding="utf-8").splitlines())
            path.write_text(adaptive(text), encoding="utf-8")
            written.append(path)
    return written


def adaptive(text: str) -> str:
    """Return the SVG with variables in place of the colours, and their values for light and for dark pages."""
    for colour, name in _VARIABLES.items():
        text = text.replace(colour, f"var(--{name})")
    return text.replace('<style type="text/css">', f'<style type="text/css">{variables()}', 1)


def _growth(pyplot: Any, panels: list[Panel]) -> Any:
    picture, grid = pyplot.subplots(2, 3, figsize=(11, 6.6), layout="constrained", sharey=True)
    *axes, rest = grid.flat
    for axis, panel in zip(axes, panels, strict=True):
        _lines(axis, panel)
        axis.set_title(panel.title)
    for axis in grid[:, 0]:
        axis.set_ylabel("ms (log)")
    for axis in axes[2:]:
        axis.set_xlabel("cycles in history.json (log)")
    rest.axis("off")
    handles: dict[str, Any] = {}
    for axis in axes:
        found, labels = axis.get_legend_handles_labels()
        handles |= dict(zip(labels, found, strict=True))
    rest.legend(handles.values(), handles.keys(), loc="center", frameon=False, fontsize=11)
    return picture


def _memory(pyplot: Any, panel: Panel) -> Any:
    picture, axis = pyplot.subplots(figsize=(6.4, 4), layout="constrained")
    _lines(axis, panel)
    axis.set_title(panel.title)
    axis.set_ylabel("MB (log)")
    axis.set_xlabel("cycles in history.json (log)")
    axis.legend(frameon=False)
    return picture


def _lines(axis: Any, panel: Panel) -> None:
    for name, points in panel.lines.items():
        axis.plot(
            *zip(*points, strict=True),
            color=COLOURS[name],
            linestyle=DASHES.get(name, "-"),
            marker=MARKS[name],
            markersize=5,
            linewidth=1.8,
            label=LABELS.get(name, name.replace(OURS, LABELS[OURS])),
        )
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xticks(SIZES, [f"{size:,}".replace(",", " ") for size in SIZES])
    axis.minorticks_off()
    axis.yaxis.set_major_formatter("{x:g}")


def _bars(pyplot: Any, groups: dict[str, list[tuple[str, float]]]) -> Any:
    most = max(map(len, groups.values()), default=1)
    picture, axes = pyplot.subplots(1, len(groups), figsize=(11, 0.45 * most + 1), layout="constrained")
    colours = {LABELS[name]: colour for name, colour in COLOURS.items() if name in LABELS}
    for axis, (title, values) in zip(axes, groups.items(), strict=True):
        names = [name for name, _ in values]
        drawn = axis.barh(names, [value for _, value in values], color=[colours.get(name, _OTHER) for name in names])
        axis.bar_label(drawn, fmt="{:.0f}", padding=3)
        axis.set_title(title)
        axis.invert_yaxis()
        axis.grid(visible=False, axis="y")
        axis.margins(x=0.12)
    return picture
