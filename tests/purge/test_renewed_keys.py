"""Keys of S3 that expire while tables are purged, by a real server; and where keys must not be."""

import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from itertools import chain, count
from pathlib import Path

import pytest
import zstandard

from headgate.settings.store import DATABASE_FILE
from headgate.testing.headgate_server import HeadgateServer
from headgate.testing.object_stores import MotoServer
from tests.purge.cluster import hasty
from tests.purge.shop import BUCKET, FILES, Shop
from tests.purge.troubled_s3 import Trouble, TroubledS3

SECRET, TOKEN = "a-very-secret-key-of-the-store", "a-very-secret-token-of-the-store"
NUMBERS = count(1)
MANY_ATTEMPTS = 1_000
TABLES = "SELECT name FROM sqlite_master WHERE type = 'table'"


@pytest.fixture(name="store", scope="module")
def _store() -> Iterator[MotoServer]:
    with MotoServer() as store:
        store.create_bucket(BUCKET)
        yield store


@pytest.fixture(name="proxy", scope="module")
def _proxy(store: MotoServer) -> Iterator[TroubledS3]:
    with TroubledS3(store.url).running() as proxy:
        yield proxy


@pytest.fixture(autouse=True)
def _no_trouble(proxy: TroubledS3) -> Iterator[None]:
    proxy.trouble = Trouble()
    yield
    proxy.trouble = Trouble()


def server_on(proxy: TroubledS3, folder: Path, keys: dict[str, str]) -> HeadgateServer:
    """It reaches the store through the proxy, with these keys."""
    chosen = {
        "bootstrap.warehouse": f"s3://{BUCKET}/wh{next(NUMBERS)}",
        "s3.endpoint": proxy.url,
        "s3.allow-http": "true",
        **keys,
    }
    options = [part for name, text in chosen.items() for part in ("--set", f"{name}={text}")]
    return HeadgateServer(folder, *options, *hasty(max_attempts=MANY_ATTEMPTS))


class KeyFile:
    """What somebody renews."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def renew(self, id: str) -> None:
        """Let these keys be in it; half of a file is never seen."""
        said = {"AccessKeyId": id, "SecretAccessKey": SECRET, "SessionToken": TOKEN}
        draft = self.path.with_suffix(".new")
        draft.write_text(
            json.dumps({"Version": 1, **said, "Expiration": "2099-01-01T00:00:00+00:00"})
        )
        draft.replace(self.path)


@pytest.fixture(name="file")
def _file(tmp_path: Path) -> KeyFile:
    file = KeyFile(tmp_path / "keys")
    file.renew("first")
    return file


@pytest.fixture(name="server")
def _server(proxy: TroubledS3, file: KeyFile, tmp_path: Path) -> Iterator[HeadgateServer]:
    keys = {"s3.credentials-file": str(file.path)}
    with server_on(proxy, tmp_path / "server", keys) as server:
        yield server
    assert " ERROR " not in server.said()


def test_a_purge_goes_on_with_keys_that_are_renewed_late(
    server: HeadgateServer, store: MotoServer, proxy: TroubledS3, file: KeyFile
) -> None:
    """They expire in its midst; nothing is started again, and all is deleted."""
    shop = Shop(server, store, "late")
    proxy.trouble.expires_after, proxy.trouble.expiring = FILES // 2, "first"
    shop.drop()
    job = shop.waits()
    assert "ExpiredToken" in job["error"], job["error"]
    assert shop.keys() < shop.all

    file.renew("second")
    assert shop.is_purged()
    assert proxy.trouble.deleted > FILES // 2


def test_a_purge_does_not_notice_keys_that_are_renewed_in_time(
    server: HeadgateServer, store: MotoServer, proxy: TroubledS3, file: KeyFile
) -> None:
    """The first attempt uses the one and the other."""
    shop = Shop(server, store, "in-time")

    def renewed(_key: str) -> str:
        file.renew("second")
        return ""

    proxy.trouble.with_deletion = renewed
    proxy.trouble.expires_after, proxy.trouble.expiring = 1, "first"
    shop.drop()

    assert shop.is_purged()
    assert shop.job()["attempts"] == 1


@pytest.mark.parametrize("kind", ["settings", "file"])
def test_no_row_of_a_purge_has_a_secret_of_the_store(
    store: MotoServer, proxy: TroubledS3, file: KeyFile, tmp_path: Path, kind: str
) -> None:
    """Neither while it fails, with all that is told of that, nor when it is done."""
    static = {
        "s3.access-key-id": "first",
        "s3.secret-access-key": SECRET,
        "s3.session-token": TOKEN,
    }
    keys = static if kind == "settings" else {"s3.credentials-file": str(file.path)}
    with server_on(proxy, tmp_path / "server", keys) as server:
        shop = Shop(server, store, f"secret-{kind}")
        proxy.trouble.with_deletion = lambda key: "AccessDenied" if "/data/" in key else ""
        shop.drop()
        assert shop.waits()["ledger"]
        failing = stored(server)
        proxy.trouble = Trouble()
        assert shop.is_purged()
        done = stored(server)
    assert shop.made.location.encode() in failing  # what rows have can be found like this
    for rows in (failing, done, stored(server), server.log.read_bytes()):
        assert SECRET.encode() not in rows
        assert TOKEN.encode() not in rows


def stored(server: HeadgateServer) -> bytes:
    """All that lies in the folder of a server, and all rows of its database: in files they may be
    in pieces, and long ones are compressed."""
    files = [path for path in (server.folder / "data").rglob("*") if path.is_file()]
    database = server.folder / "data" / DATABASE_FILE
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as opened:
        names = [name for (name,) in opened.execute(TABLES)]
        rows = [row for name in names for row in opened.execute(f'SELECT * FROM "{name}"')]
    values = [value if isinstance(value, bytes) else str(value).encode() for value in chain(*rows)]
    return b"\n".join(
        [*(path.read_bytes() for path in files), *values, *chain(*map(unpacked, values))]
    )


def unpacked(value: bytes) -> Iterator[bytes]:
    """What is compressed in a value, wherever in it that begins."""
    for found in re.finditer(re.escape(zstandard.FRAME_HEADER), value):
        with suppress(zstandard.ZstdError):
            yield zstandard.ZstdDecompressor().decompressobj().decompress(value[found.start() :])
