"""Hostile YAML: slow to read, large in memory, or with a meaning that another reader does not see."""

from __future__ import annotations

import random
from collections.abc import Callable

SIZES = (50, 1_000, 20_000, 60_000, 64_000, 70_000, 300_000)


def _filled(unit: str, size: int) -> str:
    return unit * max(1, size // len(unit))


def _aliases(_: random.Random, size: int) -> str:
    rows = [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, max(2, size // 60))]
    return "\n".join(["a0: &a0 [x]", *rows, ""])


def _merges(_: random.Random, size: int) -> str:
    return "base: &b {a: 1}\n" + "".join(f"m{i}:\n  <<: *b\n" for i in range(size // 14))


def _deep_blocks(_: random.Random, size: int) -> str:
    return "".join(f"{' ' * i}a:\n" for i in range(int((2 * size) ** 0.5)))


def _keys(_: random.Random, size: int) -> str:
    return "".join(f"k{i}: 1\n" for i in range(size // 9))


def _one_key(_: random.Random, size: int) -> str:
    return _filled("k: 1\n", size)


def _long_keys(rng: random.Random, size: int) -> str:
    key = "k" * min(size // 2, 30_000)
    return (
        f"{key}: {{{', '.join(f'a{i}: 1' for i in range(size // 16))}}}\n" if rng.random() < 0.5 else f"? {key}\n: 1\n"
    )


def _directives(_: random.Random, size: int) -> str:
    return "".join(f"%TAG !a{i}! x\n" for i in range(size // 14)) + "--- a\n"


def _names(rng: random.Random, size: int) -> str:
    """Return unknown names that are similar to each other."""
    names = ["".join(rng.sample("nofileedit", 10)) for _ in range(size // 12)]
    return f"capabilities: [{', '.join(names)}]\n"


def _map(rng: random.Random, size: int) -> str:
    """Return a capability map whose patterns match slowly."""
    stars = "*".join(rng.choice("ab") for _ in range(rng.choice((3, 50, 500))))
    tools = ", ".join(f"{stars}{i}" for i in range(size // (len(stars) + 6)))
    return f"claude-code:\n  reading: [{tools}]\n  classes:\n    shell_command_exec: [{tools}]\n"


def _harnesses(_: random.Random, size: int) -> str:
    return "".join(f"h{i}:\n  classes: {{shell_command_exec: [a]}}\n" for i in range(size // 50))


FORMS: dict[str, Callable[[random.Random, int], str]] = {
    "aliases": _aliases,
    "merges": _merges,
    "deep blocks": _deep_blocks,
    "keys": _keys,
    "one key again and again": _one_key,
    "long keys": _long_keys,
    "directives": _directives,
    "near names": _names,
    "slow patterns": _map,
    "harnesses": _harnesses,
    "base 60": lambda _, size: f"memory:\n  propose:\n    days_unread: 1{_filled(':1', size)}\n",
    "base 60 with a point": lambda _, size: f"id: 1{_filled(':59', size)}.5\n",
    "digits": lambda _, size: f"id: {_filled('9', size)}\n",
    "hexadecimal": lambda _, size: f"id: 0x{_filled('f', size)}\n",
    "underscores": lambda _, size: f"id: 1{_filled('_1', size)}\n",
    "leading zero": lambda _, size: f"memory: {{propose: {{days_unread: 0{_filled('7', size)}}}}}\n",
    "float": lambda _, size: f"id: 1.{_filled('1', size)}e{_filled('9', size)}\n",
    "lists": lambda _, size: f"x: [{_filled('a,', size)}]\n",
    "empty lists": lambda _, size: f"x: [{_filled('[],', size)}]\n",
    "block list": lambda _, size: "x:\n" + _filled("- a\n", size),
    "resume again and again": lambda _, size: f"harness_notes: [{_filled('resume, ', size)}resume]\n",
    "opened lists": lambda _, size: _filled("[", size),
    "opened mappings": lambda _, size: _filled("{a: ", size),
    "questions": lambda _, size: _filled("? ", size),
    "dashes": lambda _, size: _filled("- ", size),
    "anchors": lambda _, size: "".join(f"- &a{i} x\n" for i in range(size // 9)),
    "documents": lambda _, size: _filled("---\n", size),
    "tags": lambda _, size: "x: " + _filled("!a ", size),
    "python": lambda _, __: "id: !!python/object/apply:os.system [sleep 9]\n",
    "text": lambda _, size: f"description: {_filled('x', size)}\n",
    "folded": lambda _, size: "description: >\n" + _filled("  a\n", size),
    "quoted": lambda _, size: f'description: "{_filled(chr(92) + "x41", size)}"\n',
    "lines in quotes": lambda _, size: f'description: "{_filled(chr(10), size)}"\n',
    "comments": lambda _, size: _filled("# a\n", size),
    "blanks": lambda _, size: _filled(" ", size),
    "tabs": lambda _, size: "id:\n" + _filled("\t", size),
    "controls": lambda rng, size: (
        f"id: {_filled(rng.choice(chr(0) + chr(7) + chr(27) + chr(0x85) + chr(0x2028)), size)}\n"
    ),
    "carriage returns": lambda _, size: _filled("id\r", size),
    "booleans of YAML 1.1": lambda _, __: "id: on\ncapabilities: off\nmanual_only: no\n",
}


def text(rng: random.Random) -> str:
    """Return one hostile YAML text."""
    form, size = rng.choice([*FORMS.values()]), rng.choice(SIZES)
    return form(rng, size)
