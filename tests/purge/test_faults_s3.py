"""Purges of tables on a real S3 server in trouble, by a real server."""

import itertools
import random
from collections.abc import Iterator

import pytest

from headgate.testing.headgate_server import HeadgateServer
from headgate.testing.object_stores import MotoServer
from tests.purge.cluster import hasty
from tests.purge.shop import BUCKET, FILES, Shop
from tests.purge.troubled_s3 import Trouble, TroubledS3, now_and_then
from tests.seeds import draw_seed

NUMBERS = itertools.count(1)
LEASE_MS = 2_000


@pytest.fixture(name="store", scope="module")
def _store() -> Iterator[MotoServer]:
    with MotoServer() as store:
        store.create_bucket(BUCKET)
        yield store


@pytest.fixture(name="proxy", scope="module")
def _proxy(store: MotoServer) -> Iterator[TroubledS3]:
    with TroubledS3(store.url).running() as proxy:
        yield proxy


@pytest.fixture(name="server", scope="module")
def _server(
    store: MotoServer, proxy: TroubledS3, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[HeadgateServer]:
    """It reaches the store through the proxy."""
    chosen = {
        "bootstrap.warehouse": f"s3://{BUCKET}/wh",
        "s3.endpoint": proxy.url,
        "s3.allow-http": "true",
        "s3.access-key-id": store.keys.access_key_id,
        "s3.secret-access-key": store.keys.secret_access_key,
        "storage.allowed-endpoints": proxy.url,
    }
    options = [part for name, text in chosen.items() for part in ("--set", f"{name}={text}")]
    options += hasty(lease_timeout_ms=LEASE_MS, max_attempts=1_000)
    with HeadgateServer(tmp_path_factory.mktemp("server"), *options) as server:
        yield server
    assert " ERROR " not in server.said()


@pytest.fixture(name="shop")
def _shop(server: HeadgateServer, store: MotoServer, proxy: TroubledS3) -> Iterator[Shop]:
    """A table of its own for each test; in the end there is no trouble any more."""
    proxy.trouble = Trouble()
    yield Shop(server, store, f"t{next(NUMBERS)}")
    proxy.trouble = Trouble()


@pytest.mark.parametrize("share", [0.01, 0.5])
def test_deletions_that_fail_now_and_then_succeed_at_last(
    shop: Shop, proxy: TroubledS3, share: float
) -> None:
    """Of every hundred one, or every other one."""
    chance = random.Random(draw_seed("failing deletions"))
    proxy.trouble.with_deletion = now_and_then(chance, share)
    shop.drop()

    assert shop.is_purged()


def test_objects_that_may_not_be_deleted_are_on_the_ledger(shop: Shop, proxy: TroubledS3) -> None:
    """They, and all that leads to them, stay until they may be."""
    denied = {key for key in shop.all if "/data/part=00001/" in key}
    leading = {key for key in shop.all if "/metadata/" in key}
    proxy.trouble.with_deletion = lambda key: "AccessDenied" if key in denied else ""
    shop.drop()
    job = shop.waits()
    assert denied
    assert {line["path"] for line in job["ledger"]} == {f"s3://{BUCKET}/{key}" for key in denied}
    assert all("AccessDenied" in line["why"] for line in job["ledger"]), job["ledger"]
    assert shop.keys() == denied | leading

    proxy.trouble = Trouble()
    assert shop.is_purged()


def test_a_bucket_that_is_gone_is_waited_for(shop: Shop, proxy: TroubledS3) -> None:
    """Nothing can be found in it, and that is no success."""
    proxy.trouble.with_all = "NoSuchBucket"
    shop.drop()
    job = shop.waits()
    assert job["state"] != "SUCCEEDED"
    assert "NoSuchBucket" in job["error"], job["error"]

    proxy.trouble = Trouble()
    assert shop.is_purged()


def test_keys_that_expire_midway_are_waited_for(shop: Shop, proxy: TroubledS3) -> None:
    """A part is deleted, and the rest when there are good ones again."""
    proxy.trouble.expires_after = FILES // 2
    shop.drop()
    job = shop.waits()
    assert "ExpiredToken" in job["error"], job["error"]
    assert shop.keys() < shop.all

    proxy.trouble = Trouble()
    assert shop.is_purged()


def test_deletions_that_are_only_acknowledged_are_found_out(shop: Shop, proxy: TroubledS3) -> None:
    """The store says yes and does nothing."""
    proxy.trouble.is_deaf = True
    shop.drop()
    job = shop.waits()
    assert shop.keys() == shop.all
    assert job["ledger"][0]["why"] == "it was deleted and is still there"

    proxy.trouble = Trouble()
    assert shop.is_purged()


def test_a_slow_store_is_no_failure(shop: Shop, proxy: TroubledS3) -> None:
    """It takes longer than a lease: heartbeats go on, and the first attempt succeeds."""
    proxy.trouble.pause_seconds = 0.2
    shop.drop()

    assert shop.is_purged()
    job = shop.job()
    assert job["attempts"] == 1
    assert job["elapsed-ms"] > LEASE_MS
