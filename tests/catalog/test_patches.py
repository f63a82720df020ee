"""The reader of patches finds each file that a harness would touch, or reports the patch as uncertain."""

from __future__ import annotations

import json
import os
import random
import time
from pathlib import Path

import pytest

from nexus_mcp.catalog.patches import MAX_BYTES, MAX_LINES, command_patch_paths, patch_paths

CASES = json.loads((Path(__file__).parent / "patch_cases.json").read_text(encoding="utf-8"))["cases"]
HEADERS = ("*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:")
RUST = "".join(map(chr, (*range(9, 14), 32, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F)))
RUST += "\u205f\u3000"
JAVASCRIPT = RUST.replace("\x85", "") + "\ufeff"
PATHS = ("src/a.py", ".nexus/memory/a.md", "a b.txt", "x:y.md", "")
ODD = ("", "", "", "", " ", "\t", "\r", "\u00a0", "\x85", "\ufeff", "\u200b", "  ", "+", "-", "\x1c")
LINES = (
    *("+x", "-a", " a", "@@", "@@ b", "", "*** End of File", "junk", "***", "*** foo", " *** foo", "<<EOF", "EOF"),
    *("*** Begin Patch", "*** End Patch", " *** End Patch", "*** Environment ID: a", " *** Delete File: q.txt"),
    *("*** add file: q.txt", "+y\r*** Add File: q.txt", "-*** Delete File: q.txt", "--- a/q.txt", "*** Add  File: q"),
)
PATCH = "*** Begin Patch\n*** Add File: a.txt\n+x\n*** End Patch"


def wrapped(*lines: str) -> str:
    return "\n".join(("*** Begin Patch", *lines, "*** End Patch"))


def readings(text: str) -> set[str]:
    """Every path that a line is read as by one of the harnesses, wherever the line stands: more than each touches."""
    found: set[str] = set()
    for line in text.split("\n"):
        for header in HEADERS:
            trimmed = line.strip(RUST)
            for one in (trimmed, line.removesuffix("\r")):
                if one.startswith(f"{header} "):
                    found.update((one[len(header) + 1 :], one[len(header) + 1 :].strip(RUST)))
            if line.startswith(header):
                found.update((line[len(header) :].strip(JAVASCRIPT), line.split(":")[1].strip(JAVASCRIPT)))
    return found - {""}


def generated(random_: random.Random) -> str:
    """A patch, plain or with anything odd in it."""
    lines = []
    for _ in range(random_.randint(1, 3)):
        header = random_.choice(HEADERS[:3])
        blank = random_.choice((" ", " ", " ", "", "  ", "\t", "\u00a0"))
        lines.append(random_.choice(ODD[:9]) + header + blank + random_.choice(PATHS) + random_.choice(ODD[:11]))
        if header == HEADERS[1]:
            lines += [HEADERS[3] + " " + random_.choice(PATHS)] if random_.random() < 0.3 else []
            lines += ["@@", "-a", "+b"]
        lines += random_.choices(LINES, k=random_.choice((0, 0, 0, 1)))
    if random_.random() < 0.2:
        lines.insert(random_.randrange(len(lines)), random_.choice(ODD) + random_.choice(LINES))
    text = wrapped(*lines)
    return random_.choice((text, text, text, f"<<'EOF'\n{text}\nEOF", text.replace("\n", "\r\n"), f"\n{text}\nend"))


@pytest.mark.requirement("pre_tool_use.patch")
@pytest.mark.parametrize("number", range(len(CASES)))
def test_patches_read_as_certain_name_every_touched_file(number: int) -> None:
    """No release of Codex or OpenCode touched a file that the reader did not find, where it was certain."""
    case = CASES[number]
    paths, is_certain = patch_paths(case["text"])
    found = {os.path.normpath(path) for path in paths}
    for release, seen in case["touched"].items():
        assert not is_certain or {os.path.normpath(path) for path in seen} <= found, release
        # The model of the property below is held against the same cases.
        assert {os.path.normpath(path) for path in seen} <= {os.path.normpath(one) for one in readings(case["text"])}


