"""An HTTP server that writes down what it is sent, to prove what a client sends and what not."""

import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import NamedTuple, Self


class Received(NamedTuple):
    """One request as it arrived. Names of headers are in lower case."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes

    def text(self) -> str:
        """All of it, to look for what must not be in it."""
        headers = "".join(f"{name}: {value}\n" for name, value in self.headers.items())
        return f"{self.method} {self.target}\n{headers}\n{self.body.decode('utf-8', 'replace')}"


class Reply(NamedTuple):
    """What every request is answered with."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = {}


class RecordingServer:
    """Answers every request alike and keeps it in `received`; `drops` are not answered at all."""

    def __init__(self, reply: Reply = Reply()) -> None:  # noqa: B008  it is never changed
        self.reply = reply
        self.drops = 0
        self.received: list[Received] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self.port = self._server.server_port
        self.url = f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def text(self) -> str:
        """Everything that was received, to look for what must not be in it."""
        return "\n".join(request.text() for request in self.received)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                headers = {name.lower(): value for name, value in self.headers.items()}
                server.received.append(Received(self.command, self.path, headers, body))
                if server.drops:
                    server.drops -= 1
                    self.close_connection = True
                    return
                self.send_response(server.reply.status)
                for name, value in server.reply.headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(server.reply.body)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(server.reply.body)

            do_DELETE = do_GET = do_HEAD = do_POST = do_PUT = _answer  # noqa: N815  http.server's names

            def log_message(self, *_: object) -> None:
                """What arrived is kept, not printed."""

        return Handler
