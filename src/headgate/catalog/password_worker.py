"""A worker process that hashes and verifies passwords: slow on purpose, and with much memory."""

from collections.abc import Iterator

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from headgate.workers.serving import Job, live

YES, NO = b"yes", b"no"


def jobs(hasher: PasswordHasher) -> dict[bytes, Job]:
    """What the process does, at the price that this hasher asks."""

    def hash_password(digest: bytes) -> Iterator[bytes]:
        """The hash to be stored."""
        yield hasher.hash(digest).encode()

    def verify_password(stored: bytes, digest: bytes) -> Iterator[bytes]:
        """Whether it is the password of this hash."""
        try:
            hasher.verify(stored, digest)
        except (VerificationError, InvalidHashError):
            yield NO
        else:
            yield YES

    return {b"hash": hash_password, b"verify": verify_password}


if __name__ == "__main__":
    live(jobs(PasswordHasher()))  # Argon2id, as RFC 9106 recommends where memory is scarce
