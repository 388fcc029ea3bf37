"""URLs in settings: what may be shown of them, and which kind they are of."""

import re
from pathlib import Path
from urllib.parse import unquote

from headgate.masking import MASK, mask_userinfo

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):.*", re.DOTALL)
# Whatever looks otherwise than these may hide a password anywhere.
_CLEAN = re.compile(r"memory:|sqlite:///[^:?#]+")
_POSTGRESQL = re.compile(
    r"(?P<scheme>postgres(?:ql)?://)"
    r"(?:(?:(?P<user>[\w.-]+)(?P<password>:[^\s/?#@]*)?|(?P<odd>[^\s/?#@]*))(?P<at>@))?"
    r"(?P<host>[\w.-]*|\[[\da-fA-F:.]+\])(?P<port>:\d+)?(?P<database>(?:/[\w.-]*)?)"
    r"(?:\?[^\s@#]*)?"
)
_HTTP = re.compile(
    r"(?P<shown>https?://(?:[^\s/?#@]*@)?(?:[\w.-]+|\[[\da-f:.]+\])(?::\d+)?(?:/[^\s?#@]*)?)"
    r"(?:[?#][^\s@]*)?",
    re.IGNORECASE,
)


def mask(url: str) -> str:
    """This URL without password and query; if it is not well formed, its scheme."""
    if _CLEAN.fullmatch(url):
        return url
    if found := _POSTGRESQL.fullmatch(url):
        return _masked(found)
    if found := _HTTP.fullmatch(url):
        return mask_userinfo(found["shown"])
    return f"{scheme(url)}:{MASK}".removeprefix(":") if url else ""


def _masked(url: re.Match[str]) -> str:
    part = url.groupdict("")
    who = part["user"] or (MASK if part["odd"] else "")
    password = f":{MASK}" if part["password"] else ""
    port = part["port"] if part["at"] else ""  # else it may be a user's password, and no host
    address = f"{who}{password}{part['at']}{part['host']}{port}"
    return f"{part['scheme']}{address}{part['database']}"


def scheme(url: str) -> str:
    """The part of this URL before the colon, empty if that is no scheme."""
    found = _SCHEME.fullmatch(url)
    return found[1] if found else ""


def sqlite_file(url: str) -> Path | None:
    """The file that this URL names by its absolute path; None if it names none."""
    prefix = "sqlite:///"
    if not url.startswith(prefix) or "?" in url or "#" in url:
        return None
    try:
        path = unquote(url.removeprefix(prefix), errors="strict").lstrip("/")
    except UnicodeDecodeError:
        return None
    return Path("/" + path) if path and "\0" not in path else None