@pytest.mark.requirement("pre_tool_use.patch")
def test_a_certain_patch_has_every_reading() -> None:
    """Of any text the reader finds every path that some harness reads in it, or it is not certain."""
    random_ = random.Random(19)
    certain = 0
    for _ in range(10_000):
        text = generated(random_)
        paths, is_certain = patch_paths(text)
        certain += is_certain
        assert not is_certain or readings(text) <= set(paths), text
    assert certain > 500


@pytest.mark.requirement("pre_tool_use.patch")
@pytest.mark.parametrize(
    ("lines", "paths"),
    [
        (("*** Add File: a", "+x"), ["a"]),
        (("*** Add File:a", "+x"), ["a"]),
        (("*** Delete File:\ta",), ["a"]),
        (("*** Update File: a", "*** Move to:b", "@@", "-x"), ["a", "b"]),
        (("*** Update File: a", "*** Update File: a", "@@ x", " x", "", "*** End of File"), ["a"]),
        (("  *** Delete File: a  ",), ["a", "a  "]),
        (("*** Delete File:  a",), ["a", " a"]),
        (("*** Delete File: x:y",), ["x:y", "x"]),
        (("*** Add File: a", "+*** Delete File: b"), ["a"]),
        (("*** Update File: a", "@@", " *** Delete File: b"), ["a", "b"]),
        (("*** Update File: a.md", "@@", " ***", " *** note ***"), ["a.md"]),
    ],
)
def test_headers_are_found_in_every_spelling(lines: tuple[str, ...], paths: list[str]) -> None:
    """Headers are found with and without a blank, indented and not, in every way that a harness reads them."""
    for text in (wrapped(*lines), f"\n{wrapped(*lines)}\n\n", f"<<'EOF'\n{wrapped(*lines)}\nEOF\n"):
        assert patch_paths(text) == (paths, True)
    assert patch_paths(wrapped(*lines).replace("\n", "\r\n"))[1]


@pytest.mark.requirement("pre_tool_use.patch")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "*** Begin Patch",
        wrapped(),
        "*** Add File: src/a.py\n+x",
        wrapped("*** Add File: src/a.py").replace("*** End Patch", ""),
        "intro\n" + wrapped("*** Add File: src/a.py"),
        wrapped("*** Add File: src/a.py") + "\nend",
        wrapped("*** Add File: a") + "\n" + wrapped("*** Delete File: src/a.py"),
        wrapped("*** Environment ID: x", "*** Add File: src/a.py"),
        wrapped("*** Add File:", "*** Add File: src/a.py"),
        wrapped("*** add file: src/a.py"),
        wrapped("*** Add File: a", "*** Rename File: src/a.py"),
        wrapped("*** Move to: src/a.py"),
        wrapped("+x", "*** Add File: src/a.py"),
        wrapped("*** Add File: a", "x"),
        wrapped("\u00a0*** Add File: src/a.py"),
        wrapped("*** Add File: a", "\ufeff*** Add File: src/a.py"),
        wrapped("*** Add File: src/a.py\u00a0"),
        wrapped("*** Add File:\u3000src/a.py"),
        wrapped("*** Update File: a", "@@", " \u00a0*** Delete File: src/a.py"),
        wrapped("*** Update File: a", "@@", " *** End Patch"),
        wrapped("*** Add File: a\r*** Add File: src/a.py"),
        wrapped("*** Add File: a", "+x\r*** Add File: src/a.py"),
        f"<<'EOF'\n{PATCH}\nEND",
        f"cat <<EOF\n{PATCH}\nxEOF",
        "<<'E F'\n" + PATCH + "\nE F",
        PATCH + "\n" * MAX_BYTES,
    ],
)
def test_ambiguous_patch_is_uncertain(text: str) -> None:
    """A patch that some harness may read in another way is uncertain; a line that looks like a header still names its
    file.
    """
    paths, is_certain = patch_paths(text)
    assert not is_certain
    assert "src/a.py" in paths or "src/a.py" not in text


