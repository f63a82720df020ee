"""Paths of a client's machine, read as paths of the server's project."""

from __future__ import annotations

import pytest

from nexus_mcp.lifecycle.client_paths import ClientPaths

ROOT, HOME = "/home/ann/shop", "/home/ann"
AWAY = ClientPaths(ROOT, ROOT, HOME, own_root="/srv/shop")
BELOW = ClientPaths(ROOT, f"{ROOT}/src", HOME, own_root="/srv/shop")
HERE = ClientPaths("/srv/shop", "/srv/shop/.nexus", HOME, own_root="/srv/shop")

MEANT = {
    f"{ROOT}/app.py": ["app.py"],
    f"{ROOT}/src/../app.py": ["app.py"],
    f" {ROOT}/app.py\n": ["app.py"],
    f"file://{ROOT}/a%20b.py": ["a b.py"],
    f"file://localhost{ROOT}/app.py": ["app.py"],
    "~/shop/app.py": ["app.py"],
    "app.py": ["app.py"],
    "./src/../app.py": ["app.py"],
    f"/{ROOT}/app.py": ["app.py"],
    f"{ROOT}/.nexus/state/plan.json": [".nexus/state/plan.json"],
    ROOT: ["."],
    "/home": ["."],
    "/": ["."],
    "..": ["."],
    "/srv/shop/app.py": ["client:/srv/shop/app.py"],
    f"{ROOT}-2/app.py": [f"client:{ROOT}-2/app.py"],
    "../other/.nexus/state/plan.json": ["client:/home/ann/other/.nexus/state/plan.json"],
    "~/notes.md": ["client:/home/ann/notes.md"],
    f"{ROOT}\\app.py": [f"client:{ROOT}\\app.py", "app.py"],
}


@pytest.mark.parametrize("path", MEANT)
def test_path_of_the_client_is_one_of_the_project(path: str) -> None:
    """A path below the client's project means the file of the same name; any other path means no file of the server."""
    assert AWAY.places(path) == MEANT[path]


def test_relative_path_counts_from_both_folders() -> None:
    """In a subfolder a relative path may count from there or from the project, and the stricter one decides."""
    assert BELOW.places("../.nexus/state/plan.json") == [
        "client:/home/ann/.nexus/state/plan.json",
        ".nexus/state/plan.json",
    ]
    assert BELOW.place("app.py") == "app.py"
    assert BELOW.all_of(["app.py", "src/app.py"]) == ["app.py", "src/app.py", "src/src/app.py"]


def test_same_folder_leaves_paths_as_they_are() -> None:
    """With the project at the same path only the working folder is added, for the server does not know it."""
    assert HERE.is_here
    assert HERE.places("/srv/shop/link/../app.py") == ["/srv/shop/link/../app.py"]
    assert HERE.places("state/plan.json") == ["state/plan.json", "/srv/shop/.nexus/state/plan.json"]
