"""Write docs/compared.md from benchmarks/results/compared.json: `make docs`. A test compares the page with the file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from benchmarks import report, results
from benchmarks.client import ROOT
from benchmarks.compared import probes
from benchmarks.figures import NODE, OURS

RESULT = results.FOLDER / "compared.json"
PAGE = ROOT / "docs" / "compared.md"
WRONG = "not as the map says"
NOT_JUDGED = {"verdict": "not judged", "note": ""}
_MEASURED = {"nexus-mcp": OURS, "nexus-core": NODE}
__REASONS = 3
_REASON = 90
"""Characters of a message that are shown."""
_HEAD = """\
# Beside other servers

<!-- Written by `make docs` from benchmarks/results/compared.json. Do not edit. -->

Choose here between nexus-mcp and other servers that keep tasks for agents. We started each server without a network,
in new projects, and called its tools. The page was made by the authors of nexus-mcp, who chose the rows. So read also
[what the others do and nexus-mcp does not](#what-the-others-do-beyond-the-contract).

*Upstream* is the package `@moreih29/nexus-core` on npm, the server from which the contract of nexus-mcp comes. The
packages of the other two are `backlog.md` and `task-master-ai`.

```sh
make compared
```

This fetches the servers from npm into `.cache/`, runs everything and writes the results.
[compared.json](../benchmarks/results/compared.json) has the requests and answers behind each cell. A map of each
server, in `conformance/maps/`, names its tools, and says where its answers have the fields of the
[contract](contract.md). A map can leave out, rename, collect and count values of an answer. It cannot add a value that
the server did not answer.
"""
_FIXTURES = """\
## Fixtures of the conformance suite

The suite judges the contract of nexus-mcp, which the other servers never promised to keep. A fixture that fails shows
a difference, not a fault. `3 of 66` means that 66 fixtures could run, and 3 of them passed. A fixture cannot run if it
needs a tool or a parameter that the server lacks, or files that only a Nexus server has. Backlog.md and task-master
keep files of their own, so only their answers are judged. `–` means that no fixture could run. Fixtures for lifecycle
events and for the executor are left out.

Upstream has two columns. *Without a map* only the prefix of its tools is known, and it is judged with
`--require-all-tools`: a fixture that needs a missing tool fails. One fixture that passes or fails by chance counts as
passed there. [upstream.md](upstream.md) explains the failures.
"""
_BEYOND = """\
## What the others do beyond the contract

The tools of the contract of nexus-mcp are for one plan and one list of tasks. These servers do more. Each item was seen
in the run, in an answer, in a file or in the output of a command.
"""
_NOT_TRIED = """\
## What was not tried

- Everything that needs a model or a key: most tools of task-master let a model write and expand tasks.
- Everything that needs a network or a screen, such as boards in a browser.
- A power cut. [reliability.md](reliability.md) describes how nexus-mcp survives one.
- Projects in git: Backlog.md was set up with `--no-git`.
"""


def text() -> str:
    """Return the text of the page."""
    known = {name: one for name, one in results.read(RESULT).items() if "cells" in one}
    return "\n".join((_HEAD, *_cells(known), *_fixtures(known), *_costs(known), *_beyond(known), _NOT_TRIED))


def write() -> None:
    """Write the page."""
    PAGE.write_text(text(), encoding="utf-8")


def _title(one: Mapping[str, Any]) -> str:
    return f"{one['title']} {one['version']}"


def _cells(known: Mapping[str, Any]) -> list[str]:
    lines = ["## What each server keeps", "", _row(["", *(_title(one) for one in known.values())]), _rule(len(known))]
    for row, (words, _) in probes.ROWS.items():
        lines.append(_row([words, *(_cell(one["cells"].get(row, NOT_JUDGED)) for one in known.values())]))
    missing = [one["title"] for one in known.values() if one["cells"].keys() < probes.ROWS.keys()]
    if missing:
        lines += ["", f"The stored run of {', '.join(missing)} is incomplete; `make compared` adds the missing cells."]
    return [*lines, ""]


def _cell(found: Mapping[str, Any]) -> str:
    return f"{found['verdict']}: {found['note']}" if found["note"] else str(found["verdict"])


def _fixtures(known: Mapping[str, Any]) -> list[str]:
    columns: list[tuple[str, Mapping[str, Any]]] = []
    ran = {name: one for name, one in known.items() if "fixtures" in one}
    for name, one in ran.items():
        if name == "nexus-core":
            columns += [(f"{one['title']}, without a map", one["fixtures"]["plain"])]
        columns.append((one["title"], one["fixtures"]["counts"]))
    lines = [_FIXTURES, _row(["fixtures about", "all", *(title for title, _ in columns)]), _rule(len(columns) + 1)]
    areas = {area: sum(counts.values()) for area, counts in columns[0][1].items()}
    for area, number in areas.items():
        lines.append(_row([area, str(number), *(_ran(counts[area]) for _, counts in columns)]))
    totals = [_total(counts) for _, counts in columns]
    lines.append(_row(["all", str(sum(areas.values())), *(_ran(total) for total in totals)]))
    lines += ["", "The most frequent first failures, with the number of fixtures that have each:", ""]
    for one in ran.values():
        reasons = Counter(reason(what) for what in one["fixtures"]["outcomes"].values() if what.startswith("failed"))
        shown = [f"{_code(reason)} ({number})" for reason, number in reasons.most_common(__REASONS)]
        lines += [f"- **{one['title']}**: {', '.join(shown)}"] * bool(shown)
    return [*lines, ""]


def _ran(counts: Mapping[str, int]) -> str:
    ran = counts["passed"] + counts["failed"]
    return f"{counts['passed']} of {ran}" if ran else "–"


def _total(counts: Mapping[str, Mapping[str, int]]) -> dict[str, int]:
    return {name: sum(one[name] for one in counts.values()) for name in ("passed", "failed", "not applicable")}


def reason(outcome: str) -> str:
    """Return the message of an outcome without the step and the actual value, so that equal failures count together."""
    message = outcome.removeprefix("failed: ")
    step, _, rest = message.partition(" ")
    if step == "step":
        message = rest.partition(" ")[2] if not rest.partition(":")[0].isdigit() else rest.partition(": ")[2]
    message = message.partition(", has ")[0].partition(", is ")[0]
    return message if len(message) <= _REASON else f"{message[:_REASON].strip()}…"


def _code(words: str) -> str:
    return f"`{words.replace('`', chr(39)).replace('|', '¦')}`"


def _costs(known: Mapping[str, Any]) -> list[str]:
    measured = {
        name: (ms, mb) for name, ms, mb in report.context_lines(results.medians_of(results.read(results.TABLE)))
    }
    lines = [
        "## Start and memory",
        "",
        "These figures come from another run; [performance-details.md](performance-details.md) describes its method.",
        "[tokens.md](tokens.md) has the tokens of each server.",
        "",
        _row(["", "ms to tools/list", "MB resident", "tools"]),
        _rule(3),
    ]
    for name, one in known.items():
        ms, mb = measured.get(_MEASURED.get(name, name), ("–", "–"))
        lines.append(_row([one["title"], ms, mb, str(len(one["tools"]))]))
    return [*lines, ""]


def _beyond(known: Mapping[str, Any]) -> list[str]:
    lines = [_BEYOND]
    for one in known.values():
        if one.get("beyond"):
            lines += [
                f"**{_title(one)}**",
                "",
                *(f"- {item['what']}" for item in one["beyond"] if not item["faults"]),
                "",
            ]
    runs = [f"{one['title']} {one['ran']}, load {one['load']}" for one in known.values()]
    return [
        *lines,
        f"The runs: {'; '.join(runs)}.",
        "",
        "The load is that of the machine, which had other work, too. Where servers work at once, or are killed, the",
        "numbers of lost tasks and failed calls differ from run to run.",
        "",
    ]


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |".replace("|  |", "| |", 1)


def _rule(columns: int) -> str:
    return "|" + "---|" * (columns + 1)


if __name__ == "__main__":
    write()
