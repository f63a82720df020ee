"""Hostile folders: too many entries, or special files."""

from __future__ import annotations

import os
import random
from collections.abc import Callable

from nexus_mcp.catalog.maps import MOST, PATTERNS
from nexus_mcp.catalog.sources import ALL_TEXT_BYTES, ENTRIES, NAMES
from tests.reliability.suites.hostile.project import OWN, SKILL, Ground

_META = "agents/gardener/meta.yml"


def _many_agents(ground: Ground, _: random.Random) -> None:
    for number in range(ENTRIES + 1):
        (ground.nexus / f"agents/a{number}").mkdir()


def _many_skills(ground: Ground, _: random.Random) -> None:
    for number in range(3 * ENTRIES):
        (ground.nexus / f"skills/s{number}").mkdir()


def _many_files(ground: Ground, rng: random.Random) -> None:
    kind = rng.choice(("agents", "skills", "memory", "rules"))
    for number in range(NAMES + 1):
        ground.put(f"{kind}/a{number}.md", "")


def _large_together(ground: Ground, _: random.Random) -> None:
    """Make agents that are read first and together reach the reading limit of a project."""
    for number in range(6):
        ground.put(f"agents/aa{number}/meta.yml", OWN.replace("gardener", f"aa{number}") + "#" * 60_000 + "\n")
        ground.put(f"agents/aa{number}/body.md", "x")


def _much_text(ground: Ground, _: random.Random) -> None:
    for number in range(20):
        ground.put(f"agents/aa{number}/meta.yml", OWN.replace("gardener", f"aa{number}"))
        ground.put(f"agents/aa{number}/body.md", "x" * 250_000)


def _pipe(ground: Ground, rng: random.Random) -> None:
    path = ground.nexus / rng.choice(
        (_META, "agents/gardener/body.md", "capability-map.yml", "config.yml", "memory/a.md")
    )
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def _link(ground: Ground, rng: random.Random) -> None:
    path = ground.nexus / rng.choice((_META, "capability-map.yml", "config.yml", "memory/a.md"))
    path.unlink(missing_ok=True)
    path.symlink_to(rng.choice(("/dev/zero", "/proc/self/mem", path.name, "/etc/hostname")))


def _folder_for_file(ground: Ground, rng: random.Random) -> None:
    path = ground.nexus / rng.choice((_META, "agents/gardener/body.md", "capability-map.yml", "state/tasks.json"))
    path.unlink(missing_ok=True)
    path.mkdir()


def _linked_agents(ground: Ground, rng: random.Random) -> None:
    (ground.nexus / "agents").rename(ground.root / "elsewhere")
    if rng.random() < 0.5:
        (ground.nexus / "agents").symlink_to(ground.root / "elsewhere")
    else:
        (ground.nexus / "agents").write_text("")


def _odd_names(ground: Ground, _: random.Random) -> None:
    for name in (b"\xff", b"a\nb", b"x" * 255, b"..a", b"{{agent:x}}", b"-"):
        os.mkdir(os.fsencode(ground.nexus / "agents") + b"/" + name)


def _all_that_is_legal(ground: Ground, _: random.Random) -> None:
    """Make the largest catalog within all limits."""
    text = "{{tool:context}}{{agent:tester}}" * 10
    text += "x" * (ALL_TEXT_BYTES // (2 * ENTRIES) - len(text) - 1)
    for number in range(ENTRIES - 1):
        for kind, meta in (("agents", OWN), ("skills", SKILL)):
            name = f"{kind[:-1]}-{number:03}"
            own = meta.replace("gardener", name).replace("prune", name).replace("Prunes.", "d" * 200)
            ground.put(f"{kind}/{name}/meta.yml", own)
            ground.put(f"{kind}/{name}/body.md", text)
    tools = ", ".join([f"w{n}*x*y*z" for n in range(PATTERNS)] + [f"w{n}" for n in range(MOST - PATTERNS)])
    classes = "".join(f"    {name}: [{tools}]\n" for name in _CLASSES)
    reading = ", ".join([f"r{n}*a*b*c" for n in range(PATTERNS)] + [f"r{n}" for n in range(MOST - PATTERNS)])
    ground.put("capability-map.yml", f"claude-code:\n  classes:\n{classes}  reading: [{reading}]\n")


_CLASSES = (
    *("shell_command_exec", "subprocess_spawn", "interactive_shell_session", "nexus_task_creation"),
    *("nexus_task_state_transition", "nexus_task_metadata_modification"),
)
LEGAL = "all that is legal"
SHAPES: dict[str, Callable[[Ground, random.Random], None]] = {
    "many agents": _many_agents,
    "many skills": _many_skills,
    "many files": _many_files,
    "large together": _large_together,
    "much text": _much_text,
    "pipe": _pipe,
    "link": _link,
    "folder for a file": _folder_for_file,
    "agents that cannot be listed": _linked_agents,
    "odd names": _odd_names,
    LEGAL: _all_that_is_legal,
}
