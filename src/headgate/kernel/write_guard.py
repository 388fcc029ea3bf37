"""Keeps writes from a store that was restored under this process, whichever part sends them."""

from collections.abc import Collection, Sequence

from headgate.kernel.backend import Backend
from headgate.kernel.forwarding import ForwardingBackend
from headgate.kernel.history import History
from headgate.kernel.records import Outcome, PointerKey, Row, Swap


class WriteGuard(ForwardingBackend):
    """Hands every call on, and writes only as long as the history is intact."""

    def __init__(self, inner: Backend, history: History) -> None:
        super().__init__(inner)
        self._check = history.check_intact
        # The two calls that all requests wait for take no detour.
        self.read_pointers = inner.read_pointers  # type: ignore[method-assign]  # the same verb
        self.fetch = inner.fetch  # type: ignore[method-assign]  # the same verb

    async def create_pointers(self, realm: str, names: Collection[str]) -> None:
        self._check()
        await self.inner.create_pointers(realm, names)

    async def commit(self, rows: Sequence[Row], swap: Swap) -> Outcome:
        self._check()
        return await self.inner.commit(rows, swap)

    async def write(self, rows: Sequence[Row]) -> None:
        self._check()
        await self.inner.write(rows)

    async def delete(self, realm: str, ids: Collection[int]) -> None:
        self._check()
        await self.inner.delete(realm, ids)

    async def insert(self, row: Row) -> Outcome:
        self._check()
        return await self.inner.insert(row)

    async def update(self, row: Row, expected_version: int) -> Outcome:
        self._check()
        return await self.inner.update(row, expected_version)

    async def remove(self, realm: str, id: int, expected_version: int) -> Outcome:
        self._check()
        return await self.inner.remove(realm, id, expected_version)

    async def delete_pointers(self, keys: Collection[PointerKey]) -> None:
        self._check()
        await self.inner.delete_pointers(keys)

    async def delete_realm(self, realm: str, limit: int) -> int:
        self._check()
        return await self.inner.delete_realm(realm, limit)
