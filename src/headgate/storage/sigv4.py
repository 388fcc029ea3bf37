"""AWS Signature Version 4 for headers.

Our own, since the library that has it takes a quarter of a second and 24 MB to load.
"""

import hashlib
import hmac
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import NamedTuple
from urllib.parse import quote, unquote_to_bytes, urlsplit

ALGORITHM = "AWS4-HMAC-SHA256"
UNSIGNED_PAYLOAD = "UNSIGNED-PAYLOAD"
UNRESERVED = "-._~"


class Keys(NamedTuple):
    """Who signs."""

    access_key_id: str
    secret_access_key: str
    session_token: str = ""

    def __repr__(self) -> str:
        return f"Keys({self.access_key_id}, ***)"


class Scope(NamedTuple):
    """Where and when a signature is good for."""

    service: str
    region: str
    wall_ms: int

    @property
    def time(self) -> str:
        moment = datetime.fromtimestamp(self.wall_ms / 1000, UTC)
        return moment.strftime("%Y%m%dT%H%M%SZ")

    @property
    def text(self) -> str:
        return f"{self.time[:8]}/{self.region}/{self.service}/aws4_request"


def sha256(body: bytes) -> str:
    """In the form in which it is signed."""
    return hashlib.sha256(body).hexdigest()


def sign(
    keys: Keys, scope: Scope, *, method: str, url: str, headers: Mapping[str, str], payload: str
) -> dict[str, str]:
    """The headers to add to a request. `payload` is the body's SHA-256, or UNSIGNED_PAYLOAD.

    Signed are `host`, the headers given, and those added.
    """
    added = {"x-amz-date": scope.time}
    if scope.service == "s3":
        added["x-amz-content-sha256"] = payload
    if keys.session_token:
        added["x-amz-security-token"] = keys.session_token
    signed = {name.lower(): " ".join(value.split()) for name, value in headers.items()}
    signed |= {"host": _host(url)} | added
    names = ";".join(sorted(signed))
    canonical = "\n".join(
        (
            method,
            _canonical_path(url),
            _canonical_query(url),
            *(f"{name}:{signed[name]}" for name in sorted(signed)),
            "",
            names,
            payload,
        )
    )
    signature = _signature(keys, scope, canonical)
    added["authorization"] = (
        f"{ALGORITHM} Credential={keys.access_key_id}/{scope.text}, "
        f"SignedHeaders={names}, Signature={signature}"
    )
    return added


def _signature(keys: Keys, scope: Scope, canonical: str) -> str:
    key = f"AWS4{keys.secret_access_key}".encode()
    for part in scope.text.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    text = "\n".join((ALGORITHM, scope.time, scope.text, sha256(canonical.encode())))
    return hmac.digest(key, text.encode(), "sha256").hex()


def _host(url: str) -> str:
    """As clients send it: without the port that goes without saying."""
    parts = urlsplit(url)
    usual = {"http": ":80", "https": ":443"}[parts.scheme]
    return parts.netloc.lower().removesuffix(usual)


def _canonical_path(url: str) -> str:
    return quote(unquote_to_bytes(urlsplit(url).path or "/"), safe="/" + UNRESERVED)


def _canonical_query(url: str) -> str:
    pairs = []
    for pair in filter(None, urlsplit(url).query.split("&")):
        name, _, value = pair.partition("=")
        pairs.append((_encoded(name), _encoded(value)))
    return "&".join(f"{name}={value}" for name, value in sorted(pairs))


def _encoded(text: str) -> str:
    return quote(unquote_to_bytes(text), safe=UNRESERVED)
