"""Turns of tenants: metalakes take turns, and in each of them its parts, such as catalogs and their
schemas, or principals. Pure."""

from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")


class Turns(Generic[T]):
    """Items in the order of their turns. However many items one part adds, the next item of each
    other part follows after one of them."""

    def __init__(self, items: Iterable[tuple[Sequence[Hashable], T]] = ()) -> None:
        self._items: deque[T] = deque()
        self._parts: dict[Hashable, Turns[T]] = {}
        """The part whose turn is next comes first."""
        for path, item in items:
            self.add(path, item)

    def __bool__(self) -> bool:
        return bool(self._items or self._parts)

    def __iter__(self) -> Iterator[T]:
        """Take all items."""
        while self:
            yield self.take()

    def add(self, path: Sequence[Hashable], item: T) -> None:
        """Add an item of the part that this path leads to."""
        if path:
            self._parts.setdefault(path[0], Turns()).add(path[1:], item)
        else:
            self._items.append(item)

    def take(self) -> T:
        """Remove and return the next item; there has to be one."""
        if self._items:
            return self._items.popleft()
        key = next(iter(self._parts))
        part = self._parts.pop(key)
        item = part.take()
        if part:
            self._parts[key] = part  # behind the others
        return item
