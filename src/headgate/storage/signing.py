"""Signing the requests of clients that hold no keys, within the prefixes they may use."""

import re
from collections.abc import Mapping, Sequence
from urllib.parse import unquote, urlsplit

from headgate.clock import Clock, present_ms
from headgate.errors import Unsupported
from headgate.storage.options import S3Options
from headgate.storage.places import parse
from headgate.storage.s3_keys import present_keys
from headgate.storage.signed_request import Target, check_key, refused, target_of
from headgate.storage.sigv4 import UNSIGNED_PAYLOAD, Scope, sha256, sign
from headgate.storage.stores import endpoint_of

PAYLOAD = re.compile(r"[0-9a-f]{64}|UNSIGNED-PAYLOAD|STREAMING-UNSIGNED-PAYLOAD-TRAILER")
COPY_SOURCE = "x-amz-copy-source"
OUR_OWN = {"x-amz-date", "x-amz-content-sha256"}
HARMLESS = re.compile(
    r"""x-amz-( checksum-[a-z0-9-]+ | sdk-checksum-algorithm | trailer | decoded-content-length
    | meta-[a-z0-9._-]+ | tagging | storage-class | server-side-encryption(-[a-z-]+)?
    | copy-source(-if-[a-z-]+|-range)? | metadata-directive | tagging-directive
    | expected-bucket-owner | request-payer | acl )""",
    re.VERBOSE,
)
PRIVATE_ACLS = {"private", "bucket-owner-full-control", "bucket-owner-read"}


class S3Signer:
    """Signs with the catalog's own keys of this moment. S3 wants each `x-amz-…` header signed;
    others are not, so that a client may use one signature for several ranges of a file."""

    def __init__(self, options: S3Options, clock: Clock) -> None:
        present = present_keys(options, clock)
        if present is None:
            raise Unsupported(
                "Remote signing is not available", why="the catalog has no keys to sign with"
            )
        self._options = options
        self._clock = clock
        self._keys = present.keys

    def sign(  # noqa: PLR0913  a request is these
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        *,
        region: str,
        body: bytes | None = None,
        prefixes: Sequence[str],
        write: bool,
    ) -> tuple[str, dict[str, str]]:
        """The address and the headers to send besides those given, or Forbidden.

        `prefixes` are the locations the caller may use; without `write` they are read only.
        """
        if region != self._options.region:
            raise refused(f"the store's region is {self._options.region}")
        given = {name.lower(): value for name, value in headers.items()}
        target = target_of(method, url, body, self._hosts(prefixes))
        if target.write and not write:
            raise refused("the table may be read only")
        self._check_target(target, prefixes)
        self._check_headers(given, prefixes)
        added = sign(
            self._keys,
            Scope("s3", region, present_ms(self._clock)),
            method=method,
            url=url,
            headers=_signed(given),
            payload=_payload(target, given, body),
        )
        return url, added

    def _hosts(self, prefixes: Sequence[str]) -> dict[str, str]:
        """The names under which the store is known, each with the bucket it stands for."""
        own = urlsplit(endpoint_of(self._options)).netloc.lower()
        services = {own}
        if not self._options.endpoint:
            services |= {own.replace("s3.", "s3.dualstack.", 1), "s3.amazonaws.com"}
        hosts = dict.fromkeys(services, "")
        for prefix in prefixes:
            bucket = parse(prefix).bucket
            hosts |= {f"{bucket}.{service}".lower(): bucket for service in services}
        return hosts

    def _check_target(self, target: Target, prefixes: Sequence[str]) -> None:
        if not all(_allowed(target.bucket, key, prefixes) for key in target.keys):
            raise refused("it leads out of the table's own location")

    def _check_headers(self, headers: Mapping[str, str], prefixes: Sequence[str]) -> None:
        for name, value in headers.items():
            if "\n" in value or "\r" in value:
                raise refused(f"its header {name} has more than one line")
            if name.startswith("x-amz-") and name not in OUR_OWN and not HARMLESS.fullmatch(name):
                raise refused(f"its header {name} is not allowed")
        if headers.get("x-amz-acl", "private") not in PRIVATE_ACLS:
            raise refused("it would let others in")
        if COPY_SOURCE in headers:
            source = headers[COPY_SOURCE].removeprefix("/")
            bucket, _, key = unquote(source).partition("/")
            check_key(key)
            if re.search(r"[?+]", source) or not _allowed(bucket, key, prefixes):
                raise refused("it copies from outside of the table's own location")


def _allowed(bucket: str, key: str, prefixes: Sequence[str]) -> bool:
    """Below a prefix, after its slash: `t1` as the prefix of a list would show `t10`."""
    places = [parse(prefix) for prefix in prefixes]
    return any(
        place.kind == "s3"
        and place.bucket == bucket
        and place.path
        and key.startswith(place.path + "/")
        for place in places
    )


def _signed(headers: Mapping[str, str]) -> dict[str, str]:
    names = [name for name in headers if name.startswith("x-amz-") and name not in OUR_OWN]
    if "content-md5" in headers:
        names.append("content-md5")
    return {name: headers[name] for name in names}


def _payload(target: Target, headers: Mapping[str, str], body: bytes | None) -> str:
    """What was looked at is what is sent: the body of a deletion is part of its signature."""
    named = headers.get("x-amz-content-sha256")
    if target.action == "delete":
        own = sha256(body or b"")
        if named not in {None, own}:
            raise refused("the hash it names is not that of its body")
        return own
    if named is not None and not PAYLOAD.fullmatch(named):
        raise refused("the hash it names is none")
    return named or UNSIGNED_PAYLOAD
