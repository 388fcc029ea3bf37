"""Tokens of identity providers: which are believed, and every way to forge one."""

import base64
import hmac
import json
from collections.abc import Mapping
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding

from headgate.catalog.calls import Caller
from headgate.errors import NotAuthenticated
from headgate.limits import TOKEN_GROUPS_MAX
from headgate.testing.manual_clock import ManualClock
from tests.unit.http.authentication.providers import (
    ED,
    ISSUER,
    OTHER_RSA,
    P256,
    P384,
    RSA,
    SHORT_RSA,
    Provider,
    claims,
    issuers,
    public,
    signed,
)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


async def refused(token: str, clock: ManualClock, provider: Provider | None = None) -> bool:
    """Whether a token is refused, in words that tell a forger nothing."""
    with pytest.raises(NotAuthenticated) as error:
        await issuers(provider or Provider(), clock).read(token)
    assert str(error.value) == (
        "Not authorized: the token is not valid here. Get one for this server"
    )
    return True


async def believed(token: str, clock: ManualClock) -> bool:
    """Whether somebody is named by a token."""
    try:
        return await issuers(Provider(), clock).read(token) is not None
    except NotAuthenticated:
        return False


@pytest.mark.parametrize(
    ("key", "algorithm", "kid"),
    [(RSA, "RS256", "rsa"), (RSA, "PS256", "rsa"), (P256, "ES256", "p256"), (ED, "EdDSA", "ed")],
)
async def test_a_good_token_names_its_user_and_groups(
    clock: ManualClock, key: Any, algorithm: str, kid: str
) -> None:
    """Signed in any of the allowed ways."""
    said = claims(clock, groups=["staff", "ops"])
    found = await issuers(Provider(), clock).read(signed(said, key, algorithm, kid))

    assert found == (Caller("ann", ("staff", "ops")), (said["exp"] + 30) * 1000)


async def test_the_operator_chooses_the_claims(clock: ManualClock) -> None:
    """One group need not be a list; no groups are none."""
    reading = issuers(Provider(), clock, principal_claim="email", groups_claim="team")
    said = claims(clock, email="ann@example.com", team="staff", groups=["root"])

    assert (await reading.read(signed(said))) is not None
    found = await reading.read(signed(said))
    assert found is not None
    assert found.caller == Caller("ann@example.com", ("staff",))
    found = await issuers(Provider(), clock).read(signed(claims(clock)))
    assert found is not None
    assert found.caller == Caller("ann")


async def test_tokens_of_others_are_not_looked_at(clock: ManualClock) -> None:
    """Nobody is asked for keys because of what a token says."""
    provider = Provider()
    reading = issuers(provider, clock)
    strange: tuple[object, ...] = (None, 7, ["x"], {})
    for issuer in ("https://evil.example.com", ISSUER + "/", ISSUER.upper(), *strange):
        said = {**claims(clock), "iss": issuer}
        token = _raw({"alg": "RS256", "kid": "rsa"}, said)
        assert await reading.read(token) is None
    for text in ("", "x", "a.b.c", "a.b", "." * 5, "é" * 9, _raw({"alg": "RS256"}, [1])):
        assert await reading.read(text) is None

    assert provider.fetches == 0


@pytest.mark.parametrize("audience", ["other", ["other", "another"], "", None, "headgate2"])
async def test_a_token_for_somebody_else_is_refused(clock: ManualClock, audience: object) -> None:
    """It must name us as its audience, alone or among others."""
    assert await refused(signed(claims(clock, aud=audience)), clock)
    good = signed(claims(clock, aud=["other", "headgate"]))
    assert await issuers(Provider(), clock).read(good)


async def test_a_token_has_its_time(clock: ManualClock) -> None:
    """From `nbf` to `exp`, give or take what clocks may be off."""
    now = clock.wall_ms() // 1000
    reading = issuers(Provider(), clock)
    for times in ({"exp": now - 29}, {"nbf": now + 30}, {"iat": now + 30}, {"exp": now + 0.5}):
        assert await reading.read(signed(claims(clock, **times)))
    for times in ({"nbf": now + 31}, {"iat": now + 31}):
        assert await refused(signed(claims(clock, **times)), clock)
    for expired in (now - 30, 0):
        with pytest.raises(NotAuthenticated, match="the token has expired"):
            await reading.read(signed(claims(clock, exp=expired)))


@pytest.mark.parametrize(
    "bad",
    [
        {"exp": None},
        {"exp": "tomorrow"},
        {"exp": float("inf")},
        {"exp": -1},
        {"exp": 10**4_000},
        {"nbf": 10**400},
        {"sub": None},
        {"sub": ""},
        {"sub": "a\nb"},
        {"sub": "\ud800"},
        {"sub": "a" * 5_000},
        {"groups": {"a": 1}},
        {"groups": ["ok", 7]},
        {"groups": ["ok", ""]},
        {"groups": [str(number) for number in range(TOKEN_GROUPS_MAX + 1)]},
    ],
)
async def test_claims_that_mean_nothing_are_refused(
    clock: ManualClock, bad: dict[str, object]
) -> None:
    """However well they are signed. To leave out some groups could take a prohibition away."""
    assert await refused(signed(claims(clock, **bad)), clock)


