"""Nothing that should stay secret can be read off an object, an error or a log."""

import base64
import logging
import re
from collections.abc import Iterator
from typing import Any

import pytest

from headgate.catalog.calls import Call, Caller, CatalogName
from headgate.catalog.identities import current_head, find_identity
from headgate.catalog.identity_users import create_secret, create_user, vouch_for
from headgate.catalog.proofs import PasswordProof, digest_of
from headgate.errors import HeadgateError
from headgate.http.authentication.authenticator import Authenticator, Methods
from headgate.http.authentication.basic_header import basic_credentials
from headgate.http.authentication.simple_tokens import SimpleTokens
from headgate.http.authentication.token_endpoint import (
    EXCHANGE,
    KeptGranter,
    SimpleGranter,
    TokenEndpoint,
)
from headgate.http.gravitino.idp import CreateUser, UpdateUser
from headgate.http.request import Request
from tests.unit.catalog.keeping import MASTER, Keeper
from tests.unit.http.authentication.providers import Provider, claims, issuers, signed
from tests.unit.http.authentication.test_authenticator import basic, told
from tests.unit.http.authentication.test_own_tokens import ask

PASSWORD = "correct horse battery"
SECRET = b"a secret of thirty-two bytes 123"


class Whispers(logging.Handler):
    """Keeps all that is logged, of whatever level."""

    def __init__(self) -> None:
        super().__init__(0)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(f"{self.format(record)} {record.__dict__!r}")


@pytest.fixture
def whispers() -> Iterator[Whispers]:
    """All logs, from the least important message on."""
    root, handler = logging.getLogger(), Whispers()
    before = root.level
    root.addHandler(handler)
    root.setLevel(0)
    yield handler
    root.removeHandler(handler)
    root.setLevel(before)


def forms(secret: str | bytes) -> list[str]:
    """How a secret could be written."""
    raw = secret.encode() if isinstance(secret, str) else secret
    return [repr(raw)[2:-1], raw.hex(), base64.b64encode(raw).decode().rstrip("=")]


def check(secrets: list[str | bytes], *texts: str) -> None:
    for secret in secrets:
        for form in forms(secret):
            for text in texts:
                assert form not in text, form


async def test_no_object_shows_a_secret(node: Keeper) -> None:
    """Whatever somebody prints: an object, a tuple of it, a request's caller."""
    await create_user(node.kernel, node.passwords, "ann", PASSWORD)
    secret = await create_secret(node.kernel, bytes, "engine")
    client = await node.identities.client("engine", secret.secret)
    issued, caller = await node.token(client)
    held = await node.tokens.read(issued.token)
    head = await current_head(node.kernel)
    kept = [await find_identity(head, name) for name in ("ann", "engine")]
    key = await node.keys.newest()
    simple = SimpleTokens(SECRET, node.kernel.clock)
    methods = Methods(
        simple, basic=True, tokens=node.tokens, issuers=issuers(Provider(), node.kernel.clock)
    )
    authenticator = Authenticator(methods, node.kernel.clock)
    await told(authenticator, f"Bearer {issued.token}")
    by_password = await told(authenticator, basic(f"ann:{PASSWORD}"))
    await node.confirmed(by_password)
    objects: list[Any] = [
        *(secret, client, issued, caller, held, kept, key, simple, methods, authenticator),
        *(node.passwords, node.identities, node.keys, node.tokens, node.keys._master),
        *(by_password, Call(CatalogName("a", "b"), by_password), PasswordProof(b"digest")),
        basic_credentials(basic(f"ann:{PASSWORD}")),
        *(CreateUser(user="ann", password=PASSWORD), UpdateUser(password=PASSWORD)),
        *(SimpleGranter(simple), KeptGranter(node.tokens, node.identities), TokenEndpoint(None)),
        [entity for found in kept if found for entity in (found.identity,)],
    ]
    hashes = [known.identity.password for known in kept if known and known.identity.password]
    check(
        [PASSWORD, secret.secret, issued.token, key.secret, MASTER, SECRET, *hashes],
        *map(repr, objects),
        *map(str, objects),
    )
    check([digest_of(PASSWORD)], *map(repr, objects))


async def test_no_error_and_no_log_shows_a_secret(node: Keeper, whispers: Whispers) -> None:
    """Though every way to fail is tried, and all of it is logged."""
    clock = node.kernel.clock
    await create_user(node.kernel, node.passwords, "ann", PASSWORD)
    secret = await create_secret(node.kernel, bytes, "engine")
    issued, _ = await node.token(await vouch_for(node.kernel, "bob"), 1)
    provider = Provider()
    provider.error = ConnectionRefusedError("no")
    methods = Methods(basic=True, tokens=node.tokens, issuers=issuers(provider, clock))
    authenticator = Authenticator(methods, clock)
    endpoint = TokenEndpoint(KeptGranter(node.tokens, node.identities))
    foreign, broken = signed(claims(clock)), issued.token[:-2]
    clock.advance(2_000)  # type: ignore[attr-defined]
    said: list[str] = []
    for header in (
        f"Bearer {issued.token}",
        f"Bearer {foreign}",
        f"Bearer {broken}",
        basic(f"nobody:{PASSWORD}"),
        f"Digest {PASSWORD}",
    ):
        try:
            await node.confirmed(await told(authenticator, header))
        except HeadgateError as error:
            said += [str(error), repr(error)]
    wrong = {"grant_type": "client_credentials", "client_id": "ann"}
    for form in (
        wrong | {"client_secret": PASSWORD},
        wrong | {"client_secret": secret.secret},
        {"grant_type": EXCHANGE, "subject_token": issued.token},
        {"grant_type": EXCHANGE, "subject_token": broken},
        {"grant_type": PASSWORD},
    ):
        said.append(str((await endpoint.answer(ask(form))).body))
    assert len(said) == 15
    logging.getLogger("headgate").warning("the log works")

    assert any("the log works" in line for line in whispers.lines)
    assert any("cannot be fetched" in line for line in whispers.lines)
    secrets: list[str | bytes] = [PASSWORD, secret.secret, issued.token, foreign, broken, MASTER]
    check(secrets, *said, *whispers.lines)


async def test_callers_and_requests_are_shown_without_their_proofs() -> None:
    """They are in errors and logs now and then."""
    caller = Caller("ann", proof=PasswordProof(digest_of(PASSWORD)))

    assert re.search(r"proof=PasswordProof\(\*\*\*\)", repr(caller))
    asked = Request("GET", "/a", headers={"authorization": basic(f"ann:{PASSWORD}")}, body=b"x")
    assert repr(asked) == "Request(GET /a)"
