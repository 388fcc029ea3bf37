"""Real S3 servers for tests.

`MotoServer` comes from PyPI and starts in a second, but lets every key do everything: it proves
requests, not rights. `MinioServer` checks signatures and enforces policies; it is built once, which
takes ten minutes and Go, and kept in the user's cache.
"""

import http.client
import sys
import time

import msgspec

from headgate.storage.options import S3Options
from headgate.storage.sigv4 import Keys, Scope, sha256, sign
from headgate.testing import store_process
from headgate.testing.store_process import StoreProcess

MINIO = "github.com/minio/minio@v0.0.0-20250907161309-07c3a429bfed"


class S3Server(StoreProcess):
    """Speaks S3 and STS, and has one set of keys that may do everything."""

    keys = Keys("headgate", "headgate-secret")
    region = "us-east-1"

    def options(self, **changes: object) -> S3Options:
        """How to reach the server with its own keys."""
        own = S3Options(
            endpoint=self.url, region=self.region, allow_http=True, **self.keys._asdict()
        )
        return msgspec.structs.replace(own, **changes)

    def create_bucket(self, name: str) -> None:
        """A new, empty bucket."""
        status, answer = send(self.keys, "PUT", f"{self.url}/{name}")
        if status != http.client.OK:
            raise RuntimeError(f"bucket {name} was not created: {status} {answer!r}")

    def answers(self) -> bool:
        return send(self.keys, "GET", f"{self.url}/")[0] == http.client.OK


class MotoServer(S3Server):
    """In memory; any key is accepted and policies are not enforced."""

    def command(self) -> list[str]:
        start = "from moto.server import main; main()"
        address = ["-H", "127.0.0.1", "-p", str(self.port)]
        return [sys.executable, "-W", "ignore", "-c", start, *address]


class MinioServer(S3Server):
    """On disk; signatures are checked and the policies of temporary keys are enforced."""

    def command(self) -> list[str]:
        program = str(store_process.go_program(MINIO))
        address = f"127.0.0.1:{self.port}"
        return [program, "server", "--quiet", "--address", address, str(self.folder / "data")]

    def environment(self) -> dict[str, str]:
        return {
            "MINIO_ROOT_USER": self.keys.access_key_id,
            "MINIO_ROOT_PASSWORD": self.keys.secret_access_key,
            "MINIO_BROWSER": "off",
            "MINIO_UPDATE": "off",
        }


def send(keys: Keys, method: str, url: str, body: bytes = b"") -> tuple[int, bytes]:
    """One signed request, without a library in between."""
    scope = Scope("s3", S3Server.region, time.time_ns() // 1_000_000)
    headers = sign(keys, scope, method=method, url=url, headers={}, payload=sha256(body))
    return store_process.send(method, url, headers, body)
