"""Tokens: for client credentials, in exchange for another, and what is refused."""

import base64
from urllib.parse import urlencode

import jwt
import pytest

from headgate.errors import NotAuthenticated
from headgate.http.authentication.simple_tokens import SimpleTokens
from headgate.http.authentication.token_endpoint import EXCHANGE
from headgate.kernel.records import PointerKey
from headgate.limits import TOKEN_SECONDS
from headgate.testing.manual_clock import ManualClock
from tests.unit.catalog.lakes import SECRET, Answer, Node, call

CREDENTIALS = {"grant_type": "client_credentials", "client_id": "me", "client_secret": "x"}
ACCESS = "urn:ietf:params:oauth:token-type:access_token"


async def ask(node: Node, form: dict[str, str], **headers: str) -> Answer:
    return await node.post("/v1/oauth/tokens", urlencode(form).encode(), headers=headers)


def basic(text: str) -> dict[str, str]:
    return {"authorization": f"Basic {base64.b64encode(text.encode()).decode()}"}


def name_in(node: Node, answer: Answer) -> str:
    """Whose token was answered."""
    holder = node.tokens.read(answer.json["access_token"])
    assert holder is not None
    return holder.name


async def by(node: Node, **headers: str) -> str:
    """Who a request is from: the creator of what it makes."""
    name = f"n{len((await node.get('namespaces')).json['namespaces'])}"
    answer = await node.post("namespaces", {"namespace": [name]}, headers=headers)
    assert answer.status == 200, answer
    opened = await node.lake.open(call())
    key = PointerKey(opened.realm.id, opened.pointer)
    commit = await anext(node.kernel.log.newest_first(key))
    note = commit.groups[-1].note
    assert isinstance(note, dict)
    return str(note["by"])


async def test_a_token_for_client_credentials(node: Node) -> None:
    """The user is the client's id; the answer is complete and not to be stored."""
    answer = await ask(node, CREDENTIALS | {"scope": "catalog"})

    assert answer.status == 200
    assert answer.json | {"access_token": ""} == {
        "access_token": "",
        "token_type": "bearer",
        "expires_in": TOKEN_SECONDS,
        "issued_token_type": ACCESS,
        "scope": "catalog",
    }
    assert answer.headers["cache-control"] == "no-store"
    token = answer.json["access_token"]
    assert await by(node, authorization=f"Bearer {token}") == "me"


async def test_credentials_may_come_in_the_header(node: Node) -> None:
    """As OAuth2 says; no scope is answered if none was asked for."""
    answer = await ask(node, {"grant_type": "client_credentials"}, **basic("you:secret"))

    assert name_in(node, answer) == "you"
    assert "scope" not in answer.json


async def test_a_token_in_exchange_for_another(node: Node) -> None:
    """It lives from now on; the user is the same."""
    old = (await ask(node, CREDENTIALS)).json["access_token"]
    node.kernel.clock.advance(1_000 * (TOKEN_SECONDS - 1))  # type: ignore[attr-defined]
    exchange = {"grant_type": EXCHANGE, "subject_token": old, "subject_token_type": ACCESS}
    answer = await ask(node, exchange)
    node.kernel.clock.advance(2_000)  # type: ignore[attr-defined]

    assert name_in(node, answer) == "me"
    with pytest.raises(NotAuthenticated):
        node.tokens.read(old)
    late = await ask(node, exchange)
    assert late.status == 400
    assert late.json["error"] == "invalid_grant"
    assert "expired" in late.json["error_description"]


@pytest.mark.parametrize(
    ("body", "status", "error"),
    [
        (b"", 400, "invalid_request"),
        (b"grant_type=", 400, "invalid_request"),
        (b"\xff\xfe", 400, "invalid_request"),
        (b"&".join(b"a%d=1" % number for number in range(60)), 400, "invalid_request"),
        (b"grant_type=password&username=x", 400, "unsupported_grant_type"),
        (b"grant_type=client_credentials", 401, "invalid_client"),
        (b"grant_type=client_credentials&client_id=", 401, "invalid_client"),
        (f"grant_type={EXCHANGE}".encode(), 400, "invalid_grant"),
        (f"grant_type={EXCHANGE}&subject_token=x.y.z".encode(), 400, "invalid_grant"),
    ],
)
async def test_bad_requests_for_tokens(node: Node, body: bytes, status: int, error: str) -> None:
    """The form of the error is OAuth2's, not Iceberg's."""
    answer = await node.post("/v1/oauth/tokens", body)

    assert (answer.status, answer.json["error"]) == (status, error)
    assert set(answer.json) == {"error", "error_description"}
    assert answer.headers["cache-control"] == "no-store"


async def test_a_bad_header_is_no_client(node: Node) -> None:
    """Not Basic, not base64, not text, or without a name."""
    for value in ("Bearer x", "Basic !", "Basic /w==", "Basic Og==", "Basic", ""):
        answer = await ask(node, {"grant_type": "client_credentials"}, authorization=value)
        assert (answer.status, answer.json["error"]) == (401, "invalid_client")


async def test_users_are_believed(node: Node) -> None:
    """A name, a token of ours, anything else: that, its user, anonymous."""
    token = node.tokens.issue("me")

    assert await by(node, **basic("you:x")) == "you"
    assert await by(node, authorization=f"bearer {token}") == "me"
    for nobody in ({}, {"authorization": "Bearer None"}, {"authorization": "Basic !"}, basic(":x")):
        assert await by(node, **nobody) == "anonymous"
    assert await by(node, authorization="Negotiate abc") == "anonymous"


def test_tokens_of_others_are_not_ours() -> None:
    """Another secret, no signature, another issuer, no user: as if there were none."""
    clock = ManualClock()
    tokens = SimpleTokens(SECRET, clock)
    soon = clock.wall_ms() // 1_000 + 60
    claims = {"sub": "me", "exp": soon, "iss": "headgate"}
    foreign = [
        jwt.encode(claims, b"another secret of thirty-two byte", algorithm="HS256"),
        jwt.encode(claims, "", algorithm="none"),
        jwt.encode(claims | {"iss": "other"}, SECRET, algorithm="HS256"),
        jwt.encode({"exp": soon, "iss": "headgate"}, SECRET, algorithm="HS256"),
        jwt.encode({"sub": "me", "iss": "headgate"}, SECRET, algorithm="HS256"),
        "",
        "x.y.z",
    ]

    assert [tokens.read(token) for token in foreign] == [None] * len(foreign)
    assert tokens.read(jwt.encode(claims, SECRET, algorithm="HS256")) == ("me", soon * 1_000)


def test_a_token_ends_to_the_second() -> None:
    """One second before it is good, and then it is not."""
    clock = ManualClock()
    tokens = SimpleTokens(SECRET, clock)
    token = tokens.issue("me")
    clock.advance(1_000 * (TOKEN_SECONDS - 1))
    assert tokens.read(token) is not None
    clock.advance(1_000)
    with pytest.raises(NotAuthenticated, match="expired"):
        tokens.read(token)
