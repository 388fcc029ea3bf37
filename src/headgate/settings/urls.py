"""URLs of databases: what may be shown of them, and which kind they are of."""

import re
from pathlib import Path
from urllib.parse import unquote

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):.*", re.DOTALL)
# What may be shown of a URL: the groups. Whatever looks otherwise may hide a password anywhere.
_CLEAN_URLS = (
    re.compile(r"(memory:)"),
    re.compile(r"(sqlite:///[^:?#]+)"),
    re.compile(
        r"(postgres(?:ql)?://)(?:[^\s/?#@]*@)?([\w.-]*|\[[\da-fA-F:.]+\])(?::\d+)?"
        r"((?:/[\w.-]*)?)(?:\?[^\s@#]*)?"
    ),
)


def mask(url: str) -> str:
    """This URL as scheme, host and database, or path; if it is not well formed, its scheme."""
    for clean in _CLEAN_URLS:
        if found := clean.fullmatch(url):
            return "".join(found.groups())
    return f"{scheme(url)}:***".removeprefix(":") if url else ""


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
