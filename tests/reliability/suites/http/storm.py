"""Kill the server repeatedly while clients work through a proxy that cuts their connections, then check all files.

Each answered call has to be in the files once, as answered, and no other change may be there.
"""

from __future__ import annotations

import asyncio
import random
import signal
from pathlib import Path

from nexus_mcp.server.app import App
from nexus_mcp.server.http.tokens import hash_of
from nexus_mcp.state.idempotency import META_NAME
from nexus_mcp.workspace import Workspace
from tests.reliability.suite import Piece, Tally
from tests.reliability.suites.http.clients import Client
from tests.reliability.suites.http.proxy import Proxy
from tests.reliability.suites.http.server import HttpServer, Site
from tests.reliability.suites.http.wire import Connection
from tests.reliability.suites.kills.audit import audit
from tests.reliability.suites.kills.client_records import Book
from tests.reliability.suites.kills.files import leftovers, read

KILLS = "SIGKILLs of a server over HTTP"
_CUT_SHARE = 0.25
_DELAY_S = 0.03
_LOOK_S = 0.01
_ORDERLY = 0.15
"""The share of the restarts that are no kills."""


def storm(piece: Piece) -> Tally:
    """Run one piece."""
    site = Site(piece.folder, piece.item["projects"], piece.item["tokens"])
    storming = Storm(piece, site)
    asyncio.run(storming.run())
    tally = storming.tally
    for name, root in site.roots.items():
        book = storming.books[name]
        tally.failures += [f"{name}: {fault}" for fault in audit(book, read(root))]
        tally.counts["calls acknowledged over HTTP"] += sum(call.answer is not None for call in book.calls)
    if not tally.failures:
        for client, (name, token) in storming.clients.items():
            tally.failures += _asked_again(client, storming.books[name], site.roots[name], token, tally)
        for name, root in site.roots.items():
            App(Workspace(str(root))).call("task_add", {"title": "last", "context": "x"})
            tally.failures += [f"{name}: {left} is left" for left in leftovers(root)]
    tally.failures += log_faults(site)
    return tally


class Storm:
    """The processes and clients of a piece."""

    def __init__(self, piece: Piece, site: Site) -> None:
        self._piece = piece
        self._site = site
        self._rng = piece.rng
        self.tally = Tally()
        self.books = {name: Book() for name in site.roots}
        self.clients: dict[Client, tuple[str, str]] = {}

    async def run(self) -> None:
        """Let the clients do their calls, and kill the server meanwhile."""
        item, names = self._piece.item, list(self._site.roots)
        proxy = Proxy(random.Random(self._rng.random()), _CUT_SHARE, _DELAY_S)
        await proxy.start()
        server = await self._start(proxy)
        work = []
        for number in range(item["clients"]):
            name, in_project = names[number % len(names)], number // len(names)
            token = self._site.tokens[in_project % item["tokens"]]
            connection = Connection(proxy.port, token)
            client = Client(number, f"/p/{name}/mcp", self.books[name], connection, is_modern=number % 3 > 0)
            self.clients[client] = (name, token)
            place = str(in_project // item["tokens"])
            work.append(client.run(random.Random(self._rng.random()), item["calls"], place))
        working = asyncio.gather(*work)
        ending = asyncio.ensure_future(self._kill_until(working, server, proxy))
        try:
            await working
        finally:
            server = await ending
            code = await server.end(signal.SIGTERM)
            await proxy.end()
        if code != 0:
            self.tally.failures.append(f"the server ended with {code} after SIGTERM")
        self.tally.counts.update(proxy.counts)
        for client in self.clients:
            self.tally.counts.update(client.counts)

    async def _kill_until(self, working: asyncio.Future[list[None]], server: HttpServer, proxy: Proxy) -> HttpServer:
        """Kill and start the server until the clients are done; return the one that runs.

        The next restart is due after a number of responses, not after a time: clients are fast on one machine and slow
        on another. The first restart is a kill.
        """
        low, high = self._piece.item["every"]
        while True:
            due = self._acknowledged() + self._rng.randint(low, high)
            while not working.done() and self._acknowledged() < due:
                await asyncio.wait([working], timeout=_LOOK_S)
            if working.done():
                return server
            is_kill = not self.tally.counts[KILLS] or self._rng.random() >= _ORDERLY
            code = await server.end(signal.SIGKILL if is_kill else signal.SIGTERM)
            self.tally.counts[KILLS if is_kill else "orderly restarts under load"] += 1
            if not is_kill and code != 0:
                self.tally.failures.append(f"the server ended with {code} after SIGTERM")
            server = await self._start(proxy)

    def _acknowledged(self) -> int:
        return sum(call.answer is not None for book in self.books.values() for call in book.calls)

    async def _start(self, proxy: Proxy) -> HttpServer:
        server = HttpServer(self._site, program=self._piece.item["program"], mutant=self._piece.mutant)
        proxy.target = await server.started()
        return server


def _asked_again(client: Client, book: Book, root: Path, token: str, tally: Tally) -> list[str]:
    """Repeat each write of a client in this process: the stored answers are those that the client got."""
    app, faults = App(Workspace(str(root))), []
    for number, key in client.keys.items():
        call = book.calls[number]
        result = app.call(call.tool, call.arguments, meta={META_NAME: key}, holder=hash_of(token)).result
        tally.counts["keys asked again at the end"] += 1
        if result["structuredContent"] != call.answer:
            faults.append(f"the key of {call.tool} {call.number} has not the answer that was acknowledged")
    return faults[:3]


def log_faults(site: Site) -> list[str]:
    """Return the faults in the log of a server: a token, or the traceback of an internal error."""
    log = site.log.read_text(errors="replace")
    faults = ["the log holds a token"] * any(token in log for token in site.tokens)
    at = log.find("Traceback")
    return faults + ([f"the log has a trace: {log[at : at + 1500]}"] if at >= 0 else [])
