"""A relay to a server that counts connections and can be cut, like a network; the server itself continues."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from socketserver import BaseRequestHandler, ThreadingTCPServer
from urllib.parse import urlsplit

PIECE = 65536
REQUEST_LINE = re.compile(rb"^([A-Z]+ \S+) HTTP/1\.1\r$", re.MULTILINE)
POLL_SECONDS = 0.01


class Relay:
    """Forwards all connections; `url` is where it listens."""

    def __init__(self, target: str) -> None:
        parts = urlsplit(target)
        self._target = (parts.hostname, parts.port)
        self.requests: list[str] = []
        """The requests that came in, as `GET /path`."""
        self.connections = 0
        """How many there were."""
        self._open: set[socket.socket] = set()
        self._is_cut = False
        self._flowing = threading.Event()
        self._flowing.set()
        self._last: bytes | None = None
        relay = self

        class Handler(BaseRequestHandler):
            def handle(self) -> None:
                relay.connect(self.request)

        self._server = ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=[POLL_SECONDS])
        self._thread.start()

    def connect(self, near: socket.socket) -> None:
        """Join a connection with one to the server, for as long as both are open."""
        if self._is_cut:
            return
        self.connections += 1
        try:
            far = socket.create_connection(self._target)
        except OSError:
            return  # no process listens there
        with far:
            self._open |= {near, far}
            back = threading.Thread(target=self._pump, args=(far, near), daemon=True)
            back.start()
            self._pump(near, far, self.requests)
            back.join()
            self._open -= {near, far}

    def cut(self) -> None:
        """Close every connection, and each new one at once."""
        self._is_cut = True
        for end in list(self._open):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def fall_silent(self) -> None:
        """Accept connections and data, and forward nothing, as if packets were dropped."""
        self._flowing.clear()

    def recover(self) -> None:
        """Be a way to the server again."""
        self._is_cut = False
        self._flowing.set()

    def cut_before(self, beginning: bytes) -> None:
        """Cut when a request begins so."""
        self._last = beginning

    def close(self) -> None:
        """Stop listening."""
        self.cut()
        self._flowing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _pump(self, source: socket.socket, sink: socket.socket, requests: list[str] | None = None) -> None:
        with suppress(OSError):
            while piece := source.recv(PIECE):
                if requests is not None:
                    requests += [line.decode() for line in REQUEST_LINE.findall(piece)]
                if self._last is not None and piece.startswith(self._last):
                    self.cut()
                self._flowing.wait()
                sink.sendall(piece)
        for end in (source, sink):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


@contextmanager
def relay_to(target: str) -> Iterator[Relay]:
    """Open a way to a server."""
    relay = Relay(target)
    try:
        yield relay
    finally:
        relay.close()
