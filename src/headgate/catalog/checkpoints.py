"""Checkpoints: where the log of each pointer stood, signed, to be kept elsewhere and compared.

Whoever can write to the database can rewrite a log from some point on, and it is whole again. It
cannot rewrite a line that lies elsewhere, nor sign another one: the key is made from the master
key, which is not in the database.
"""

import hashlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import msgspec

from headgate.errors import BadSetting, Corrupt, NewerFormat
from headgate.kernel.chain import Position
from headgate.kernel.kernel import Kernel
from headgate.kernel.records import PointerKey
from headgate.kernel.system import SYSTEM_REALM
from headgate.limits import CHANGES_POINTERS_AT_ONCE

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

FORMAT = 1
KEY_BYTES = 32
_CONTEXT = b"headgate log checkpoint\n"

Known = dict[PointerKey, dict[int, set[Position]]]
"""Positions that were written down, by pointer and sequence number. One of each, if all is well."""


class PointerMark(msgspec.Struct, frozen=True, rename="kebab"):
    """Where the log of one pointer stood. Ids are text: they exceed what many readers count to."""

    realm: str
    realm_name: str
    pointer: str
    seq: int
    commit: str
    digest: str

    @property
    def position(self) -> Position:
        """The same for whoever walks chains; ValueError if it is none."""
        return Position(self.seq, int(self.commit), bytes.fromhex(self.digest))


class Checkpoint(msgspec.Struct, frozen=True, rename="kebab"):
    """Where the logs of a store stood, or those of one realm."""

    format: int
    made_ms: int
    pointers: tuple[PointerMark, ...]
    realm: str = ""
    """The id of the only realm that it is of; empty if it is of all."""
    content: str = ""
    """Of an export: the digest of all that is in it."""


class SignedLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A checkpoint as it is written: the signature is over its very bytes."""

    checkpoint: msgspec.Raw
    key: str
    """The public key, for people to compare; nobody trusts it because it stands here."""
    signature: str


class _Version(msgspec.Struct):
    format: int


class PublicKey:
    """Tells whether the store's key has signed something."""

    def __init__(self, key: bytes) -> None:
        self.text = key.hex()
        self._key = key

    def check(self, line: SignedLine, where: str) -> None:
        """Refuse what another key has signed, or nobody."""
        from cryptography.exceptions import InvalidSignature  # noqa: PLC0415  slow
        from cryptography.hazmat.primitives.asymmetric.ed25519 import (  # noqa: PLC0415  slow
            Ed25519PublicKey,
        )

        if line.key != self.text:
            why = f"it names the key {line.key[:64]!r}, and it should be {self.text}"
            raise _refused(where, why, "Give the key that it was signed with by --public-key")
        try:
            signature = bytes.fromhex(line.signature)
            signed = _CONTEXT + bytes(line.checkpoint)
            Ed25519PublicKey.from_public_bytes(self._key).verify(signature, signed)
        except (InvalidSignature, ValueError):
            raise _refused(
                where,
                "its signature does not fit: it was changed, or made by somebody else",
                "Use a copy from where nobody could change it",
            ) from None


class SigningLogKey:
    """The key of a store that signs checkpoints: the same on all nodes, never stored."""

    def __init__(self, master: bytes) -> None:
        self._seed = hashlib.blake2b(master, digest_size=KEY_BYTES, person=b"headgate-log").digest()

    def __repr__(self) -> str:
        return "SigningLogKey(***)"

    @property
    def public(self) -> PublicKey:
        """What others need to check signatures."""
        return PublicKey(self._private().public_key().public_bytes_raw())

    def sign(self, checkpoint: Checkpoint) -> bytes:
        """The checkpoint as one line, with its end."""
        text = msgspec.json.encode(checkpoint)
        signature = self._private().sign(_CONTEXT + text).hex()
        line = SignedLine(msgspec.Raw(text), self.public.text, signature)
        return msgspec.json.encode(line) + b"\n"

    def _private(self) -> "Ed25519PrivateKey":
        from cryptography.hazmat.primitives.asymmetric.ed25519 import (  # noqa: PLC0415  slow
            Ed25519PrivateKey,
        )

        return Ed25519PrivateKey.from_private_bytes(self._seed)