async def test_a_forged_token_is_refused(clock: ManualClock) -> None:
    """Signed with another key, or changed afterwards, or not signed."""
    said = claims(clock)
    good = signed(said)
    head, _, tail = good.split(".")
    other = _part({**said, "sub": "root"})
    for token in (
        signed(said, OTHER_RSA),
        f"{head}.{other}.{tail}",
        f"{head}.{other}.",
        good[:-4] + ("AAAA" if good[-4:] != "AAAA" else "BBBB"),
        jwt.encode(said, "", algorithm="none", headers={"kid": "rsa"}),
        _raw({"alg": "none", "kid": "rsa"}, said, b""),
        _raw({"alg": "None", "kid": "rsa"}, said, b""),
        _raw({"kid": "rsa"}, said, b""),
    ):
        assert await refused(token, clock)


async def test_a_public_key_is_no_secret(clock: ManualClock) -> None:
    """Whoever signs with HMAC and the public key, which all know, is refused."""
    half = RSA.public_key()
    encodings = [
        half.public_bytes(encoding, serialization.PublicFormat.SubjectPublicKeyInfo)
        for encoding in (serialization.Encoding.PEM, serialization.Encoding.DER)
    ]
    for secret in (*encodings, json.dumps(public(RSA)).encode(), b""):
        for algorithm, digest in (("HS256", "sha256"), ("HS512", "sha512")):
            text = f"{_part({'alg': algorithm, 'kid': 'rsa'})}.{_part(claims(clock))}"
            mac = hmac.digest(secret, text.encode(), digest)
            assert await refused(f"{text}.{_encoded(mac)}", clock)


async def test_only_allowed_algorithms_count(clock: ManualClock) -> None:
    """Not those that others use, and none with a key that is for another."""
    provider = Provider(
        public(RSA, kid="rsa"), public(P384, kid="p384"), public(RSA, kid="ps", alg="PS256")
    )
    for token in (
        signed(claims(clock), RSA, "RS512"),
        signed(claims(clock), P384, "ES384", "p384"),
        signed(claims(clock), RSA, "RS256", "ps"),
    ):
        assert await refused(token, clock, provider)
    assert await issuers(provider, clock).read(signed(claims(clock), RSA, "PS256", "ps"))
    wider = issuers(provider, clock, algorithms=frozenset({"ES384"}))
    assert await wider.read(signed(claims(clock), P384, "ES384", "p384"))


@pytest.mark.parametrize("kid", ["p256", "other", "../../dev/null", "rsa' or '1'='1", "", "RSA"])
async def test_the_name_of_a_key_leads_nowhere_else(clock: ManualClock, kid: str) -> None:
    """It is looked for among the provider's keys, byte for byte."""
    assert await refused(signed(claims(clock), kid=kid), clock)
    for strange in (7, None, ["rsa"], {"rsa": 1}):
        token = _raw({"alg": "RS256", "kid": strange}, claims(clock))
        assert not await believed(token, clock)


async def test_a_token_that_names_no_key_needs_a_provider_with_one(clock: ManualClock) -> None:
    """Where there are several for the same algorithm nobody guesses."""
    token = signed(claims(clock), kid=None)
    assert await issuers(Provider(), clock).read(token)

    assert await refused(token, clock, Provider(public(RSA), public(OTHER_RSA)))
    twice = Provider(public(RSA, kid="rsa"), public(OTHER_RSA, kid="rsa"))
    assert await refused(signed(claims(clock)), clock, twice)


async def test_addresses_and_keys_in_a_token_are_ignored(clock: ManualClock) -> None:
    """Its own keys do not vouch for it, wherever they are said to be."""
    provider = Provider()
    reading = issuers(provider, clock)
    headers: list[dict[str, Any]] = [
        {"jku": "https://evil.example.com/jwks"},
        {"x5u": "https://evil.example.com/cert"},
        {"jwk": public(OTHER_RSA, kid="rsa")},
        {"x5c": ["AAAA"]},
    ]
    for header in headers:
        assert await refused(signed(claims(clock), OTHER_RSA, **header), clock, provider)
        assert await reading.read(signed(claims(clock), **header)), "they do no harm either"


async def test_what_a_token_calls_critical_is_not_understood(clock: ManualClock) -> None:
    """So it is refused, as the standard says."""
    critical: list[Mapping[str, object]] = [
        {"crit": ["exp"], "exp": 1},
        {"crit": ["b64"], "b64": False},
        {"crit": []},
    ]
    for header in critical:
        said = {"alg": "RS256", "kid": "rsa", **header}
        text = f"{_part(said)}.{_part(claims(clock))}"
        signature = RSA.sign(text.encode(), padding.PKCS1v15(), hashes.SHA256())
        assert not await believed(f"{text}.{_encoded(signature)}", clock)


async def test_keys_that_are_too_weak_or_for_something_else_are_left_out(
    clock: ManualClock,
) -> None:
    """A key set may have others beside the good one."""
    provider = Provider(
        public(SHORT_RSA, kid="short"),
        public(OTHER_RSA, kid="enc", use="enc"),
        {"kty": "oct", "kid": "oct", "k": "AAAA"},
        {"kty": "RSA", "kid": "broken", "n": "AQAB"},
        {"kty": "new", "kid": "new"},
        {"kid": 7},
        *Provider().keys,
    )
    with pytest.warns(jwt.warnings.InsecureKeyLengthWarning):
        weak = signed(claims(clock), SHORT_RSA, kid="short")
    for token in (weak, signed(claims(clock), OTHER_RSA, kid="enc")):
        assert await refused(token, clock, provider)
    assert await issuers(provider, clock).read(signed(claims(clock)))


def _raw(header: object, said: object, signature: bytes = b"x" * 256) -> str:
    return f"{_part(header)}.{_part(said)}.{_encoded(signature)}"


def _part(value: object) -> str:
    return _encoded(json.dumps(value).encode())


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
