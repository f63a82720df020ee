"""The wheel, installed in a fresh environment away from the checkout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
import zipfile
import zlib
from pathlib import Path

import pytest

from nexus_mcp import __version__
from tests.support import NAMES

CHECKOUT = Path(__file__).resolve().parents[2]
DATA = ("assets", "conformance", "schemas")

# Runs in the fresh environment: where the package lies, and the size of every packaged file as it is read.
PROBE = f"""
import json, os
import nexus_mcp
from nexus_mcp.packaged import data_path
sizes = {{}}
for part in {DATA!r}:
    for folder, _, names in os.walk(data_path(part)):
        # pip compiles the example in Python, too.
        for name in names if os.path.basename(folder) != "__pycache__" else ():
            with open(os.path.join(folder, name), "rb") as file:
                sizes[os.path.relpath(file.name, data_path())] = len(file.read())
print(json.dumps({{"package": nexus_mcp.__file__, "sizes": sizes}}))
"""


def run(*command: str | Path, cwd: Path) -> str:
    """The output of a command that must succeed, without a PYTHONPATH to the checkout."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run([*map(str, command)], cwd=cwd, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder, cwd=CHECKOUT)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a fresh environment that holds the wheel and nothing else."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False, symlinks=True)
    found = folder / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--python", found, "--quiet", "--disable-pip-version-check")
    run(*pip, "install", "--no-index", "--no-deps", wheel, cwd=folder)
    return found


def test_every_packaged_file_opens(python: Path, tmp_path: Path) -> None:
    """Every file of assets/, conformance/ and schemas/ is found through data_path, away from the checkout."""
    seen = json.loads(run(python, "-c", PROBE, cwd=tmp_path))
    assert Path(seen["package"]).is_relative_to(python.parents[1])
    expected = {
        path.relative_to(CHECKOUT).as_posix(): path.stat().st_size
        for part in DATA
        for path in (CHECKOUT / part).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert seen["sizes"] == expected


def test_contract_is_packaged(python: Path, tmp_path: Path) -> None:
    """The page with the rules is in the wheel, byte for byte: `conformance explain` prints its texts."""
    read = "open(data_path('docs', 'contract.md'), encoding='utf-8', newline='').read()"
    probe = f"import zlib; from nexus_mcp.packaged import data_path; print(zlib.crc32({read}.encode()))"
    expected = zlib.crc32((CHECKOUT / "docs" / "contract.md").read_bytes())
    assert run(python, "-c", probe, cwd=tmp_path) == f"{expected}\n"


def test_installed_command_prints_its_version(python: Path, tmp_path: Path) -> None:
    """The console script is installed and prints its version without any dependency."""
    assert run(python.parent / "nexus-mcp", "--version", cwd=tmp_path) == f"nexus-mcp {__version__}\n"


def test_the_server_needs_no_dependency(python: Path, tmp_path: Path) -> None:
    """The stdio server answers tools/list in an environment that holds the wheel alone."""
    client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    requests: tuple[dict[str, object], ...] = (
        {"method": "initialize", "params": client},
        {"method": "tools/list"},
    )
    lines = [json.dumps({"jsonrpc": "2.0", "id": number, **body}) for number, body in enumerate(requests)]
    done = subprocess.run(
        [python.parent / "nexus-mcp", "serve"],
        cwd=tmp_path,
        input="".join(f"{line}\n" for line in lines),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    listed = json.loads(done.stdout.splitlines()[1])
    assert [tool["name"] for tool in listed["result"]["tools"]] == list(NAMES)


def test_the_man_page_is_installed(python: Path) -> None:
    """The man page is where `man` looks for it: in share/man beside the bin of the environment."""
    installed = python.parent.parent / "share" / "man" / "man1" / "nexus-mcp.1"
    assert installed.read_bytes() == (CHECKOUT / "docs" / "man" / "nexus-mcp.1").read_bytes()


def test_the_wheel_has_the_pages_of_the_board(wheel: Path) -> None:
    """Templates, scripts, styles and the vendored libraries with their licences are in the wheel, byte for byte."""
    packed = zipfile.ZipFile(wheel)
    for folder in ("templates", "assets"):
        files = [path for path in (CHECKOUT / "nexus_mcp/board" / folder).rglob("*") if path.is_file()]
        assert len(files) > 4
        for path in files:
            assert packed.read(path.relative_to(CHECKOUT).as_posix()) == path.read_bytes()


def test_the_wheel_holds_nothing_else(wheel: Path) -> None:
    """The wheel has the package, its data, its metadata and the man page; no tests, no caches."""
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    own = f"nexus_mcp-{__version__}"
    assert tops == {"nexus_mcp", f"{own}.dist-info", f"{own}.data"}
    assert [name for name in names if ".data/" in name] == [f"{own}.data/data/share/man/man1/nexus-mcp.1"]
    assert [name for name in names if "__pycache__" in name or "tests/" in name] == []
    assert [name for name in names if name.endswith("/licenses/LICENSE")] != []
