"""What the handlers of this surface work with."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple

from headgate.http.shared_measures import SharedMeasures
from headgate.kernel.kernel import Kernel
from headgate.kernel.realms import REALMS_KEY


class Management(NamedTuple):
    """Everything about the server itself."""

    check: Callable[[], Awaitable[object]]
    """Does what every request needs; its error says why the server cannot serve."""
    measures: SharedMeasures
    settings: Sequence[Mapping[str, str]] = ()
    """As they are shown: secrets masked."""
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
