"""What the handlers of this surface work with."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple

from headgate.access.rules import Rule
from headgate.http.request import Request
from headgate.http.shared_measures import SharedMeasures
from headgate.kernel.kernel import Kernel
from headgate.kernel.realms import REALMS_KEY


async def _nothing() -> None:
    """There is nothing to be read."""


async def _everybody(_request: Request, _rule: Rule) -> None:
    """Refuse nobody."""


class Management(NamedTuple):
    """Everything about the server itself."""

    check: Callable[[], Awaitable[object]]
    """Does what every request needs; its error says why the server cannot serve."""
    measures: SharedMeasures
    admit: Callable[[Request, Rule], Awaitable[None]] = _everybody
    """Refuses who may not."""
    settings: Sequence[Mapping[str, str]] = ()
    """As they are shown: secrets masked."""
    refresh: Callable[[], Awaitable[None]] = _nothing
    """Reads what is measured only if somebody asks."""
    documents: Mapping[str, bytes] = {}
    """OpenAPI documents by the path they are served at."""


def kernel_check(
    kernel: Kernel, look: Callable[[], None] | None = None
) -> Callable[[], Awaitable[object]]:
    """Reads one pointer, as every request does; `look` looks at more."""

    async def check() -> object:
        if look is not None:
            look()
        return await kernel.pointers.read([REALMS_KEY])

    return check
