"""A worker process that hashes and verifies passwords: slow on purpose, and with much memory."""

from collections.abc import Iterator

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from headgate.workers.serving import Job, live

YES, NO = b"yes", b"no"
_hasher = PasswordHasher()  # Argon2id, with the parameters of RFC 9106 for little memory


def hash_password(digest: bytes) -> Iterator[bytes]:
    """The hash to be stored."""
    yield _hasher.hash(digest).encode()


def verify_password(stored: bytes, digest: bytes) -> Iterator[bytes]:
    """Whether it is the password of this hash."""
    try:
        _hasher.verify(stored, digest)
    except (VerificationError, InvalidHashError):
        yield NO
    else:
        yield YES


JOBS: dict[bytes, Job] = {b"hash": hash_password, b"verify": verify_password}


if __name__ == "__main__":
    live(JOBS)
