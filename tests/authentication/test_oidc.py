"""Tokens of a real identity provider, and of those who would like to be one."""

import base64
import hashlib
import hmac
import json
import secrets
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from headgate.limits import KEY_SET_AGAIN_SECONDS
from headgate.testing.headgate_server import HeadgateServer
from headgate.testing.identity_provider import IdentityProvider
from headgate.testing.recording_server import RecordingServer
from tests.authentication.asking import CLIENT_CREDENTIALS, ME, bearer, get, status
from tests.authentication.conftest import oidc


def token(provider: IdentityProvider, resource: str = "urn:headgate") -> str:
    """A token for the provider's client `engine`."""
    form = {"grant_type": CLIENT_CREDENTIALS, "resource": resource, "scope": "catalog"}
    answer = httpx.post(
        f"{provider.issuer}/token", data=form, auth=("engine", "s3cr3t"), trust_env=False
    )
    assert answer.status_code == 200, answer.text
    return str(answer.json()["access_token"])


@pytest.fixture
def own_provider(tmp_path: Path) -> Iterator[IdentityProvider]:
    """An identity provider that a test may stop."""
    with IdentityProvider(tmp_path) as provider:
        yield provider


@pytest.mark.parametrize("resource", ["urn:headgate", "urn:headgate:ec", "urn:headgate:ed"])
def test_a_token_of_the_provider_says_who_asks(
    provider: IdentityProvider, believing: HeadgateServer, resource: str
) -> None:
    """Whichever key signed it, on both protocols."""
    good = token(provider, resource)

    assert status(believing, good) == 200
    assert get(believing, ME, headers=bearer(good)).json()["principal"] == "engine"


def test_a_person_logs_in_at_the_provider(
    provider: IdentityProvider, believing: HeadgateServer
) -> None:
    """By authorization code with a proof key, as consoles and command lines do."""
    assert get(believing, ME, headers=bearer(login(provider, "ann"))).json()["principal"] == "ann"


def test_a_token_for_somebody_else_is_refused(
    provider: IdentityProvider, believing: HeadgateServer
) -> None:
    """Though the same provider issued it to the same client."""
    answer = get(believing, headers=bearer(token(provider, "urn:other")))

    assert answer.status_code == 401
    assert "the token is not valid here" in answer.json()["error"]["message"]


def test_a_token_ends(provider: IdentityProvider, believing: HeadgateServer) -> None:
    """Though the server has let it in before, and has the answer at hand."""
    short = token(provider, "urn:headgate:short")
    ends = jwt.decode(short, options={"verify_signature": False})["exp"]
    while (answer := get(believing, headers=bearer(short))).status_code == 200:
        assert time.time() < ends + 1

    assert "the token has expired" in answer.json()["error"]["message"]
    assert time.time() >= ends


def test_forged_tokens_are_refused(provider: IdentityProvider, believing: HeadgateServer) -> None:
    """Whatever a forger can do without the provider's keys."""
    good = token(provider)
    header = jwt.get_unverified_header(good)
    claims = jwt.decode(good, options={"verify_signature": False}) | {"sub": "root"}
    head, _, signature = good.split(".")
    own = rsa.generate_private_key(65_537, 2_048)
    public = jwt.PyJWK(
        next(one for one in httpx.get(provider.key_set, trust_env=False).json()["keys"])
    ).key.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    confused = f"{_part({**header, 'alg': 'HS256'})}.{_part(claims)}"
    mac = hmac.digest(public, confused.encode(), "sha256")

    forged = {
        "another key": jwt.encode(claims, own, "RS256", headers=header),
        "another issuer": jwt.encode(claims | {"iss": "https://evil"}, own, "RS256", header),
        "other claims": f"{head}.{_part(claims)}.{signature}",
        "no signature": f"{_part({**header, 'alg': 'none'})}.{_part(claims)}.",
        "the public key as a secret": f"{confused}.{_encoded(mac)}",
        "an unknown key": jwt.encode(claims, own, "RS256", headers=header | {"kid": "../x"}),
        "no key": jwt.encode(claims, own, "RS256"),
        "our own issuer": jwt.encode(claims | {"iss": "headgate"}, own, "RS256", headers=header),
        "nonsense": "x",
    }
    answers = {name: status(believing, text) for name, text in forged.items()}

    assert answers == dict.fromkeys(forged, 401)
    assert status(believing, good) == 200


