"""Logs for tests of chains, and what somebody can do to them who has the database."""

from collections.abc import Mapping, Sequence

import msgspec

from headgate.kernel.chain import Chain, Position
from headgate.kernel.handle import RealmHandle
from headgate.kernel.head import Head, Link
from headgate.kernel.kernel import Kernel
from headgate.kernel.objects import Stored, join, split
from headgate.kernel.records import PointerKey
from headgate.limits import TAIL_COMMITS
from headgate.testing.kernels import INDEX, POINTER, history


async def log_of(kernel: Kernel, realm: RealmHandle, length: int) -> list[int]:
    """The ids of so many commits, the oldest first."""
    for _ in range(length):
        await realm.commit(POINTER, lambda draft: draft.index(INDEX).put(b"%d" % draft.seq, b""))
    return [commit.id for commit in await history(kernel, realm)]


async def verified(
    kernel: Kernel, realm: RealmHandle, known: Mapping[int, Sequence[Position]] = {}
) -> Chain:
    looked: list[int] = []
    chain = await kernel.chains.verify(PointerKey(realm.id, POINTER), known, looked.append)
    assert sum(looked) == chain.commits
    assert all(count <= TAIL_COMMITS for count in looked)
    return chain


async def head_of(kernel: Kernel, realm: RealmHandle, id: int) -> Head:
    [head] = (await stored(kernel, realm, [id])).values()
    assert isinstance(head, Head)
    return head


async def stored(kernel: Kernel, realm: RealmHandle, ids: Sequence[int]) -> dict[int, object]:
    rows = await kernel.backend.fetch(realm.id, ids)
    by_id = {id: [row for row in rows if row.id == id] for id in ids}
    return {id: kernel.store.types.decode(realm.id, join(some)) for id, some in by_id.items()}


async def overwrite(kernel: Kernel, realm: RealmHandle, id: int, value: Stored) -> None:
    """Exchange a stored object as somebody would who has the database: with a right checksum."""
    await kernel.backend.delete(realm.id, [id])
    await kernel.backend.write(split(realm.id, kernel.store.types.encode(realm.id, id, value)))


async def rewrite_tail(kernel: Kernel, realm: RealmHandle, ids: Sequence[int]) -> None:
    """Change the first of these commits, and let all others follow it as if it had been so."""
    digest = b""
    for id in ids:
        head = await head_of(kernel, realm, id)
        if digest:
            link = Link(head.seq, digest, b"")
            forged = msgspec.structs.replace(head, link=link)
        else:
            forged = msgspec.structs.replace(head, marks={"forged": 1})
        await overwrite(kernel, realm, id, forged)
        digest = (await head_of(kernel, realm, id)).digest or b""
