"""Tokens of our own: issued, exchanged, read, revoked, and forged."""

import base64
import hmac
import json
from typing import Any
from urllib.parse import urlencode

import jwt
import pytest

from headgate.catalog.identities import Client
from headgate.catalog.identity_users import create_secret, revoke_tokens, vouch_for
from headgate.catalog.proofs import TokenProof
from headgate.catalog.signing_keys import revoke_session
from headgate.errors import NotAuthenticated
from headgate.http.authentication.revocation import RevocationServices, revoke_token
from headgate.http.authentication.token_endpoint import EXCHANGE, KeptGranter, TokenEndpoint
from headgate.http.request import Request, Response
from headgate.testing.kernels import Rig
from tests.unit.catalog.keeping import LIFETIMES, Keeper, keeper, session_of

CREDENTIALS = "client_credentials"


def ask(form: dict[str, str], **headers: str) -> Request:
    return Request("POST", "/", headers=headers, body=urlencode(form).encode())


def read(response: Response) -> Any:
    assert ("cache-control", "no-store") in response.headers
    assert isinstance(response.body, bytes)
    return json.loads(response.body) if response.body else None


async def granted(node: Keeper, form: dict[str, str], **headers: str) -> tuple[int, Any]:
    endpoint = TokenEndpoint(KeptGranter(node.tokens, node.identities))
    response = await endpoint.answer(ask(form, **headers))
    return response.status, read(response)


async def test_a_client_gets_a_token_for_its_secret(node: Keeper) -> None:
    """In the form or in the header; it is good for a while, and known by all nodes."""
    secret = await create_secret(node.kernel, bytes, "engine")
    form = {"grant_type": CREDENTIALS, "client_id": "engine", "client_secret": secret.secret}
    pair = base64.b64encode(f"engine:{secret.secret}".encode()).decode()

    status, answer = await granted(node, form | {"scope": "catalog"})
    assert (status, answer["expires_in"]) == (200, LIFETIMES.token)
    assert (answer["token_type"], answer["scope"]) == ("bearer", "catalog")
    status, other = await granted(node, {"grant_type": CREDENTIALS}, authorization=f"Basic {pair}")
    assert status == 200
    for token in (answer["access_token"], other["access_token"]):
        held = await node.tokens.read(token)
        assert held is not None
        assert held.caller.name == "engine"
        assert await node.knows(held.caller)


@pytest.mark.parametrize(
    ("client", "secret"),
    [("engine", "wrong"), ("engine", ""), ("nobody", "x"), ("", "x"), ("\0", "x")],
)
async def test_without_its_secret_nobody_gets_a_token(
    node: Keeper, client: str, secret: str
) -> None:
    """Whoever it says it is; all who say something are told the same."""
    await create_secret(node.kernel, bytes, "engine")
    form = {"grant_type": CREDENTIALS, "client_id": client, "client_secret": secret}

    status, answer = await granted(node, form)

    assert (status, answer["error"]) == (401, "invalid_client")
    assert client == "" or "credentials are not valid" in answer["error_description"]


async def test_a_token_is_exchanged_for_a_newer_one(node: Keeper) -> None:
    """Until its session ends: who stole one cannot use it for ever."""
    issued, _ = await node.token(await vouch_for(node.kernel, "ann"))
    clock, token, rounds = node.kernel.clock, issued.token, 0
    while True:
        clock.advance(1_000 * (LIFETIMES.token - 10))  # type: ignore[attr-defined]
        status, answer = await granted(node, {"grant_type": EXCHANGE, "subject_token": token})
        if status != 200:
            break
        rounds += 1
        token = answer["access_token"]
        held = await node.tokens.read(token)
        assert held is not None
        assert held.expires_ms <= held.ends_ms
        assert session_of(held.caller).hex() == issued.session

    assert answer["error"] == "invalid_grant"
    assert "expired" in answer["error_description"]
    assert rounds == LIFETIMES.session // (LIFETIMES.token - 10)


