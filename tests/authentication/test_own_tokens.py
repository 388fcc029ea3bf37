"""Passwords, secrets and tokens that Headgate itself keeps, on two servers with one database."""

import re
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import httpx
import pytest
from pyiceberg.catalog import load_catalog

from headgate.http.authentication.token_endpoint import EXCHANGE
from headgate.testing.headgate_server import HeadgateServer
from headgate.testing.postgresql import PostgresqlServer
from tests.authentication.asking import (
    ME,
    TABLES,
    Nodes,
    bearer,
    command,
    get,
    sets,
    status,
    token_for,
)
from tests.conftest import FULL

PASSWORD = "correct horse battery"
MASTER = "a master key that nobody guesses"
ROUNDS = 100 if FULL else 10
METALAKES = "/api/metalakes/default", "/api/metalakes/none"  # which there are is nobody's business


def revoke(server: HeadgateServer, token: str) -> None:
    url = f"{server.url}/management/v1/tokens/revoke"
    assert httpx.post(url, data={"token": token}, trust_env=False).status_code == 200


def are_three(found: Callable[[str], list[str]], name: str) -> bool:
    return len(found(name)) == 3


def eventually(condition: Callable[[], bool]) -> bool:
    """Whether it comes true soon: lines of a log are written together, a moment later."""
    deadline = time.monotonic() + 20
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    return condition()


def issued(nodes: Nodes, client: str) -> tuple[str, str]:
    """A new secret of a client, and a token for it."""
    secret = nodes.cli("token", "secret", "create", client)["client-secret"]
    answer = token_for(nodes.one, client, secret)
    assert answer.status_code == 200
    return secret, answer.json()["access_token"]


def test_a_revoked_token_is_refused_by_the_next_request_on_the_other_node(nodes: Nodes) -> None:
    """Though that node has just let it in, time after time."""
    secret, _ = issued(nodes, "first")
    stale = 0
    for _ in range(ROUNDS):
        token = token_for(nodes.one, "first", secret).json()["access_token"]
        assert [status(nodes.two, token), status(nodes.two, token, ME)] == [200, 200]
        revoke(nodes.one, token)
        stale += status(nodes.two, token) != 401
        stale += status(nodes.two, token, ME) != 401

    assert stale == 0


def test_whoever_proves_nothing_is_refused(nodes: Nodes) -> None:
    """On both protocols; what is public stays so."""
    for server in (nodes.one, nodes.two):
        for path in (TABLES, ME, "/iceberg/v1/config", "/api/metalakes", *METALAKES):
            answer = get(server, path)
            ways = answer.headers.get_list("www-authenticate")
            assert (answer.status_code, ways) == (401, ['Basic realm="headgate"', "Bearer"])
            assert get(server, path, auth=("root", "")).status_code == 401
            assert status(server, "made.up.token", path) == 401
        for path in ("/health", "/api/version", "/configs", "/metrics"):
            assert get(server, path).status_code == 200
    assert get(nodes.one, "/configs").json()["gravitino.authenticators"] == ["basic", "oauth"]


def test_secrets_are_rotated_without_a_pause(nodes: Nodes) -> None:
    """The old one is good until it is revoked; then so are its tokens no more."""
    old, by_old = issued(nodes, "second")
    new, by_new = issued(nodes, "second")
    assert status(nodes.two, by_old) == status(nodes.two, by_new) == 200
    listed = nodes.cli("token", "secret", "list", "second")

    nodes.cli("token", "secret", "revoke", "second", listed[1]["id"])

    assert [status(nodes.two, by_old), status(nodes.two, by_new)] == [401, 200]
    refused = token_for(nodes.two, "second", old)
    assert (refused.status_code, refused.json()["error"]) == (401, "invalid_client")
    assert token_for(nodes.two, "second", new).status_code == 200


def test_tokens_are_exchanged_on_any_node(nodes: Nodes) -> None:
    """The newer one falls with the older one."""
    _, token = issued(nodes, "third")
    url = f"{nodes.two.iceberg_url}/v1/oauth/tokens"
    form = {"grant_type": EXCHANGE, "subject_token": token}
    newer = httpx.post(url, data=form, trust_env=False).json()["access_token"]
    assert newer != token
    assert status(nodes.one, newer) == 200

    revoke(nodes.two, token)

    assert status(nodes.one, newer) == 401
    assert httpx.post(url, data=form, trust_env=False).json()["error"] == "invalid_grant"


