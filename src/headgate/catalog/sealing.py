"""Secrets at rest: sealed with AES-GCM under the master key, and bound to what they are about."""

import hashlib
from collections.abc import Callable

from headgate.errors import BadSetting

NONCE_BYTES = 12
ID_BYTES = 8


class MasterKey:
    """The operator's key. What it sealed says which key that was."""

    def __init__(self, key: bytes, random_bytes: Callable[[int], bytes]) -> None:
        self._key = hashlib.blake2b(key, digest_size=32, person=b"headgate-seal").digest()
        self._random_bytes = random_bytes
        self.id = hashlib.blake2b(self._key, digest_size=ID_BYTES).digest()

    def __repr__(self) -> str:
        return f"MasterKey({self.id.hex()})"

    def seal(self, secret: bytes, about: str) -> bytes:
        """The secret in a form that only this key opens, and only as what it is about."""
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415  slow

        nonce = self._random_bytes(NONCE_BYTES)
        return self.id + nonce + AESGCM(self._key).encrypt(nonce, secret, about.encode())

    def open(self, sealed: bytes, about: str) -> bytes:
        """What was sealed; BadSetting if that was with another key, or it is damaged."""
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415  slow
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415  slow

        id, nonce = sealed[:ID_BYTES], sealed[ID_BYTES : ID_BYTES + NONCE_BYTES]
        if id != self.id:
            raise BadSetting(
                f"{about} cannot be opened",
                why=f"it was sealed with master key {id.hex()}, and this one is {self.id.hex()}",
                fix="Give all nodes of a store the same master key; if it is lost, run "
                "`headgate token rotate-keys --drop-old`",
            )
        try:
            return AESGCM(self._key).decrypt(nonce, sealed[len(id + nonce) :], about.encode())
        except InvalidTag:
            raise BadSetting(
                f"{about} cannot be opened",
                why="what is stored was changed",
                fix="Restore the database from a backup",
            ) from None
