"""The container file: its copies and its installation run in an empty folder, and its command serves from there.

No image is built here: `make container` does that.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from http.client import HTTPConnection
from typing import TYPE_CHECKING

from nexus_mcp.server.http import tokens
from tests.cli.support import LIMIT
from tests.deploy.proxies import NAME, ROOT
from tests.server.http.serving import ACCEPT, headers_of
from tests.wire.connection import modern

if TYPE_CHECKING:
    from pathlib import Path

FILE = ROOT / "deploy" / "Containerfile"


def steps(name: str) -> list[str]:
    """Return the arguments of each instruction with this name."""
    return re.findall(rf"^{name} (.+)$", FILE.read_text(encoding="utf-8"), re.MULTILINE)


def test_it_installs_and_serves_from_what_it_copies(tmp_path: Path) -> None:
    """The copied files are enough for pip, and the entry point serves the project with the token file."""
    source = tmp_path / "src"
    for line in steps("COPY"):
        *names, target = line.split()
        for name in names:
            place = tmp_path / target.lstrip("/")
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, place, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                place.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, place)
    installed = tmp_path / "installed"
    words = ["--no-build-isolation", "--no-deps", "--no-index", "--quiet", "--target", str(installed), str(source)]
    subprocess.run([sys.executable, "-m", "pip", "install", *words], check=True, cwd=tmp_path)
    shutil.rmtree(source)
    (tmp_path / "project").mkdir()
    token = tokens.add(str(tmp_path / "config" / "tokens.json"), "laptop", None, tokens.RIGHTS, "")
    entry = json.loads(steps("ENTRYPOINT")[0])
    places = {"/config/": f"{tmp_path}/config/", "/project": f"{tmp_path}/project", "0.0.0.0:8750": "127.0.0.1:0"}
    for old, new in places.items():
        assert any(old in word for word in entry), old
        entry = [word.replace(old, new) for word in entry]
    env = {**os.environ, "PYTHONPATH": str(installed), "HOME": str(tmp_path)}
    command = [sys.executable, "-P", "-m", "nexus_mcp", *entry[1:], "--allow-host", NAME]
    with subprocess.Popen(command, cwd=tmp_path, env=env, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline().split(":")[2].split("/")[0])
        message = modern(1, "tools/call", name="task_add", arguments={"title": "T", "context": "C"})
        connection = HTTPConnection("127.0.0.1", port, timeout=LIMIT)
        headers = {
            "Host": NAME,
            "Authorization": f"Bearer {token}",
            "Accept": ACCEPT,
            "Content-Type": "application/json",
        }
        connection.request("POST", "/mcp", json.dumps(message), {**headers, **headers_of(message)})
        answer = connection.getresponse()
        assert (answer.status, json.loads(answer.read())["result"]["isError"]) == (200, False)
        connection.close()
        process.send_signal(getattr(signal, steps("STOPSIGNAL")[0]))
        assert process.wait(LIMIT) == 0
    assert (tmp_path / "project" / ".nexus" / "state" / "tasks.json").exists()


def test_it_copies_what_the_other_container_copies() -> None:
    """Both install the package, so both need the same files of the checkout."""
    other = re.findall(r"^COPY (.+)$", (ROOT / "Containerfile").read_text(encoding="utf-8"), re.MULTILINE)
    assert steps("COPY") == other
    assert steps("USER") == ["nexus"], "it never runs as root"
