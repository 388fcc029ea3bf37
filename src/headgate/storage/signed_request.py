"""What a request to S3 would do, read from its address: the keys it touches, and how.

Only what is understood is answered; everything else is refused. There is a short list of
parameters for each verb, so that no sub-resource (`?acl`, `?policy`, …) slips through.
"""

import re
from typing import Literal, NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit
from xml.etree import ElementTree as ET

from headgate.errors import Forbidden

BODY_BYTES_MAX = 2_000_000  # 1,000 keys of the longest kind
OBJECT_PARAMETERS = {
    "GET": {"x-id", "partNumber", "versionId", "uploadId", "max-parts", "part-number-marker"},
    "HEAD": {"x-id", "partNumber", "versionId"},
    "PUT": {"x-id", "partNumber", "uploadId"},
    "POST": {"x-id", "uploads", "uploadId"},
    "DELETE": {"x-id", "uploadId"},
}
LIST_PARAMETERS = {
    "x-id",
    "continuation-token",
    "delimiter",
    "encoding-type",
    "fetch-owner",
    "list-type",
    "marker",
    "max-keys",
    "prefix",
    "start-after",
}
UNSAFE = re.compile(r"[\x00-\x20\x7f\\+;]|%(?![0-9A-Fa-f]{2})")  # `+` is a space to some
READING = {"GET", "HEAD"}


class Target(NamedTuple):
    """`keys` are those of objects; for `list` the one prefix that is listed."""

    bucket: str
    action: Literal["object", "list", "delete"]
    keys: tuple[str, ...]
    write: bool


def target_of(method: str, url: str, body: bytes | None, hosts: dict[str, str]) -> Target:
    """What the request is about. `hosts` has the host names that stand for S3: to each the
    bucket, or nothing where the bucket is the first part of the path."""
    parts = _split(url)
    if parts.netloc.lower() not in hosts:
        raise refused("its host is not that of the table's store")
    bucket, path = hosts[parts.netloc.lower()], parts.path.removeprefix("/")
    if not bucket:
        bucket, _, path = path.partition("/")
    key = _decoded(path)
    query = _query(parts.query)
    if key:
        return _object(method, bucket, key, query)
    if method == "POST" and "delete" in query:
        return _deletion(bucket, query, body)
    return _listing(method, bucket, query)


def refused(why: str) -> Forbidden:
    """Every refusal looks alike but for its reason."""
    return Forbidden("The request is not signed", why=why)


def check_key(key: str) -> None:
    """A key means the same to us, to the store, and to whatever stands in between."""
    for part in key.split("/"):
        if not part or {part, unquote(part)} & {".", ".."}:
            raise refused("a part of its path is empty, `.` or `..`")


def _split(url: str) -> SplitResult:
    if UNSAFE.search(url) or not url.isascii():
        raise refused("its address has characters that must be encoded")
    try:
        parts = urlsplit(url)
    except ValueError:
        raise refused("its address cannot be understood") from None
    if parts.scheme not in {"http", "https"} or "#" in url or "@" in parts.netloc:
        raise refused("its address cannot be understood")
    return parts


def _object(method: str, bucket: str, key: str, query: dict[str, str]) -> Target:
    check_key(key)
    if method not in OBJECT_PARAMETERS or set(query) - OBJECT_PARAMETERS[method]:
        raise refused("only objects are read, written and deleted")
    if method == "POST" and not {"uploads", "uploadId"} & set(query):
        raise refused("an object is posted in parts only")
    return Target(bucket, "object", (key,), method not in READING)


def _listing(method: str, bucket: str, query: dict[str, str]) -> Target:
    if method != "GET" or set(query) - LIST_PARAMETERS or not query.get("prefix"):
        raise refused("of a bucket only a prefix is listed, or objects are deleted")
    check_key(query["prefix"].removesuffix("/"))
    return Target(bucket, "list", (query["prefix"],), write=False)


def _deletion(bucket: str, query: dict[str, str], body: bytes | None) -> Target:
    if set(query) - {"delete", "x-id"}:
        raise refused("a deletion has no other parameters")
    if not body or len(body) > BODY_BYTES_MAX or b"<!" in body:
        raise refused("the body of a deletion is needed, to see what would be deleted")
    try:
        root = ET.fromstring(body)  # noqa: S314  has no entities  # nosec B314
    except ET.ParseError:
        raise refused("its body is no XML") from None
    keys = tuple(_key_in(element) for element in root if _tag(element) != "Quiet")
    if _tag(root) != "Delete" or not keys:
        raise refused("its body names no objects")
    return Target(bucket, "delete", keys, write=True)


def _key_in(element: ET.Element) -> str:
    """Exactly one key and nothing else: a version would delete what was kept on purpose."""
    if _tag(element) != "Object" or [_tag(child) for child in element] != ["Key"]:
        raise refused("its body has more than the keys of objects")
    key = element[0].text or ""
    if key != key.strip() or len(element[0]):
        raise refused("a key in its body is not plain")
    check_key(key)
    return key


def _tag(element: ET.Element) -> str:
    return element.tag.rpartition("}")[2]


def _decoded(path: str) -> str:
    try:
        return unquote(path, errors="strict")
    except UnicodeDecodeError:
        raise refused("its address is not UTF-8") from None


def _query(text: str) -> dict[str, str]:
    """Each parameter once."""
    query: dict[str, str] = {}
    for pair in filter(None, text.split("&")):
        name, _, value = pair.partition("=")
        if _decoded(name) in query:
            raise refused("a parameter is given twice")
        query[_decoded(name)] = _decoded(value)
    return query
