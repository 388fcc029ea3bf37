"""The keys that sign Headgate's own tokens: in the database, for all nodes, sealed.

The newest one signs. Older ones are kept so that what they signed stays good, until they are
dropped; then it is refused at the next request.
"""

from collections.abc import Callable
from typing import NamedTuple

from headgate.catalog.calls import OPERATOR
from headgate.catalog.identities import KEYS, change_identities, current_head, note, revoke
from headgate.catalog.identity_entities import SigningKeyEntity
from headgate.catalog.naming import id_bytes
from headgate.catalog.sealing import MasterKey
from headgate.catalog.shared_work import SharedWork
from headgate.errors import Unavailable
from headgate.kernel.draft import Draft
from headgate.kernel.index import HeadView
from headgate.kernel.kernel import Kernel
from headgate.limits import KEYS_RELOAD_SECONDS, SIGNING_KEYS_MAX

KEY_BYTES = 32


class SigningKey(NamedTuple):
    """A key, as it signs."""

    id: int
    secret: bytes

    def __repr__(self) -> str:
        return f"SigningKey({self.id}, ***)"


class SigningKeys:
    """The keys of a store, for one process."""

    def __init__(
        self, kernel: Kernel, master: MasterKey, random_bytes: Callable[[int], bytes]
    ) -> None:
        self._kernel = kernel
        self._master = master
        self._random_bytes = random_bytes
        self._known: dict[int, SigningKey] = {}
        self._looked = float("-inf")
        self._loading = SharedWork[None]()

    async def newest(self) -> SigningKey:
        """The one that signs, as it is now."""
        head = await current_head(self._kernel)
        ids = [key async for key, _ in head.index(KEYS).scan()]
        if not ids:
            raise Unavailable(
                "No token can be issued",
                why="there is no key to sign it with",
                fix="Start a server that is not read-only, or run `headgate token rotate-keys`",
            )
        return await self._open(head, int.from_bytes(ids[-1], "big"))

    async def find(self, id: int) -> SigningKey | None:
        """A key that signed something. Whether it still counts says whoever confirms the caller.

        Keys that are not known are looked for once for all callers, and not too often.
        """
        known = self._known.get(id)
        if known is not None:
            return known
        now = self._kernel.clock.seconds()
        if not self._loading.is_running(KEYS):
            if now - self._looked < KEYS_RELOAD_SECONDS:
                return None
            self._looked = now
        await self._loading.run(KEYS, self.load)
        return self._known.get(id)

    async def load(self) -> None:
        """Have all keys at hand; what opens them takes its time to be imported."""
        head = await current_head(self._kernel)
        async for key, _ in head.index(KEYS).scan():
            await self._open(head, int.from_bytes(key, "big"))

    async def ensure(self, *, by: str = OPERATOR) -> None:
        """Make the first key if there is none."""
        if not [key async for key, _ in (await current_head(self._kernel)).index(KEYS).scan()]:
            await self._make(by, keep=SIGNING_KEYS_MAX, first=True)

    async def rotate(self, *, drop_old: bool = False, by: str = OPERATOR) -> None:
        """Sign with a new key; with `drop_old` all that older ones signed is worthless."""
        await self._make(by, keep=0 if drop_old else SIGNING_KEYS_MAX - 1)

    async def _make(self, by: str, *, keep: int, first: bool = False) -> None:
        secret = self._random_bytes(KEY_BYTES)

        def attempt(draft: Draft) -> None:
            keys = draft.index(KEYS)
            old = list(keys.scan())
            if old and first:
                return  # another node was faster
            for key, object in old[: max(len(old) - keep, 0)]:
                keys.remove(key)
                draft.discard(int.from_bytes(object, "big"))
            last = int.from_bytes(old[-1][0], "big") if old else 0
            id = max(draft.new_id(), last + 1)  # the newest, also after one with a later time
            sealed = self._master.seal(secret, about(id))
            keys.put(id_bytes(id), id_bytes(draft.stage(SigningKeyEntity(sealed, draft.now_ms))))
            draft.note(note("create", "signing-key", str(id), by))

        await change_identities(self._kernel, attempt)

    async def _open(self, head: HeadView, id: int) -> SigningKey:
        known = self._known.get(id)
        if known is None:
            object = await head.index(KEYS).get(id_bytes(id))
            assert object is not None, "it was listed under the same head"
            entity = await head.get(int.from_bytes(object, "big"), SigningKeyEntity)
            known = SigningKey(id, self._master.open(entity.sealed, about(id)))
            if len(self._known) >= 2 * SIGNING_KEYS_MAX:
                self._known.clear()
            self._known[id] = known
        return known


def about(id: int) -> str:
    """What a sealed key is bound to."""
    return f"signing key {id}"


async def revoke_session(
    kernel: Kernel, session: bytes, until_ms: int, *, by: str = OPERATOR
) -> None:
    """Refuse a token, and all that it was or will be exchanged for, on every node from now on."""

    def attempt(draft: Draft) -> None:
        if revoke(draft, session, until_ms):
            draft.note(note("revoke", "token", session.hex(), by))

    await change_identities(kernel, attempt)
