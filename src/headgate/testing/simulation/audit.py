"""The end of a simulation: a node that knows nothing yet reads everything through the product."""

from headgate.clock import SystemClock
from headgate.errors import HeadgateError
from headgate.kernel.backend import Backend
from headgate.kernel.kernel import Kernel, KernelOptions
from headgate.kernel.records import PointerKey
from headgate.testing.kernels import Thing, entropy
from headgate.testing.simulation.changes import THINGS
from headgate.testing.simulation.node import TYPES
from headgate.testing.simulation.oracle import Oracle, Rule


async def audit(backend: Backend, oracle: Oracle, *, is_writable: bool) -> None:
    """Open the store, read all that was acknowledged, and all logs in both directions."""
    options = KernelOptions(cache_bytes=0, writable=is_writable, holder="audit")
    kernel = Kernel(backend, SystemClock(), entropy(0), options, TYPES)
    try:
        await kernel.open()
    except HeadgateError as error:
        raise oracle.fail(Rule.OPENS, f"{error}") from error
    try:
        for key, wanted in list(oracle.contents.items()):
            await _audit_contents(kernel, oracle, key, wanted)
        for key, history in list(oracle.histories.items()):
            await _audit_log(kernel, oracle, key, history)
    except HeadgateError as error:
        raise oracle.fail(Rule.READABLE, f"{error}") from error
    await kernel.close()


async def _audit_contents(
    kernel: Kernel, oracle: Oracle, key: PointerKey, wanted: dict[bytes, int]
) -> None:
    [head] = await kernel.realm(key.realm).heads(key.name)
    found: dict[bytes, int] = {}
    async for name, value in head.index(THINGS).scan():
        found[name] = int((await head.get(int.from_bytes(value[:8], "big"), Thing)).text)
    if found != wanted:
        raise oracle.fail(Rule.READABLE, f"{key.name} holds {found}, not {wanted}")


async def _audit_log(kernel: Kernel, oracle: Oracle, key: PointerKey, history: list[int]) -> None:
    forwards = [commit.id async for commit in kernel.log.oldest_first(key)]
    backwards = [commit.id async for commit in kernel.log.newest_first(key)]
    chain = await kernel.chains.verify(key, {}, lambda _commits: None)
    if forwards != history or backwards != history[::-1] or chain.broken:
        raise oracle.fail(Rule.LOG, f"the log of {key} is not what was committed: {chain.breaks}")