async def test_a_client_renews_an_expired_token_with_its_secret(node: Keeper) -> None:
    """As Java's clients do it: the old token, and their credentials in the header."""
    secret = await create_secret(node.kernel, bytes, "engine")
    issued, _ = await node.token(await node.identities.client("engine", secret.secret), 1)
    node.kernel.clock.advance(2_000)  # type: ignore[attr-defined]
    form = {"grant_type": EXCHANGE, "subject_token": issued.token}

    def header(text: str) -> str:
        return f"Basic {base64.b64encode(text.encode()).decode()}"

    status, answer = await granted(node, form, authorization=header(f"engine:{secret.secret}"))
    assert status == 200
    held = await node.tokens.read(answer["access_token"])
    assert held is not None
    assert await node.knows(held.caller)
    assert session_of(held.caller).hex() != issued.session
    status, answer = await granted(node, form, authorization=header("engine:wrong"))
    assert (status, answer["error"]) == (401, "invalid_client")
    assert (await granted(node, form))[1]["error"] == "invalid_grant"


async def test_a_token_that_is_worthless_is_not_exchanged(rig: Rig, node: Keeper) -> None:
    """Neither one that was revoked, on any node, nor one of somebody else."""
    other = await keeper(rig)
    issued, caller = await node.token(await vouch_for(node.kernel, "ann"))
    form = {"grant_type": EXCHANGE, "subject_token": issued.token}
    assert (await granted(other, form))[0] == 200

    await revoke_session(node.kernel, session_of(caller), 1 << 42)

    assert (await granted(other, form))[1]["error"] == "invalid_grant"
    for text in ("", "x.y.z"):
        status, answer = await granted(other, {"grant_type": EXCHANGE, "subject_token": text})
        assert (status, answer["error_description"]) == (400, "subject_token was not issued here")


async def test_revoking_ends_all_tokens_of_a_session(rig: Rig, node: Keeper) -> None:
    """Whichever of them is shown; the next request on another node is refused."""
    other = await keeper(rig)
    issued, first = await node.token(await vouch_for(node.kernel, "ann"))
    held = await node.tokens.read(issued.token)
    assert held is not None
    newer = await node.tokens.exchange(held)
    read_newer = await other.tokens.read(newer.token)
    assert read_newer is not None
    assert await other.knows(read_newer.caller)
    services = RevocationServices(node.kernel, node.tokens)

    for _ in range(2):  # again does no harm
        response = await revoke_token(services, ask({"token": newer.token}))
        assert (response.status, read(response)) == (200, None)

    assert not await other.knows(read_newer.caller)
    assert not await other.knows(first)
    assert (await node.notes())[-1] == {
        "do": "revoke",
        "kind": "token",
        "name": [issued.session],
        "by": "ann",
    }


async def test_an_expired_token_still_ends_its_session(node: Keeper) -> None:
    """It was exchanged for others, which would live on."""
    issued, _ = await node.token(await vouch_for(node.kernel, "ann"))
    held = await node.tokens.read(issued.token)
    assert held is not None
    node.kernel.clock.advance(1_000 * (LIFETIMES.token - 1))  # type: ignore[attr-defined]
    newer = await node.tokens.read((await node.tokens.exchange(held)).token)
    assert newer is not None
    node.kernel.clock.advance(2_000)  # type: ignore[attr-defined]
    with pytest.raises(NotAuthenticated, match="expired"):
        await node.tokens.read(issued.token)

    services = RevocationServices(node.kernel, node.tokens)
    assert (await revoke_token(services, ask({"token": issued.token}))).status == 200
    assert not await node.knows(newer.caller)


async def test_a_session_is_revoked_once(rig: Rig, node: Keeper) -> None:
    """Whoever revokes it again, by a token or by its id, changes nothing."""
    issued, caller = await node.token(await vouch_for(node.kernel, "ann"))
    services = RevocationServices(node.kernel, node.tokens)
    await revoke_token(services, ask({"token": issued.token}))
    told = await node.notes()
    rig.backend.reset()

    await revoke_token(services, ask({"token": issued.token}))
    await revoke_session(node.kernel, session_of(caller), 1 << 42)

    assert rig.backend.rows_written == rig.backend.calls["commit"] == 0
    assert await node.notes() == told