async def make_checkpoint(kernel: Kernel, realm: str | None = None) -> Checkpoint:
    """Where all logs stand now, or those of one realm, by its id."""
    keys = await kernel.log.pointers(realm)
    current: dict[PointerKey, int] = {}
    for at in range(0, len(keys), CHANGES_POINTERS_AT_ONCE):
        some = keys[at : at + CHANGES_POINTERS_AT_ONCE]
        values = zip(some, await kernel.pointers.read(some), strict=True)
        current |= {key: value for key, value in values if value}
    return await checkpoint_of(kernel, current, realm or "")


async def checkpoint_of(
    kernel: Kernel, commits: Mapping[PointerKey, int], only: str = "", content: str = ""
) -> Checkpoint:
    """Where these pointers stand, or stood, at these commits. What was purged is left out."""
    names = {one.id: one.name for one in await kernel.realms.list()}
    by_realm: dict[str, list[PointerKey]] = {}
    for key in sorted(commits):
        by_realm.setdefault(key.realm, []).append(key)
    marks: list[PointerMark] = []
    for realm, keys in by_realm.items():
        found = await kernel.chains.positions(realm, [commits[key] for key in keys])
        name = names.get(realm, "system" if realm == SYSTEM_REALM else "")
        for key in keys:
            one = found.get(commits[key])
            if one is not None:
                digest = one.digest.hex()
                marks.append(PointerMark(realm, name, key.name, one.seq, str(one.commit), digest))
    return Checkpoint(FORMAT, kernel.clock.wall_ms(), tuple(marks), only, content)


def read_checkpoints(data: bytes, key: PublicKey) -> list[Checkpoint]:
    """The checkpoints in these lines; refused if one of them is not signed with this key."""
    lines = [line for line in data.splitlines() if line.strip()]
    if not lines:
        raise _refused("the file of checkpoints", "there is none in it", "Name another file")
    return [_read(line, f"checkpoint {at}", key) for at, line in enumerate(lines, start=1)]


def known_positions(checkpoints: Iterable[Checkpoint], realm: str | None = None) -> Known:
    """All that these checkpoints say, or what they say of one realm, by its id."""
    known: Known = {}
    for checkpoint in checkpoints:
        for mark in checkpoint.pointers:
            if realm in {None, mark.realm}:
                one = mark.position
                at = known.setdefault(PointerKey(mark.realm, mark.pointer), {})
                at.setdefault(one.seq, set()).add(one)
    return known


def public_key_of(text: str) -> PublicKey:
    """The key that this text is; BadSetting if it is none."""
    try:
        key = bytes.fromhex(text)
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise BadSetting(
            f"{text[:80]!r} is no public key",
            why=f"it must be {2 * KEY_BYTES} hexadecimal digits",
            fix="`headgate log checkpoint` writes it as `key`",
        )
    return PublicKey(key)


def _read(line: bytes, where: str, key: PublicKey) -> Checkpoint:
    try:
        signed = msgspec.json.decode(line, type=SignedLine)
        key.check(signed, where)
        version = msgspec.json.decode(signed.checkpoint, type=_Version).format
        if version > FORMAT:
            raise NewerFormat(
                f"{where} cannot be read",
                why=f"it has format {version}, this program knows {FORMAT}",
                fix="Upgrade this program",
            )
        checkpoint = msgspec.json.decode(signed.checkpoint, type=Checkpoint)
        known_positions([checkpoint])  # ValueError if one is none
    except (msgspec.MsgspecError, ValueError) as error:
        raise _refused(where, f"it is damaged: {error}", "Use another copy of it") from error
    return checkpoint


def _refused(where: str, why: str, fix: str) -> Corrupt:
    return Corrupt(f"{where} is not accepted", why=why, fix=fix)
