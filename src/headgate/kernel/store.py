"""Objects of all realms: immutable ones through the cache, versioned ones always read anew."""

from collections.abc import Collection, Mapping
from typing import NamedTuple, TypeVar, cast

from headgate.errors import ObjectNotFound
from headgate.kernel.backend import Backend
from headgate.kernel.cache import Cache, Key, Loaded
from headgate.kernel.history import History
from headgate.kernel.objects import (
    Digested,
    Encoded,
    Foreign,
    ObjectTypes,
    Stored,
    expect,
    join,
    single,
    split,
    with_digest,
)
from headgate.kernel.pages import Page, size
from headgate.kernel.records import Outcome, Row
from headgate.limits import CACHE_CHARGE_FACTOR, FETCH_IDS_MAX

T = TypeVar("T")
S = TypeVar("S", bound=Stored)


class Versioned(NamedTuple):
    """An object that changes in place, and the version it has now."""

    value: Stored | Foreign
    version: int


class Store:
    """Typed access to the rows of a backend."""

    def __init__(
        self, backend: Backend, types: ObjectTypes, cache: Cache, history: History | None = None
    ) -> None:
        self.backend = backend
        self.history = history or History()
        self.types = types
        self.cache = cache

    # Immutable objects: eventually consistent, of any size, cached.

    def find(self, realm: str, id: int) -> object | None:
        """The object, if it is in the cache."""
        return self.cache.find((realm, id))

    def keep(self, realm: str, encoded: Encoded, value: object) -> None:
        """Put an object that was just written into the cache, with its digest if it has one."""
        if isinstance(value, Digested):
            value = with_digest(value, encoded.digest)
        self.cache.put((realm, encoded.id), value, CACHE_CHARGE_FACTOR * len(encoded.data))

    def forget(self, realm: str, ids: Collection[int]) -> None:
        """Make room: only readers of older heads still want these objects."""
        for id in ids:
            self.cache.drop((realm, id))

    def find_root(self, realm: str, head: int, index: str) -> Page | None:
        """The decoded root of a head's index, if it is in the cache."""
        return cast(Page | None, self.cache.find((realm, head, index)))

    def keep_root(self, realm: str, head: int, index: str, root: Page) -> None:
        """Put the decoded root of a head's index into the cache."""
        self.cache.put((realm, head, index), root, CACHE_CHARGE_FACTOR * size(root))

    async def fetch(self, realm: str, ids: Collection[int]) -> dict[int, object]:
        """The objects with these ids; absent ones are not in the answer."""
        found = await self.cache.load([(realm, id) for id in ids], self._load)
        return {id: value for (_, id), value in found.items()}

    async def get(self, realm: str, id: int, cls: type[T]) -> T:
        """The object with this id and type; `ObjectNotFound` if it is absent."""
        value = self.find(realm, id)
        if value is None:
            value = (await self.fetch(realm, [id])).get(id)
        if value is None:
            raise ObjectNotFound(
                f"object {id} of realm {realm!r} does not exist",
                why=f"no row holds this {cls.__name__}",
                fix="It was deleted, or the id is wrong",
            )
        return expect(value, cls, id)

    async def write(self, realm: str, objects: Mapping[int, Stored | Foreign]) -> None:
        """Store immutable objects of any size. Not atomic; may be repeated."""
        encoded = {id: self.types.encode(realm, id, value) for id, value in objects.items()}
        await self.backend.write([row for one in encoded.values() for row in split(realm, one)])
        for id, value in objects.items():
            self.keep(realm, encoded[id], value)

    async def delete(self, realm: str, ids: Collection[int]) -> None:
        """Delete objects. Absent ones are ignored."""
        await self.backend.delete(realm, ids)
        self.forget(realm, ids)

    # Versioned objects: strongly consistent, one row, never cached.

    async def read_versioned(self, realm: str, ids: Collection[int]) -> dict[int, Versioned]:
        """These versioned objects as they are now; absent ones are not in the answer."""
        rows = await self.backend.fetch(realm, ids)
        return {
            row.id: Versioned(self.types.decode(realm, join([row])), row.version) for row in rows
        }

    async def insert(self, realm: str, id: int, value: Stored, version: int) -> Outcome:
        """Store a versioned object if there is none with this id."""
        return await self.backend.insert(self._single(realm, id, value, version))

    async def update(
        self, realm: str, id: int, value: Stored, *, expected: int, version: int
    ) -> Outcome:
        """Replace a versioned object if it still has the expected version."""
        assert expected != version, "a version is never used twice"
        return await self.backend.update(self._single(realm, id, value, version), expected)

    async def remove(self, realm: str, id: int, expected: int) -> Outcome:
        """Delete a versioned object if it still has the expected version."""
        return await self.backend.remove(realm, id, expected)

    def _single(self, realm: str, id: int, value: Stored, version: int) -> Row:
        assert version > 0, "0 marks immutable rows"
        return single(realm, self.types.encode(realm, id, value), version)

    async def _load(self, keys: list[Key]) -> Loaded:
        realm = keys[0][0]
        ids = [id for _, id in keys]
        loaded: Loaded = {}
        for start in range(0, len(ids), FETCH_IDS_MAX):
            rows = await self.backend.fetch(realm, ids[start : start + FETCH_IDS_MAX])
            loaded |= self._decoded(realm, rows)
        return loaded

    def _decoded(self, realm: str, rows: list[Row]) -> Loaded:
        by_id: dict[int, list[Row]] = {}
        for row in rows:
            if not row.version:  # a versioned row changes in place and must not be cached
                by_id.setdefault(row.id, []).append(row)
        loaded: Loaded = {}
        for id, parts in by_id.items():
            encoded = join(parts)
            value = self.types.decode(realm, encoded)
            loaded[realm, id] = (value, CACHE_CHARGE_FACTOR * len(encoded.data))
        return loaded
