"""Telemetry of a whole server: its imports, and collectors that are slow, dead or refuse spans."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.support import LIMIT, environment, nexus
from tests.server.http.test_process import Server
from tests.server.otel.receiver import attributes, collecting
from tests.wire.connection import call, initialize, modern

if TYPE_CHECKING:
    from pathlib import Path

Json = Any
ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
LIST = modern(1, "tools/call", name="task_list", arguments={})


@pytest.mark.parametrize("words", [("--http", "127.0.0.1:0"), ("--sdk",), ()], ids=["http", "sdk", "stdio"])
def test_nothing_is_imported_without_the_variable(tmp_path: Path, words: tuple[str, ...]) -> None:
    """Without the variable no module of the extra is loaded, whatever the transport, when a server has started."""
    code = (
        "import sys, threading, os, signal\n"
        "from nexus_mcp.cli import main\n"
        "class Out:\n"
        "    def write(self, text):\n"
        "        if 'Listening' in text: os.kill(os.getpid(), signal.SIGTERM)\n"
        "    def flush(self): pass\n"
        "    def isatty(self): return False\n"
        "    encoding = 'utf-8'\n"
        f"if {'--http' in words}: sys.stdout = Out()\n"
        f"code = main(['serve', *{list(words)}])\n"
        "sys.stdout = sys.__stdout__\n"
        "found = [n for n in sys.modules if n.startswith(('opentelemetry.sdk', 'opentelemetry.exporter', 'requests',"
        " 'google.protobuf', 'nexus_mcp.server.otel'))]\n"
        "sys.stderr.write(f'{code} {found} {\"prometheus_client\" in sys.modules}')\n"
    )
    env = {**environment(), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    (tmp_path / "project").mkdir()
    ran = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path / "project",
        env=env,
        input=b"",
        capture_output=True,
        timeout=LIMIT,
        check=False,
    )
    assert ran.stderr.decode() == f"0 [] {'--http' in words}"


def test_missing_extra_is_one_warning(tmp_path: Path) -> None:
    """With the variable and without the packages the server warns once, and serves."""
    hiding = "import sys\nsys.modules['opentelemetry.sdk'] = None\nfrom nexus_mcp.cli import main\nsys.exit(main())"
    ran = subprocess.run(
        [sys.executable, "-c", hiding, "serve", "--sdk"],
        cwd=tmp_path,
        env={**environment(), ENDPOINT: "http://127.0.0.1:1"},
        input="".join(json.dumps(one) + "\n" for one in (initialize(), call(2, "task_list"))).encode(),
        capture_output=True,
        timeout=LIMIT,
        check=False,
    )
    (line,) = ran.stderr.decode().splitlines()
    assert line.startswith(f"nexus-mcp: warning: {ENDPOINT} is set, but opentelemetry.sdk")
    assert line.endswith("Install the extra otel into the environment of nexus-mcp")
    assert [json.loads(text)["id"] for text in ran.stdout.splitlines()] == [0, 2]


@pytest.mark.parametrize("protocol", ["", "grpc"])
def test_server_with_the_sdk_sends_spans(tmp_path: Path, protocol: str) -> None:
    """serve --sdk sends spans too, over a pipe, and says that it has no other protocol."""
    with collecting() as collector:
        ran = nexus(
            *("serve", "--sdk"),
            stdin="".join(json.dumps(one) + "\n" for one in (initialize(), call(2, "task_list"))),
            cwd=tmp_path,
            env={ENDPOINT: collector.url, "OTEL_EXPORTER_OTLP_PROTOCOL": protocol},
        )
    assert ran.code == 0
    assert ("OTEL_EXPORTER_OTLP_PROTOCOL grpc is not supported" in ran.err) is (protocol == "grpc")
    found = {span.name: attributes(span) for span in collector.spans}
    assert found["tools/call task_list"]["network.transport"] == "pipe"
    assert "mcp.session.id" not in found["initialize"]


def _unused_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def test_dead_collector_delays_no_call_and_no_secret_is_logged(tmp_path: Path) -> None:
    """Calls are answered, the server ends in order, and no value of a setting is in the log."""
    endpoint = f"http://user:url-secret@127.0.0.1:{_unused_port()}"
    server = Server(
        tmp_path,
        "--log-format",
        "json",
        environ={
            ENDPOINT: endpoint,
            "OTEL_EXPORTER_OTLP_HEADERS": "api-key=header-secret,malformed secret",
            "OTEL_BSP_SCHEDULE_DELAY": "1",
        },
    )
    for _ in range(20):
        assert server.ask(LIST)[0] == 200
    _, err = server.end(signal.SIGTERM)
    assert server.process.returncode == 0
    lines = [json.loads(line) for line in err.splitlines()]
    reports = [line["message"] for line in lines if line.get("logger", "").startswith("opentelemetry")]
    assert reports != []
    assert len(reports) == len(set(reports)), "a report is repeated"
    assert "secret" not in err
    assert server.token not in err


def test_slow_collector_holds_up_neither_calls_nor_the_end(tmp_path: Path) -> None:
    """A collector that accepts and does not answer delays no call; the server ends while the request is open."""
    with collecting() as collector:
        collector.gate.clear()
        server = Server(tmp_path, environ={ENDPOINT: collector.url, "OTEL_BSP_SCHEDULE_DELAY": "1"})
        assert server.ask(LIST)[0] == 200
        assert collector.arrived.wait(LIMIT)
        for _ in range(20):
            assert server.ask(LIST)[0] == 200
        server.end(signal.SIGTERM)  # while the collector holds its response back
        assert (server.process.returncode, collector.spans) == (0, [])


def test_refused_spans_are_no_error_of_calls(tmp_path: Path) -> None:
    """A collector that refuses spans changes no response."""
    with collecting() as collector:
        collector.status = 400
        server = Server(tmp_path, environ={ENDPOINT: collector.url, "OTEL_BSP_SCHEDULE_DELAY": "1"})
        assert server.ask(LIST)[0] == 200
        _, err = server.end(signal.SIGTERM)
    assert server.process.returncode == 0
    assert "Traceback" not in err
    assert os.fsencode(server.token) not in b"".join(one.SerializeToString() for one in collector.traces)
