"""Iceberg's own REST server, to compare with: Java, its names in SQLite, its files on disk."""

import http.client
import os
import socket
from pathlib import Path
from types import TracebackType
from typing import Self

from headgate.testing.child import Child
from headgate.testing.maven import class_path, java

MAIN_CLASS = "org.apache.iceberg.rest.RESTCatalogServer"
START_SECONDS_MAX = 60.0
STOP_SECONDS_MAX = 10.0
STOPPED = (0, 143)  # Java ends a SIGTERM with 128 + 15


class ReferenceServer:
    """A server with its database and warehouse in `folder`, which stay when it ends.

    It demands that a namespace exists before a table is made in it, as Headgate does.
    """

    def __init__(self, folder: Path, *, port: int = 0, java_options: tuple[str, ...] = ()) -> None:
        self.folder = folder
        self.warehouse = folder / "warehouse"
        self.port = port
        self._java_options = java_options
        self._child: Child | None = None

    @property
    def url(self) -> str:
        """The base that clients are given; `/v1/config` follows it."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self._child
        return self._child.pid

    def __enter__(self) -> Self:
        self.warehouse.mkdir(parents=True, exist_ok=True)
        self.port = free_port(self.port)
        command = [java(), *self._java_options, "-cp", class_path(), MAIN_CLASS]
        self._child = Child(command, self.folder / "log", os.environ | self._configuration())
        try:
            self._child.wait_until(self._answers, START_SECONDS_MAX)
        except BaseException:
            self._child.kill()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._child
        code = self._child.stop(STOP_SECONDS_MAX)
        if code not in STOPPED:
            raise RuntimeError(f"the reference server ended with {code}: see {self._child.log}")

    def _configuration(self) -> dict[str, str]:
        return {
            "CATALOG_WAREHOUSE": str(self.warehouse),
            "CATALOG_URI": f"jdbc:sqlite:{self.folder / 'catalog.db'}",
            "CATALOG_JDBC_STRICT__MODE": "true",
            "CATALOG_REST_PORT": str(self.port),
        }

    def _answers(self) -> bool | None:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            connection.request("GET", "/v1/config")
            return connection.getresponse().status == http.HTTPStatus.OK or None
        except OSError:
            return None
        finally:
            connection.close()


def free_port(port: int = 0) -> int:
    """This port, or any for 0; an error if it is in use on any interface.

    The server itself would not notice: it shares a port with whoever has asked for sharing.
    """
    with socket.socket() as probe:
        probe.bind(("", port))
        found: int = probe.getsockname()[1]
        return found
