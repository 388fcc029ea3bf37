"""What a request proves with: compared with the kept identities once the request has read them."""

import hashlib
from typing import NamedTuple

_PERSON = b"headgate-passwd"


class PasswordProof(NamedTuple):
    """A password, as a digest: nothing that is handed on tells it."""

    digest: bytes
    address: str = ""
    """Where it came from: addresses take turns to have theirs verified."""
    mark: bytes = b""
    """What it is remembered by; empty if it was not looked for yet."""

    def __repr__(self) -> str:
        return "PasswordProof(***)"


class TokenProof(NamedTuple):
    """A token of ours whose signature is right. Whether it still counts is another matter."""

    session: bytes
    """Its id, which all tokens share that it was exchanged for."""
    key: int
    """That signed it."""
    generation: int
    """Of its user, when it was issued."""
    credential: int = 0
    """The secret that it was issued for; 0 if an operator made it."""

    def __repr__(self) -> str:
        return f"TokenProof({self.session.hex()})"


Proof = PasswordProof | TokenProof


def digest_of(password: str) -> bytes:
    """What is hashed and compared instead of a password: of one length, whatever it is."""
    return hashlib.blake2b(password.encode(), digest_size=32, person=_PERSON).digest()
