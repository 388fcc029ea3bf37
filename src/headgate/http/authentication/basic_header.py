"""The header of HTTP's Basic authentication."""

import base64
import binascii
from typing import NamedTuple


class Credentials(NamedTuple):
    """A name and a password, or a client's id and its secret."""

    name: str
    password: str

    def __repr__(self) -> str:
        return f"Credentials({self.name!r}, ***)"


NOBODY = Credentials("", "")


def basic_credentials(header: str) -> Credentials:
    """Those in a header `Authorization`; without a name if it is of another kind, or malformed."""
    scheme, _, value = header.partition(" ")
    if scheme.lower() != "basic":
        return NOBODY
    try:
        name, _, password = base64.b64decode(value.strip(), validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return NOBODY
    return Credentials(name, password)