@pytest.mark.requirement("pre_tool_use.patch")
@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("ls", None),
        ("rg 'Begin Patch' docs", None),
        ("rg apply_patch", None),
        (5, None),
        (["apply_patch"], None),
        (["rg", "apply_patch", "Begin Patch"], None),
        (f"apply_patch <<'EOF'\n{PATCH}\nEOF", (["a.txt"], True)),
        (f"applypatch << EOF\n{PATCH}\nEOF\n", (["a.txt"], True)),
        (f"cd src/x && apply_patch <<'EOF'\n{PATCH}\nEOF", (["a.txt", "src/x/a.txt"], True)),
        (f"cd $HOME && apply_patch <<'EOF'\n{PATCH}\nEOF", (["a.txt"], False)),
        (f"cd - && apply_patch <<'EOF'\n{PATCH}\nEOF", (["a.txt"], False)),
        (f"apply_patch <<EOF\n{PATCH.replace('a.txt', '$A')}\nEOF", (["$A"], False)),
        (f"apply_patch <<'EOF'\n{PATCH}\nEOF\nrm b.txt", (["a.txt"], False)),
        (f"apply_patch <<'EOF'\n{PATCH}\nEOF\napply_patch <<'EOF'\n{PATCH}\nEOF", (["a.txt"], False)),
        (f"true; apply_patch <<'EOF'\n{PATCH}\nEOF", (["a.txt"], False)),
        (f"apply_patch <<-EOF\n{PATCH}\nEOF", (["a.txt"], False)),
        (f"apply_patch '{PATCH}'", (["a.txt"], False)),
        (["apply_patch", PATCH], (["a.txt"], True)),
        (["/opt/bin/applypatch", PATCH], (["a.txt"], True)),
        (["apply_patch", PATCH, "more"], (["a.txt"], False)),
        (["apply_patch", PATCH, 5], (["a.txt"], False)),
        (["bash", "-lc", f"apply_patch <<'EOF'\n{PATCH}\nEOF"], (["a.txt"], True)),
    ],
)
def test_only_commands_that_call_apply_patch_have_a_patch(
    command: object, expected: tuple[list[str], bool] | None
) -> None:
    """A shell command that hands a patch to apply_patch edits its files; any other command has no patch."""
    found = command_patch_paths(command)
    assert found is None if expected is None else found is not None and found[1] == expected[1]
    assert expected is None or (found is not None and set(expected[0]) <= set(found[0]))


@pytest.mark.requirement("pre_tool_use.patch")
@pytest.mark.parametrize(
    "body",
    [
        "+" + "x" * MAX_BYTES,
        "+" + "\u20ac" * (MAX_BYTES // 3),
        "\n".join(["+"] * MAX_LINES),
        *(f"+{end * MAX_LINES}" for end in ("\n", "\r", "\v", "\x1c", "\x85", "\u2028")),
        "\n".join(["*** Add File: b:c"] * MAX_LINES),
    ],
)
def test_patch_beyond_the_bounds_is_not_read(body: str) -> None:
    """A patch beyond the bounds is not looked through at all: an edit of unknown files, which takes no time."""
    text = wrapped("*** Add File: a", body)
    before = time.process_time()
    assert patch_paths(text) == ([], False)
    assert command_patch_paths(f"apply_patch <<'EOF'\n{text}\nEOF") == ([], False)
    assert command_patch_paths(["apply_patch", text]) == ([], False)
    assert time.process_time() - before < 0.2


@pytest.mark.requirement("pre_tool_use.patch")
def test_largest_patch_is_read_in_time() -> None:
    """Within the bounds a hook's time suffices, whatever the lines are."""
    lines = [["+"] * (MAX_LINES - 3), ["*** Add File: b:c"] * (MAX_LINES - 3), ["***:x"] * (MAX_LINES - 3)]
    for number, body in enumerate(lines):
        before = time.process_time()
        assert patch_paths(wrapped("*** Add File: a", *body))[1] is (number < 2)
        assert time.process_time() - before < 0.2


@pytest.mark.requirement("pre_tool_use.patch")
def test_a_script_is_read_to_its_end_or_not_at_all() -> None:
    """A second patch may not hide behind as much of a script as is read."""
    start, end = "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: a\n+", "\n*** End Patch\nEOF"
    whole = start + "x" * (MAX_BYTES + 1 - len(start) - len(end)) + end
    assert command_patch_paths(f"{whole}\napply_patch <<'EOF'\n{PATCH}\nEOF") == ([], False)
