"""Compare calls over HTTP by 1, 8 and 64 clients with the SDK's own server and stdio; measure 1 000 streams' memory."""

from __future__ import annotations

import os
import resource
import selectors
import statistics
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.client import PATIENCE, NotMeasurable, payload
from benchmarks.data.project import projects
from benchmarks.figures import OURS, percentile
from benchmarks.goals import CLIENTS, STDIO, STREAMS, WITHOUT_STREAMS
from benchmarks.http.client import Connection, Target, header, message_in, rush
from benchmarks.http.servers import bare, ours
from benchmarks.memory import resident
from benchmarks.scenarios.start import TASK
from nexus_mcp.server.http import tokens
from nexus_mcp.server.subscriptions.streams import MOST_STREAMS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.peers.servers import Session
    from benchmarks.scenarios.bench import Bench

TASKS = 20
READS, WRITES = 320, 64
"""The sum of calls of all clients in one measurement."""
READ = ("tools/call", {"name": "task_list", "arguments": {}})
WRITE = ("tools/call", {"name": "task_add", "arguments": TASK})
LISTEN = ("subscriptions/listen", {"notifications": {"resourceSubscriptions": ["nexus://tasks"]}})


def run(bench: Bench) -> None:
    """Measure each server in each round, in alternating order, so that their ratios have the same load."""
    load = os.getloadavg()[0]
    with projects([OURS, STDIO]) as made, ExitStack() as stack:
        for project in made.values():
            project.give_tasks(TASKS)
        target, _ = stack.enter_context(ours(made[OURS].root))
        first = message_in(Connection(target).ask(target.modern(*READ)))["result"]["structuredContent"]
        limit, _ = stack.enter_context(bare(first))
        server = next(server for server in bench.servers if server.name == OURS)
        for count in CLIENTS:
            with ExitStack() as processes:
                sessions = [processes.enter_context(server.start(made[STDIO].root)) for _ in range(count)]
                for session in sessions:
                    session.ready()
                    session.call("task_list")
                for turn in range(bench.rounds):
                    for project in made.values():
                        project.give_tasks(TASKS)
                    both = [target, limit] if turn % 2 else [limit, target]
                    for one in both:
                        _reads(bench, one, count, first)
                    _stdio(bench, sessions, "read", READ, READS // count)
                    _writes(bench, target, count)
                    _stdio(bench, sessions, "write", WRITE, WRITES // count)
    _memory(bench)
    if load > 1:
        bench.figures.note(
            f"The rows over HTTP were measured while {load:.0f} other processes wanted the {os.cpu_count()} "
            "processors. Ratios are of alternating rounds; times are many times those of an idle machine."
        )


def _reads(bench: Bench, target: Target, count: int, expected: dict[str, Any]) -> None:
    """Measure reads of 2026-07-28, then reads in sessions."""
    for row, is_modern in (("read", True), ("session", False)):
        connections = [Connection(target) for _ in range(count)]
        requests = [
            target.modern(*READ) if is_modern else target.handshake(*READ, one.begin_session()) for one in connections
        ]
        rate, times, last = rush(connections, requests, READS // count)
        result = message_in(last)["result"]
        bench.figures.expect(target.name, "task_list over HTTP", result["structuredContent"], expected)
        _close(connections)
        _add(bench, f"{row}-{count}", target.name, rate, times)


def _writes(bench: Bench, target: Target, count: int) -> None:
    connections = [Connection(target) for _ in range(count)]
    rate, times, last = rush(connections, [target.modern(*WRITE)] * count, WRITES // count)
    _close(connections)
    bench.figures.expect(OURS, "task_add over HTTP, refused", message_in(last)["result"]["isError"], False)
    _add(bench, f"write-{count}", OURS, rate, times)


def _stdio(bench: Bench, sessions: Sequence[Session], row: str, request: tuple[str, Any], each: int) -> None:
    """Measure the same calls on stdio, with a process of our server for each client."""
    times: list[float] = []
    left = {session.pid: each - 1 for session in sessions}
    sent: dict[int, float] = {}
    last = b""

    def send(session: Session) -> None:
        line = session.connection.request(*request)
        sent[session.pid] = time.perf_counter()
        os.write(session.connection.write_to, line)

    with selectors.DefaultSelector() as waiting:
        parts: dict[int, bytes] = dict.fromkeys(left, b"")
        begun = time.perf_counter()
        for session in sessions:
            waiting.register(session.connection.read_from, selectors.EVENT_READ, session)
            send(session)
        while waiting.get_map():
            events = waiting.select(PATIENCE)
            if not events:
                raise NotMeasurable("our server over stdio did not answer")
            for key, _ in events:
                session = key.data
                parts[session.pid] += os.read(key.fd, 1 << 18)
                if not parts[session.pid].endswith(b"\n"):
                    continue
                times.append((time.perf_counter() - sent[session.pid]) * 1000)
                last, parts[session.pid] = parts[session.pid], b""
                if left[session.pid]:
                    left[session.pid] -= 1
                    send(session)
                else:
                    waiting.unregister(key.fd)
        rate = len(times) / (time.perf_counter() - begun)
    bench.figures.expect(OURS, f"{row} over stdio, refused", "error" in payload(last), False)
    _add(bench, f"{row}-{len(sessions)}", STDIO, rate, times)


def _memory(bench: Bench) -> None:
    """Measure the resident memory with the maximum number of streams of 16 tokens."""
    _raise_limit()
    with projects([OURS]) as made, tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder, "tokens.json"))
        texts = [
            tokens.add(file, f"client-{number}", None, tokens.RIGHTS, "")
            for number in range(-(-STREAMS // MOST_STREAMS))
        ]
        with ours(made[OURS].root, "--tokens", file) as (target, pid):
            Connection(target).ask(target.modern(*READ))
            before = resident(pid)
            opened = []
            for number in range(STREAMS):
                caller = Target(OURS, target.port, token=texts[number // MOST_STREAMS])
                connection = Connection(caller)
                connection.socket.sendall(caller.modern(*LISTEN))
                opened.append(connection)
            for connection in opened:
                _wait_for_event(connection)
            after = statistics.median(resident(pid) for _ in range(3))
            _close(opened)
    bench.figures.add("http-streams", OURS, after)
    bench.figures.add("http-streams", WITHOUT_STREAMS, before)


def _wait_for_event(connection: Connection) -> None:
    data = b""
    while b"event: message" not in data:
        part = connection.socket.recv(1 << 16)
        data += part
        if not part or (b"\r\n\r\n" in data and header(data, "content-type") != "text/event-stream"):
            raise NotMeasurable(f"a stream was refused: {data[:200]!r}")


def _add(bench: Bench, row: str, series: str, rate: float, times: Sequence[float]) -> None:
    bench.figures.add(f"http-{row}", series, rate)
    bench.figures.add(f"http-p99-{row}", series, percentile(times, 0.99))


def _close(connections: Sequence[Connection]) -> None:
    for connection in connections:
        connection.socket.close()


def _raise_limit() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = STREAMS + 200
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(
            resource.RLIMIT_NOFILE, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard)
        )
