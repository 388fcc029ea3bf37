"""An S3 server in trouble: a proxy in front of a good one that refuses, forgets and takes its
time."""

import http.client
import random
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

DELETES_MANY = re.compile(r"[?&]delete(=|&|$)")
KEY = re.compile(r"<Object>.*?<Key>(.*?)</Key>.*?</Object>", re.DOTALL)
PASSED_ON = {"content-type", "range", "x-amz-date", "authorization", "if-none-match"}
ANSWERED = {"content-type", "etag", "last-modified", "content-range"}
STATUSES = {"SlowDown": 503, "NoSuchBucket": 404}

Refusal = Callable[[str], str]
"""The code of the error for a key; empty if there is none."""


def fine(_key: str) -> str:
    return ""


@dataclass
class Trouble:
    """What goes wrong from now on."""

    with_all: str = ""
    """The code of the error that everything is answered with."""
    with_deletion: Refusal = fine
    is_deaf: bool = False
    """Deletions are acknowledged, and that is all."""
    expires_after: int | None = None
    """Deletions, and then the keys of the server are not good any more."""
    expiring: str = ""
    """The id of those keys; empty: whichever it has."""
    pause_seconds: float = 0.0
    deleted: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def error(self, signed: str) -> str:
        """What a request that is signed like this is answered with, whatever it asks for."""
        time.sleep(self.pause_seconds)
        is_expired = self.expires_after is not None and self.deleted >= self.expires_after
        is_expired = is_expired and f"Credential={self.expiring}" in signed
        return "ExpiredToken" if is_expired else self.with_all

    def refused(self, keys: list[str]) -> dict[str, str]:
        """Those of these keys that cannot be deleted, and why."""
        with self._lock:
            why = {key: self.with_deletion(key) for key in keys}
            refused = {key: code for key, code in why.items() if code}
            self.deleted += len(keys) - len(refused)
            return refused


def now_and_then(chance: random.Random, share: float) -> Refusal:
    """This share of deletions fails."""
    return lambda _key: "SlowDown" if chance.random() < share else ""


class TroubledS3:
    """Where servers reach the store; `trouble` may change at any time."""

    def __init__(self, store_url: str) -> None:
        self.trouble = Trouble()
        self._store = urlsplit(store_url).netloc
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_one_request(self) -> None:
                self.close_connection = True
                self.raw_requestline = self.rfile.readline(65_537)
                if self.raw_requestline and self.parse_request():
                    proxy.answer(self)

            def log_message(self, *_: object) -> None:
                """It is said to nobody."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        """One request."""
        body = request.rfile.read(int(request.headers.get("content-length", 0)))
        key = unquote(urlsplit(request.path).path).split("/", 2)[-1]
        trouble = self.trouble
        if code := trouble.error(request.headers.get("authorization", "")):
            _say(request, STATUSES.get(code, 403), {}, _error(code, key))
        elif request.command == "DELETE":
            self._delete(request, key)
        elif request.command == "POST" and DELETES_MANY.search(request.path):
            self._delete_many(request, body)
        else:
            self._pass_on(request, body)

    def _delete(self, request: BaseHTTPRequestHandler, key: str) -> None:
        if refused := self.trouble.refused([key]):
            code = refused[key]
            _say(request, STATUSES.get(code, 403), {}, _error(code, key))
        elif self.trouble.is_deaf:
            _say(request, 204, {}, b"")
        else:
            self._pass_on(request, b"")

    def _delete_many(self, request: BaseHTTPRequestHandler, body: bytes) -> None:
        keys = KEY.findall(body.decode())
        refused = self.trouble.refused(keys)
        good = [key for key in keys if key not in refused]
        if good and not self.trouble.is_deaf:
            asked = "".join(f"<Object><Key>{key}</Key></Object>" for key in good)
            status, _, answer = self._ask(request, f"<Delete>{asked}</Delete>".encode())
            assert status == http.client.OK, answer
        said = [
            *(f"<Deleted><Key>{key}</Key></Deleted>" for key in good),
            *(_error(code, key).decode() for key, code in refused.items()),
        ]
        _say(request, 200, {}, f"<DeleteResult>{''.join(said)}</DeleteResult>".encode())

    def _pass_on(self, request: BaseHTTPRequestHandler, body: bytes) -> None:
        _say(request, *self._ask(request, body))

    def _ask(
        self, request: BaseHTTPRequestHandler, body: bytes
    ) -> tuple[int, dict[str, str], bytes]:
        connection = http.client.HTTPConnection(self._store, timeout=30)
        headers = {name: text for name, text in request.headers.items() if name in PASSED_ON}
        try:
            connection.request(request.command, request.path, body, headers)
            answer = connection.getresponse()
            kept = {name: text for name, text in answer.getheaders() if name.lower() in ANSWERED}
            if request.command == "HEAD":
                kept["Content-Length"] = answer.headers["content-length"] or "0"
            return answer.status, kept, answer.read()
        finally:
            connection.close()

    @contextmanager
    def running(self) -> Iterator["TroubledS3"]:
        """Serve while this block lasts."""
        thread = threading.Thread(target=self._server.serve_forever)
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            thread.join()
            self._server.server_close()


def _say(
    request: BaseHTTPRequestHandler, status: int, headers: dict[str, str], body: bytes
) -> None:
    request.send_response(status)
    headers.setdefault("Content-Length", str(len(body)))
    for name, text in {**headers, "Connection": "close"}.items():
        request.send_header(name, text)
    request.end_headers()
    if request.command != "HEAD":
        request.wfile.write(body)


def _error(code: str, key: str) -> bytes:
    text = f"<Error><Key>{key}</Key><Code>{code}</Code><Message>{code}</Message></Error>"
    return text.encode()
