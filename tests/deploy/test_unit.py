"""The unit of systemd: a real systemd runs it in its own namespaces, where no path of this machine is writable.

These tests need root, systemd and unshare. They start a second systemd, so only `make unit` runs them, on a disposable
machine. The checks of systemd-analyze always run.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import time
from typing import TYPE_CHECKING

import pytest

from tests.cli.support import LIMIT
from tests.deploy.proxies import NAME, ROOT
from tests.server.http.serving import ACCEPT, headers_of
from tests.server.http.test_process import Server
from tests.wire.connection import modern

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

UNIT = ROOT / "deploy" / "nexus-mcp.service"
SYSTEMD = "/usr/lib/systemd/systemd"
ASKED = "TEST_OF_SYSTEMD"
_MOST_EXPOSED = 1.5
"""The score of systemd-analyze security: 0 is closed, 10 is open."""


class Machine:
    """A systemd as process 1 of its namespaces; `run` runs a command there."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self.first = ""

    def wait(self) -> None:
        """Wait until systemd answers. Raise AssertionError if it ended."""
        until = time.monotonic() + LIMIT
        while time.monotonic() < until:
            assert self._process.poll() is None, "systemd has ended"
            children = f"/proc/{self._process.pid}/task/{self._process.pid}/children"
            with open(children, encoding="ascii") as file:
                self.first = file.read().strip()
            if self.first and self.run("systemctl", "list-jobs").returncode == 0:
                return
        pytest.fail("systemd does not answer")

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        spaces = ["nsenter", "-t", self.first, "-p", "-m", "-n", "-u", "-i", "-C", "-r", "-w"]
        return subprocess.run([*spaces, *words], capture_output=True, text=True, timeout=LIMIT, check=False)

    def show(self, name: str) -> str:
        return self.run("systemctl", "show", "--value", "-p", name, "nexus-mcp").stdout.strip()


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    """A machine with the unit and a token file, whose user is `nexus`."""
    if not os.environ.get(ASKED):
        pytest.skip("starts a second systemd: make unit")
    assert os.geteuid() == 0
    assert os.path.exists(SYSTEMD)
    assert shutil.which("unshare")
    spaces = ["unshare", "--fork", "--pid", "--mount", "--cgroup", "--uts", "--ipc", "--net", "--kill-child"]
    folders = [tmp_path, ROOT, sys.base_prefix, sysconfig.get_path("purelib")]
    command = [*spaces, "sh", str(ROOT / "tests" / "deploy" / "machine.sh"), *map(str, folders)]
    with (
        (tmp_path.parent / "systemd.log").open("wb") as log,
        subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log) as process,
    ):
        made = Machine(process)
        try:
            made.wait()
            yield made
        finally:
            process.kill()


def ask_in(machine: Machine, token: str) -> subprocess.CompletedProcess[str]:
    """Call a tool in the network of the machine."""
    message = modern(1, "tools/call", name="task_add", arguments={"title": "T", "context": "C"})
    headers = {
        **{"Host": NAME, "Authorization": f"Bearer {token}", "Accept": ACCEPT, "Content-Type": "application/json"},
        **headers_of(message),
    }
    code = (
        "import http.client,sys,json;"
        "c=http.client.HTTPConnection('127.0.0.1',8750,timeout=60);"
        f"c.request('POST','/p/shop/mcp',{json.dumps(message)!r},{headers!r});"
        "a=c.getresponse();print(a.status,a.read().decode())"
    )
    return machine.run(
        "env", "LD_LIBRARY_PATH=/opt/python/lib", "PYTHONHOME=/opt/python", "/opt/python/bin/python3", "-c", code
    )


def test_unit_starts_serves_and_ends(machine: Machine) -> None:
    """The unit is started once the server listens, a call writes to the project, and SIGTERM ends it with success."""
    user = ["setpriv", "--reuid", "990", "--regid", "990", "--clear-groups"]
    made = machine.run(*user, "nexus-mcp", "token", "new", "laptop", "--tokens", "/var/lib/nexus-mcp/tokens.json")
    match = re.match(r"Token: (\S+)\n", made.stdout)
    assert match, made.stderr
    started = machine.run("systemctl", "start", "nexus-mcp")
    assert (started.returncode, machine.show("ActiveState")) == (0, "active"), machine.run("systemctl", "status")
    answer = ask_in(machine, match[1])
    assert answer.stdout.startswith("200 "), answer
    assert json.loads(answer.stdout[4:])["result"]["isError"] is False
    assert machine.run("test", "-f", "/srv/projects/shop/.nexus/state/tasks.json").returncode == 0
    assert machine.run("systemctl", "stop", "nexus-mcp").returncode == 0
    assert (machine.show("Result"), machine.show("ExecMainStatus")) == ("success", "0")


def test_unit_without_tokens_fails_and_is_not_restarted(machine: Machine) -> None:
    """With wrong settings the exit code is 2, and systemd does not restart the unit."""
    assert machine.run("systemctl", "start", "nexus-mcp").returncode != 0
    assert (machine.show("ExecMainStatus"), machine.show("ActiveState")) == ("2", "failed")


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_unit_is_valid_and_hardened() -> None:
    """systemd-analyze accepts each line, and its exposure score is low."""
    checked = subprocess.run(["systemd-analyze", "verify", str(UNIT)], capture_output=True, text=True, check=False)
    faults = [line for line in checked.stderr.splitlines() if "is not executable" not in line]
    assert faults == []
    words = ["systemd-analyze", "security", "--offline=true", "--no-pager", str(UNIT)]
    scored = subprocess.run(words, capture_output=True, text=True, check=False)
    score = re.search(r"Overall exposure level for \S+: ([0-9.]+)", scored.stdout)
    assert score, scored.stderr
    assert float(score[1]) <= _MOST_EXPOSED


def test_server_tells_systemd_when_it_listens_and_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """READY=1 comes once it listens, STOPPING=1 with the signal."""
    (tmp_path / "project").mkdir()
    with contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as receiver:
        receiver.settimeout(LIMIT)
        receiver.bind(str(tmp_path / "notify"))
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        made = Server(tmp_path / "project")
        assert receiver.recv(100) == b"READY=1"
        made.process.send_signal(signal.SIGTERM)
        assert receiver.recv(100) == b"STOPPING=1"
        made.end(signal.SIGTERM)
    assert made.process.returncode == 0