async def test_what_cannot_be_revoked(node: Keeper) -> None:
    """A token that is no good is none any more; what is no request is told so."""
    services = RevocationServices(node.kernel, node.tokens)
    issued, _ = await node.token(await vouch_for(node.kernel, "ann"), 1)
    before = len(await node.notes())
    node.kernel.clock.advance(2_000)  # type: ignore[attr-defined]
    for token in (issued.token, "x.y.z"):
        assert (await revoke_token(services, ask({"token": token}))).status == 200
    assert len(await node.notes()) == before

    empty = await revoke_token(services, ask({}))
    assert (empty.status, read(empty)["error"]) == (400, "invalid_request")
    nowhere = await revoke_token(services._replace(tokens=None), ask({"token": "x"}))
    assert read(nowhere)["error"] == "unsupported_token_type"


async def test_a_server_without_tokens_says_so() -> None:
    """In OAuth2's words."""
    response = await TokenEndpoint(None).answer(ask({"grant_type": CREDENTIALS}))

    assert (response.status, read(response)["error"]) == (400, "unauthorized_client")


async def test_a_token_that_somebody_else_made_is_not_ours(node: Keeper) -> None:
    """Signed with another key, not signed, changed, or for another kind of key."""
    issued, caller = await node.token(await vouch_for(node.kernel, "ann"))
    key = await node.keys.newest()
    said = jwt.decode(issued.token, options={"verify_signature": False})
    kid = {"kid": str(key.id)}
    head, body, tail = issued.token.split(".")
    root = _part({**said, "sub": "root"})
    longer = f"{_part({'alg': 'HS512', **kid})}.{body}"

    forged = [
        jwt.encode({**said, "sub": "root"}, b"another key of thirty-two bytes!", headers=kid),
        jwt.encode({**said, "sub": "root"}, "", algorithm="none", headers=kid),
        f"{head}.{root}.{tail}",
        f"{head}.{root}.",
        f"{_part({'alg': 'none', **kid})}.{root}.",
        f"{_part({'alg': 'HS256', 'kid': str(key.id + 1)})}.{body}.{tail}",
        jwt.encode({**said, "iss": "other"}, key.secret, headers=kid),
        jwt.encode({**said, "gen": "x"}, key.secret, headers=kid),
        jwt.encode({**said, "sid": "no hex"}, key.secret, headers=kid),
        jwt.encode({**said, "sub": None}, key.secret, headers=kid),
        jwt.encode({name: said[name] for name in said if name != "exp"}, key.secret, headers=kid),
        jwt.encode(said, key.secret),
        f"{longer}.{_encoded(hmac.digest(key.secret, longer.encode(), 'sha512'))}",
    ]
    for number, token in enumerate(forged):
        assert await node.tokens.read(token) is None, number
    for strange in ("", "x", "-1", "1" * 99, "٣", "1 ", str(key.id) + "\0"):
        token = jwt.encode(said, key.secret, headers={"kid": strange})
        assert await node.tokens.read(token) is None, strange
    again = await node.tokens.read(jwt.encode(said, key.secret, headers=kid))
    assert again is not None
    assert again.caller == caller


async def test_a_token_says_what_it_depends_on(node: Keeper) -> None:
    """And lives as long as the operator says."""
    client = await vouch_for(node.kernel, "ann")
    issued, caller = await node.token(client, 86_400)

    assert issued.seconds == 86_400
    key = await node.keys.newest()
    proof = TokenProof(bytes.fromhex(issued.session), key.id, client.generation)
    assert caller.proof == proof
    node.kernel.clock.advance(86_399_000)  # type: ignore[attr-defined]
    assert await node.tokens.read(issued.token)
    node.kernel.clock.advance(1_000)  # type: ignore[attr-defined]
    with pytest.raises(NotAuthenticated, match="expired"):
        await node.tokens.read(issued.token)


async def test_a_client_of_another_time_gets_nothing(node: Keeper) -> None:
    """A token for a generation that has passed is worthless from the beginning."""
    client: Client = await vouch_for(node.kernel, "ann")
    await revoke_tokens(node.kernel, "ann")
    _, caller = await node.token(client)

    assert not await node.knows(caller)


def _part(value: object) -> str:
    return _encoded(json.dumps(value).encode())


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