def test_a_password_counts_on_all_nodes_at_once(nodes: Nodes) -> None:
    """When it is set, changed, and when its user is switched off."""
    nodes.cli("user", "create", "ann", typed=f"{PASSWORD}\n")
    ways = [("ann", PASSWORD), ("ann", "another password"), ("bob", PASSWORD)]

    def known() -> list[int]:
        return [get(nodes.two, ME, auth=auth).status_code for auth in ways]

    assert known() == [200, 401, 401]
    assert get(nodes.two, ME, auth=ways[0]).json()["principal"] == "ann"
    nodes.cli("user", "password", "ann", typed="another password\n")
    assert known() == [401, 200, 401]
    nodes.cli("user", "disable", "ann")
    assert known() == [401, 401, 401]
    nodes.cli("user", "enable", "ann")
    assert known() == [401, 200, 401]


def test_a_token_outlives_its_server(nodes: Nodes) -> None:
    """Keys are in the database, and the one that seals them is beside it."""
    _, token = issued(nodes, "fourth")
    nodes.one.stop()
    nodes.one.start()
    assert status(nodes.one, token) == 200

    nodes.cli("token", "rotate-keys", "--drop-old")
    assert [status(nodes.one, token), status(nodes.two, token)] == [401, 401]
    _, newer = issued(nodes, "fourth")
    assert [status(nodes.one, newer), status(nodes.two, newer)] == [200, 200]


def test_pyiceberg_gets_its_own_tokens(nodes: Nodes) -> None:
    """With the id and the secret of a client, as its users write them."""
    secret, _ = issued(nodes, "fifth")
    catalog = load_catalog(
        "headgate",
        type="rest",
        uri=nodes.two.iceberg_url,
        credential=f"fifth:{secret}",
        **{"oauth2-server-uri": f"{nodes.two.iceberg_url}/v1/oauth/tokens"},
    )
    catalog.create_namespace("by_token")

    assert catalog.list_namespaces() == [("by_token",)]
    assert eventually(lambda: "principal=fifth" in nodes.two.said())


def test_a_warm_caller_costs_one_read_of_the_database(nodes: Nodes) -> None:
    """The one that every request makes."""
    _, token = issued(nodes, "sixth")
    nodes.cli("user", "create", "eve", typed=f"{PASSWORD}\n")
    for _ in range(3):
        get(nodes.two, headers=bearer(token))
        get(nodes.two, auth=("eve", PASSWORD))

    def reads(name: str) -> list[str]:
        return re.findall(rf"GET {TABLES} 200 .* (\d+) reads .*principal={name} ", nodes.two.said())

    for name in ("sixth", "eve"):
        assert eventually(partial(are_three, reads, name))
        assert reads(name)[1:] == ["1", "1"]


def test_no_secret_is_logged_measured_or_shown(tmp_path: Path) -> None:
    """All of it is used, rightly and wrongly, by a server that logs everything."""
    logging = ("log.level=debug", "log.format=json", f"security.master-key={MASTER}")
    with Nodes(tmp_path, "authentication.methods=basic,token", *logging) as nodes:
        secret, token = issued(nodes, "engine")
        nodes.cli("user", "create", "ann", typed=f"{PASSWORD}\n")
        for auth in (("ann", PASSWORD), ("nobody", PASSWORD)):
            get(nodes.one, auth=auth)
        status(nodes.one, token)
        status(nodes.one, token[:-3])
        get(nodes.one, f"{TABLES}?pageToken=x", headers=bearer(token))
        token_for(nodes.one, "engine", f"{secret}!")
        shown = "".join(
            get(nodes.one, path, headers=bearer(token)).text
            for path in ("/metrics", "/management/v1/settings", "/configs")
        )
        revoke(nodes.one, token)
        status(nodes.one, token)
    said = nodes.said()

    assert TABLES in said
    assert "authentication.methods" in shown
    for text in (PASSWORD, secret, token, token.rpartition(".")[2], MASTER):
        assert text not in said
        assert text not in shown


def test_a_shared_database_needs_a_master_key(
    postgresql_server: PostgresqlServer, tmp_path: Path
) -> None:
    """Then its tokens are good on all nodes that have it; without it a server does not start."""
    url = postgresql_server.create_database()
    where = ("--backend", url, *sets("authentication.methods=token"))
    warehouse = sets(f"bootstrap.warehouse=file://{tmp_path}/tables")
    with pytest.raises(RuntimeError, match="there is no master key to seal or make keys with"):
        HeadgateServer(tmp_path / "none", *where, *warehouse).start()
    file = tmp_path / "key"
    file.write_text(MASTER)
    file.chmod(0o600)
    given, named = sets(f"security.master-key={MASTER}"), sets(f"security.master-key-file={file}")
    with (
        HeadgateServer(tmp_path / "one", *where, *warehouse, *given) as one,
        HeadgateServer(tmp_path / "two", *where, *warehouse, *named) as two,
    ):
        token = command("token", "create", "ann", *where, *given)["token"]
        assert [status(one, token), status(two, token)] == [200, 200]
        revoke(two, token)
        assert [status(one, token), status(two, token)] == [401, 401]
