"""Start a reverse proxy of Debian with its file of deploy/ as an unprivileged user, for a server on loopback."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from http.client import HTTPSConnection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nexus_mcp.server.http import tokens
from tests.cli.support import LIMIT, environment
from tests.deploy.certificates import Authority

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
NAME = "nexus.example.org"
_NGINX = """daemon off;
worker_processes 1;
pid nginx.pid;
error_log stderr;
events {{}}
http {{
    access_log off;
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
{site}
}}
"""
_CADDY = "{\n\tadmin off\n\tauto_https off\n\tdefault_bind 127.0.0.1\n}\n"


@dataclass
class Place:
    """The address of a server behind its proxy. `connect` checks the certificate."""

    proxy: str
    port: int
    token: str
    authority: Path

    @property
    def host(self) -> str:
        return f"{NAME}:{self.port}"

    def connect(self) -> HTTPSConnection:
        """Return a connection to the proxy by the name of its certificate."""
        context = ssl.create_default_context(cafile=str(self.authority))
        made = HTTPSConnection(NAME, self.port, timeout=LIMIT, context=context)
        plain = socket.create_connection(("127.0.0.1", self.port), timeout=LIMIT)
        made.sock = context.wrap_socket(plain, server_hostname=NAME)
        return made


def _of_nginx(folder: Path, text: str) -> list[str]:
    file = folder / "nginx.conf"
    file.write_text(_NGINX.format(site=text))
    return ["nginx", "-p", str(folder), "-e", "stderr", "-c", str(file)]


def _of_caddy(folder: Path, text: str) -> list[str]:
    file = folder / "Caddyfile"
    file.write_text(_CADDY + text)
    return ["caddy", "run", "--config", str(file), "--adapter", "caddyfile"]


PROXIES = {"nginx": ("nginx.conf", _of_nginx), "caddy": ("Caddyfile", _of_caddy)}


def find(name: str) -> str | None:
    """Return the path of a proxy's program; Debian keeps nginx outside of a user's PATH."""
    return shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/local/sbin")


def free_port() -> int:
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        return int(made.getsockname()[1])


@contextlib.contextmanager
def behind(proxy: str) -> Iterator[Place]:
    """Serve a project behind the proxy, and end both."""
    with tempfile.TemporaryDirectory(prefix="nexus-proxy-") as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        authority = Authority(folder)
        certificate, key = authority.issue("cert", NAME)
        port = free_port()
        token = tokens.add(str(folder / "config" / "tokens.json"), "laptop", None, tokens.RIGHTS, "")
        server = stack.enter_context(_server(folder, port))
        text = _adapted(proxy, {"443": port, "8750": server}, certificate, key)
        command = PROXIES[proxy][1](folder, text)
        stack.enter_context(_running([find(proxy) or proxy, *command[1:]], folder))
        _wait_for(port)
        yield Place(proxy, port, token, authority.file)


def _adapted(proxy: str, ports: dict[str, int], certificate: Path, key: Path) -> str:
    """Return the file of deploy/ with the ports and paths of this test; nothing else is changed."""
    text = (ROOT / "deploy" / PROXIES[proxy][0]).read_text(encoding="utf-8")
    changes = {
        "/etc/ssl/nexus/cert.pem": str(certificate),
        "/etc/ssl/nexus/key.pem": str(key),
        "127.0.0.1:8750;" if proxy == "nginx" else "127.0.0.1:8750 {": f"127.0.0.1:{ports['8750']}"
        + (";" if proxy == "nginx" else " {"),
        "listen 443 ssl" if proxy == "nginx" else f"\n{NAME} {{": (
            f"listen 127.0.0.1:{ports['443']} ssl" if proxy == "nginx" else f"\nhttps://{NAME}:{ports['443']} {{"
        ),
    }
    for old, new in changes.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


@contextlib.contextmanager
def _server(folder: Path, port: int) -> Iterator[int]:
    """Serve a project behind a proxy at `port`; yield the port of the server."""
    project = folder / "project"
    project.mkdir()
    words = ["--http", "127.0.0.1:0", "--behind-proxy", "--allow-host", f"{NAME}:{port}"]
    command = [sys.executable, "-m", "tests.deploy.short_pings", "serve", "--project", str(project), *words]
    env = {**environment(), "XDG_CONFIG_HOME": str(folder / "config"), "PYTHONPATH": str(ROOT)}
    words = ["--tokens", str(folder / "config" / "tokens.json")]
    with subprocess.Popen([*command, *words], cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield int(process.stdout.readline().split(":")[2].split("/")[0])
        finally:
            process.terminate()
            assert process.wait(LIMIT) == 0


@contextlib.contextmanager
def _running(command: list[str], folder: Path) -> Iterator[None]:
    """Run a proxy. A test that runs as root gives the folder to the user `nobody`, and runs the proxy as that user."""
    identity: dict[str, Any] = {}
    if os.geteuid() == 0:
        identity = {"user": "nobody", "group": "nogroup"}
        for path in [folder, *folder.glob("*")]:
            shutil.chown(path, "nobody", "nogroup")
    env = {**environment(), "HOME": str(folder), "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
    log = (folder / "proxy.log").open("wb")
    with log, subprocess.Popen(command, cwd=folder, env=env, stdout=log, stderr=log, **identity) as process:
        try:
            yield
        finally:
            process.terminate()
            process.wait(LIMIT)


def _wait_for(port: int) -> None:
    """Wait until the proxy listens: each try is a connection, and the last one raises."""
    for _ in range(600):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=LIMIT):
            return
        # A refused connection returns at once; the proxy needs the processor.
        subprocess.run([sys.executable, "-c", "pass"], check=True)
    with socket.create_connection(("127.0.0.1", port), timeout=LIMIT):
        pass
