"""Temporary keys from a security token service: one request, made in a thread."""

import asyncio
import http.client
import re
import ssl
from typing import NamedTuple
from urllib.parse import urlencode, urlsplit
from xml.etree import ElementTree as ET

from headgate.errors import StorageUnavailable
from headgate.storage.options import S3Options
from headgate.storage.sigv4 import Keys, Scope, sha256, sign
from headgate.storage.stores import amazon

TIMEOUT_SECONDS = 10
ANSWER_BYTES_MAX = 100_000
SESSION_NAME = "headgate"
ANY_ROLE = "arn:aws:iam::000000000000:role/headgate"  # services without roles want the form
CODE = re.compile(r"<Code>(\w{1,100})</Code>")
FORM = {"content-type": "application/x-www-form-urlencoded; charset=utf-8"}


class TemporaryKeys(NamedTuple):
    """Keys that end."""

    keys: Keys
    expires_at_ms: int


def sts_endpoint(options: S3Options) -> str:
    """S3 services other than Amazon's have their STS at the same address."""
    return options.sts_endpoint or options.endpoint or amazon("sts", options.region)


async def assume_role(options: S3Options, keys: Keys, policy: str, wall_ms: int) -> TemporaryKeys:
    """Keys of the configured role, cut down to the policy."""
    body = urlencode(
        {
            "Action": "AssumeRole",
            "Version": "2011-06-15",
            "RoleArn": options.role_arn or ANY_ROLE,
            "RoleSessionName": SESSION_NAME,
            "DurationSeconds": options.duration_seconds,
            "Policy": policy,
        }
        | ({"ExternalId": options.external_id} if options.external_id else {})
    ).encode()
    url = sts_endpoint(options).rstrip("/") + "/"
    scope = Scope("sts", options.region, wall_ms)
    added = sign(keys, scope, method="POST", url=url, headers=FORM, payload=sha256(body))
    status, answer = await asyncio.to_thread(_post, url, FORM | added, body)
    return _keys_in(url, status, answer, wall_ms + options.duration_seconds * 1000)


def _post(url: str, headers: dict[str, str], body: bytes) -> tuple[int, bytes]:
    """No redirect is followed: the endpoint was checked, another was not."""
    parts = urlsplit(url)
    connection = (
        http.client.HTTPSConnection(
            parts.netloc, timeout=TIMEOUT_SECONDS, context=ssl.create_default_context()
        )
        if parts.scheme == "https"
        else http.client.HTTPConnection(parts.netloc, timeout=TIMEOUT_SECONDS)
    )
    try:
        connection.request("POST", parts.path, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read(ANSWER_BYTES_MAX)
    except (OSError, http.client.HTTPException) as error:
        raise _failed(url, str(error) or type(error).__name__) from None
    finally:
        connection.close()


def _keys_in(url: str, status: int, answer: bytes, expires_at_ms: int) -> TemporaryKeys:
    if status != http.client.OK:
        code = CODE.search(answer.decode("utf-8", "replace"))
        raise _failed(url, f"it answers {status} {code[1] if code else ''}".rstrip())
    try:
        found = ET.fromstring(answer).find(".//{*}Credentials")  # noqa: S314  of a checked server  # nosec B314
        if found is None:
            raise _failed(url, "its answer has no credentials")
        names = ("AccessKeyId", "SecretAccessKey", "SessionToken")
        keys = Keys(*(found.findtext(f"{{*}}{name}", "").strip() for name in names))
    except ET.ParseError:
        raise _failed(url, "its answer is no XML") from None
    if not all(keys):
        raise _failed(url, "its answer lacks a part of the credentials")
    return TemporaryKeys(keys, expires_at_ms)


def _failed(url: str, why: str) -> StorageUnavailable:
    return StorageUnavailable(
        f"The token service {url} gives no credentials",
        why=why,
        fix="Check the catalog's role, its keys and the endpoint of the token service.",
    )
