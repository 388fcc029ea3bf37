"""Nodes that stop in the middle of a purge and go on when another one has their job."""

from headgate.testing.kernels import SteppedClock
from tests.unit.catalog.lakes import Node, World
from tests.unit.catalog.purges import TERMS


async def standing_still(world: World) -> Node:
    """A node whose time does not go on; with its next purge it waits before it deletes anything."""
    late = await world.node(clock=SteppedClock())
    late.planner.gate.clear()
    return late


async def take_over(world: World, node: Node) -> None:
    """Let this node purge what another one has begun, as soon as it may."""
    node.purges.wake()
    await node.purges.idle()
    world.rig.clock.advance(TERMS.lease_ms)
    node.purges.wake()
    await node.purges.idle()


async def go_on(late: Node) -> None:
    """Let a node go on: the time is what it is everywhere, and nobody waits any more."""
    clock = late.kernel.clock
    assert isinstance(clock, SteppedClock)
    clock.advance(TERMS.lease_ms)
    late.planner.gate.set()
    await late.purges.idle()
