"""Commits of background work: also to what was dropped, and is cleared away."""

from collections.abc import Callable
from typing import TypeVar

from headgate.errors import RealmNotActive, RealmNotFound
from headgate.kernel.draft import Draft
from headgate.kernel.kernel import Kernel

T = TypeVar("T")


async def commit(kernel: Kernel, realm: str, pointer: str, attempt: Callable[[Draft], T]) -> T:
    """Change what a pointer of this realm holds, also one that is sealed.

    The realm may have been dropped. One that is only switched off is left alone: `RealmNotActive`.
    """
    try:
        return await kernel.realm(realm).commit(pointer, attempt, sealed=True)
    except RealmNotActive as off:
        try:
            return await kernel.unserved.clear(realm, pointer, attempt)
        except RealmNotFound:
            raise off from None
