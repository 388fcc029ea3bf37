"""Clients of a server that dies again and again: they remember what they were told."""

import http.client
import json
import threading
import time
import uuid
from abc import ABC, abstractmethod
from typing import Any

import pyarrow as pa
import requests
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.exceptions import (
    CommitFailedException,
    CommitStateUnknownException,
    ServerError,
)

UNKNOWN = (CommitStateUnknownException, ServerError, requests.RequestException)
PATIENCE_SECONDS = 30.0
PAUSE_SECONDS = 0.02


class Client(ABC, threading.Thread):
    """Works until it is told to stop; what goes wrong for it is in `mistakes`."""

    def __init__(self) -> None:
        super().__init__()
        self.mistakes: list[str] = []
        self._stopped = threading.Event()

    def run(self) -> None:
        try:
            while not self._stopped.is_set():
                self.work()
        except Exception as error:  # noqa: BLE001  any surprise is a finding
            self.mistakes.append(repr(error))

    def stop(self) -> None:
        self._stopped.set()

    @abstractmethod
    def work(self) -> None:
        """One change, told or unknown."""


class Appender(Client):
    """Appends numbers with pyiceberg, to a table it may share with others."""

    def __init__(self, url: str, table: str, numbers: range) -> None:
        super().__init__()
        self.acknowledged: list[int] = []
        self.refused: list[int] = []
        self.unknown: list[int] = []
        self._url = url
        self._name = table
        self._numbers = iter(numbers)
        self._catalog: RestCatalog | None = None

    def work(self) -> None:
        try:
            self._catalog = self._catalog or RestCatalog("c", uri=self._url, warehouse="main")
            table = self._catalog.load_table(self._name)
        except UNKNOWN:
            time.sleep(PAUSE_SECONDS)
            return
        number = next(self._numbers)
        try:
            table.append(pa.table({"id": [number]}))
            self.acknowledged.append(number)
        except CommitFailedException:
            self.refused.append(number)  # others were quicker, too often: it is not there
        except UNKNOWN:
            self.unknown.append(number)  # it may be there or not, but not twice


class KeyedClient(Client):
    """Sends each change with an Idempotency-Key, and again until it is answered for good."""

    def __init__(self, port: int, prefix: str) -> None:
        super().__init__()
        self.interrupted = 0
        """How many requests the server may have got, and never answered."""
        self._port = port
        self._prefix = prefix

    def send(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """The answer, which must be a success however often it took."""
        key = str(uuid7())
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            try:
                status, answer = self._post(path, body, key)
            except (OSError, http.client.HTTPException) as error:
                status, answer = 0, {}
                self.interrupted += not isinstance(error, ConnectionRefusedError)
            if status == http.HTTPStatus.OK:
                return answer
            if 0 < status < http.HTTPStatus.INTERNAL_SERVER_ERROR:
                raise AssertionError(f"{path} {body} with {key}: {status} {answer}")
            time.sleep(PAUSE_SECONDS)
        raise AssertionError(f"no answer to {path} in {PATIENCE_SECONDS:.0f} s")

    def _post(self, path: str, body: dict[str, Any], key: str) -> tuple[int, dict[str, Any]]:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=10)
        headers = {"Content-Type": "application/json", "Idempotency-Key": key}
        try:
            target = f"/iceberg/v1/{self._prefix}/{path}"
            connection.request("POST", target, json.dumps(body), headers)
            response = connection.getresponse()
            return response.status, json.loads(response.read() or b"{}")
        finally:
            connection.close()


class NamespaceMaker(KeyedClient):
    """Makes namespaces: a second time without memory of the key would be refused."""

    def __init__(self, port: int, prefix: str) -> None:
        super().__init__(port, prefix)
        self.made: list[str] = []

    def work(self) -> None:
        name = f"made{len(self.made)}"
        self.send("namespaces", {"namespace": [name], "properties": {}})
        self.made.append(name)


class Committer(KeyedClient):
    """Tags a table's only snapshot; each commit requires that its tag is not there yet."""

    def __init__(self, port: int, prefix: str, table: str, snapshot_id: int) -> None:
        super().__init__(port, prefix)
        self.tags: list[str] = []
        self._path = f"namespaces/crash/tables/{table}"
        self._snapshot_id = snapshot_id

    def work(self) -> None:
        name = f"tag{len(self.tags)}"
        reference = {"ref-name": name, "type": "tag", "snapshot-id": self._snapshot_id}
        absent = {"type": "assert-ref-snapshot-id", "ref": name, "snapshot-id": None}
        change = {"action": "set-snapshot-ref", **reference}
        self.send(self._path, {"requirements": [absent], "updates": [change]})
        self.tags.append(name)


def uuid7() -> uuid.UUID:
    """A version 7 id: milliseconds first, then chance."""
    chance = uuid.uuid4().int & ((1 << 80) - 1)
    value = (int(time.time() * 1000) << 80) | chance
    value = value & ~(0xF << 76) | (7 << 76)
    return uuid.UUID(int=value & ~(0x3 << 62) | (0x2 << 62))