def test_a_token_cannot_choose_where_its_key_comes_from(
    provider: IdentityProvider, believing: HeadgateServer
) -> None:
    """Nobody is asked at an address that a token names, whichever header or claim it is in."""
    own = rsa.generate_private_key(65_537, 2_048)
    jwk = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(own.public_key())) | {"kid": "mine"}
    claims = jwt.decode(token(provider), options={"verify_signature": False})
    with RecordingServer() as evil:
        evil.reply = evil.reply._replace(body=json.dumps({"keys": [jwk]}).encode())
        for more in (
            {"jku": f"{evil.url}/jwks"},
            {"x5u": f"{evil.url}/cert"},
            {"jwk": jwk},
            {"iss": evil.url},
        ):
            text = jwt.encode(claims, own, "RS256", headers={"kid": "mine", **more})
            assert status(believing, text) == 401
            text = jwt.encode(claims | {"iss": evil.url}, own, "RS256", headers={"kid": "mine"})
            assert status(believing, text) == 401

    assert evil.received == []


def test_other_ways_are_closed(believing: HeadgateServer) -> None:
    """A server that believes the provider alone issues no tokens and wants no passwords."""
    assert get(believing).status_code == 401
    assert get(believing, auth=("root", "root")).status_code == 401
    form = {"grant_type": CLIENT_CREDENTIALS, "client_id": "root", "client_secret": "x"}
    answer = httpx.post(f"{believing.iceberg_url}/v1/oauth/tokens", data=form, trust_env=False)
    assert (answer.status_code, answer.json()["error"]) == (400, "unauthorized_client")


def test_a_provider_that_is_away(own_provider: IdentityProvider, tmp_path: Path) -> None:
    """Callers are asked to come again until its keys are known; then they are let in without it."""
    old = token(own_provider)
    own_provider.stop()
    with HeadgateServer(tmp_path / "server", *oidc(own_provider)) as server:
        answer = get(server, headers=bearer(old))
        assert (answer.status_code, "retry-after" in answer.headers) == (503, True)
        own_provider.rotate()
        newer, began = token(own_provider), time.monotonic()
        while status(server, newer) != 200:
            assert time.monotonic() < began + 2 * KEY_SET_AGAIN_SECONDS
        assert status(server, old) == 401, "it came back with other keys"

        own_provider.stop()
        assert status(server, newer) == 200
        assert status(server, newer[:-4] + "AAAA") == 401


def login(provider: IdentityProvider, name: str) -> str:
    """A token for a person, through the pages of the provider."""
    verifier = secrets.token_urlsafe(48)
    challenge = _encoded(hashlib.sha256(verifier.encode()).digest())
    query = {
        "client_id": "console",
        "response_type": "code",
        "redirect_uri": "http://127.0.0.1/cb",
        "scope": "openid catalog",
        "code_challenge": challenge,
        "code_challenge_method": "S256",
        "resource": "urn:headgate",
    }
    with httpx.Client(base_url=provider.issuer, trust_env=False) as browser:
        answer = browser.get("/auth", params=query)
        for form in ({"prompt": "login", "login": name, "password": "x"}, {"prompt": "consent"}):
            page = _followed(browser, answer)
            answer = browser.post(page.headers["location"], data=form)
        last = _followed(browser, answer).headers["location"]
        [code] = parse_qs(urlsplit(last).query)["code"]
        grant = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": query["redirect_uri"],
            "client_id": "console",
            "code_verifier": verifier,
        }
        return str(browser.post("/token", data=grant).json()["access_token"])


def _followed(browser: httpx.Client, answer: httpx.Response) -> httpx.Response:
    """The redirect that leads to a page for people, or back to who wanted a token."""
    while not any(place in answer.headers["location"] for place in ("/interaction/", "/cb?")):
        answer = browser.get(answer.headers["location"])
    return answer


def _part(value: object) -> str:
    return _encoded(json.dumps(value).encode())


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
